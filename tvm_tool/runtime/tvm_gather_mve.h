/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_gather_mve.h - the inputs under a window as one column. Not for use by a firmware.
 */
#ifndef TVM_GATHER_MVE_H
#define TVM_GATHER_MVE_H

#include "tvm_simd_mve.h"

/* Bytes of `count` pointers in scratch; what follows them keeps its alignment of 16 bytes. */
#define TVM_POINTER_BYTES_MVE(count) ((8 * (count) + 15) / 16 * 16)

/* The body of a tvm_gather_mve for known numbers: `pieces` pieces of `length` neighbours in each of
 * `row_count` rows, `piece_step` bytes apart. A piece is written in whole vectors, of which the next one
 * covers what is too much. */
TVM_INLINE void tvm_gather_pieces_mve(const int8_t *const *rows, int32_t x, int8_t *to,
                                      const int32_t row_count, const int32_t pieces, const int32_t piece_step,
                                      const int32_t length)
{
    TVM_UNROLL_MVE
    for (int32_t row = 0; row < row_count; row++) {
        const int8_t *from = rows[row] + x;
        TVM_UNROLL_MVE
        for (int32_t piece = 0; piece < pieces; piece++) {
            TVM_UNROLL_MVE
            for (int32_t i = 0; i + 16 <= length; i += 16) {
                tvm_store_16(to + i, tvm_load_16(from + i));
            }
            if (length < 16) {
                tvm_store_16(to, tvm_load_first(from, length));
            } else if (length % 16 != 0) {
                tvm_store_16(to + length - 16, tvm_load_16(from + length - 16));
            }
            from += piece_step;
            to += length;
        }
    }
}

#endif
