/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_gemm_wide_dsp.h - the products of tvm_gemm_dsp.h with sums of more than 24 bits. Not for use by a firmware.
 */
#ifndef TVM_GEMM_WIDE_DSP_H
#define TVM_GEMM_WIDE_DSP_H

#include "tvm_expand_dsp.h"

/* As tvm_gemm_2x4_dsp with distance 1, two channels at a time; for one position alone if not `pair`. The column
 * comes in `segments` pieces, within each of which sums stay below 2^23; weights are
 * [channels / 2][segments][length], length a multiple of four, the biases b0, b1. Under TVM_ANY outputs are the
 * sums, int32_t. */
TVM_INLINE void tvm_gemm_wide_dsp(const struct tvm_gemm_dsp *gemm, const int32_t *const *segments,
                                  int32_t start, int8_t *output0, int8_t *output1, const bool pair,
                                  const int32_t form, const bool limited)
{
    const int32_t factor = form == TVM_DOUBLE ? 2 : 1;
    const int32_t *w = gemm->weights;
    const int32_t *p = gemm->parameters;

    for (int32_t channel = 0; channel < gemm->channels; channel += 2) {
        const int32_t *x = segments[0] + start;
        int32_t low0 = p[0];
        int32_t low1 = low0;
        int32_t high0 = p[1];
        int32_t high1 = high0;
        const bool both = channel + 1 < gemm->channels;

        p += 2;
        for (int32_t segment = gemm->segments; segment > 0; segment--) {
            int32_t both0 = low0;
            int32_t both1 = low1;
            for (int32_t left = gemm->length; left > 0; left -= 4) {
                TVM_UNROLL
                for (int32_t i = 0; i < 4; i++) {
                    const int32_t even = TVM_SXTB16(w[i]);
                    both0 = TVM_SMLAD(x[2 * i], w[i], both0);
                    low0 = TVM_SMLAD(x[2 * i], even, low0);
                    if (pair) {
                        both1 = TVM_SMLAD(x[2 * i + 1], w[i], both1);
                        low1 = TVM_SMLAD(x[2 * i + 1], even, low1);
                    }
                }
                w += 4;
                x += 8;
            }
            high0 += tvm_shift_right(tvm_wrap_sub(both0, low0), 8);
            high1 += tvm_shift_right(tvm_wrap_sub(both1, low1), 8);
        }
        if (!pair) {
            low1 = low0;
            high1 = high0;
        }
        if (form == TVM_ANY) {
            int32_t *const sums0 = (int32_t *)(void *)output0 + channel;
            int32_t *const sums1 = (int32_t *)(void *)output1 + channel;
            sums0[0] = low0;
            sums1[0] = low1;
            if (both) {
                sums0[1] = high0;
                sums1[1] = high1;
            }
        } else {
            p = tvm_finish_2_dsp(gemm, p, low0 * factor, low1 * factor, form, limited, output0 + channel,
                                 output1 + channel);
            if (both) {
                p = tvm_finish_2_dsp(gemm, p, high0 * factor, high1 * factor, form, limited,
                                     output0 + channel + 1, output1 + channel + 1);
            }
        }
    }
}

#endif
