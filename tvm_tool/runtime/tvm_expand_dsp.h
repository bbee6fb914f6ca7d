/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_expand_dsp.h - 8-bit inputs made into the 16-bit words of tvm_gemm_dsp.h. Not for use by a firmware.
 */
#ifndef TVM_EXPAND_DSP_H
#define TVM_EXPAND_DSP_H

#include "tvm_gemm_dsp.h"

/* Bytes of `count` pointers in scratch; what follows them keeps its alignment of 16 bytes. */
#define TVM_POINTER_BYTES(count) ((8 * (count) + 15) / 16 * 16)

/* One to three bytes, and zeros. */
TVM_INLINE int32_t tvm_load_tail(const int8_t *from, int32_t count)
{
    uint32_t word = (uint8_t)from[0];

    if (count > 1) {
        word |= (uint32_t)(uint8_t)from[1] << 8;
    }
    if (count > 2) {
        word |= (uint32_t)(uint8_t)from[2] << 16;
    }
    return (int32_t)word;
}

/* Expands `count` bytes to words that lie `step` apart; returns where the next one goes. Behind the last byte
 * of an unfinished four come zeros. */
TVM_INLINE int32_t *tvm_expand(int32_t *to, const int32_t step, const int8_t *from, int32_t count)
{
    for (; count >= 4; count -= 4) {
        const int32_t bytes = tvm_load_bytes(from);
        tvm_put(to, TVM_SXTB16(bytes));
        tvm_put(to + step, tvm_odd_bytes(bytes));
        from += 4;
        to += 2 * step;
    }
    if (count > 0) {
        const int32_t bytes = tvm_load_tail(from, count);
        tvm_put(to, TVM_SXTB16(bytes));
        tvm_put(to + step, tvm_odd_bytes(bytes));
        to += 2 * step;
    }
    return to;
}

/* The same side by side, from the last byte to the first: `to` may be where `from` is. */
TVM_INLINE void tvm_expand_last_first(int32_t *to, const int8_t *from, int32_t count)
{
    int32_t at = count & ~3;

    if (at < count) {
        (void)tvm_expand(to + at / 2, 1, from + at, count - at);
    }
    while (at > 0) {
        at -= 4;
        const int32_t bytes = tvm_load_bytes(from + at);
        tvm_put(to + at / 2, TVM_SXTB16(bytes));
        tvm_put(to + at / 2 + 1, tvm_odd_bytes(bytes));
    }
}

/* Expands two rows, their words in turns. */
TVM_INLINE void tvm_expand_2(int32_t *to, const int8_t *from0, const int8_t *from1, int32_t count)
{
    for (; count >= 4; count -= 4) {
        const int32_t bytes0 = tvm_load_bytes(from0);
        const int32_t bytes1 = tvm_load_bytes(from1);
        tvm_put(to, TVM_SXTB16(bytes0));
        tvm_put(to + 1, TVM_SXTB16(bytes1));
        tvm_put(to + 2, tvm_odd_bytes(bytes0));
        tvm_put(to + 3, tvm_odd_bytes(bytes1));
        from0 += 4;
        from1 += 4;
        to += 4;
    }
    if (count > 0) {
        (void)tvm_expand(to, 2, from0, count);
        (void)tvm_expand(to + 1, 2, from1, count);
    }
}

/* Expands the inputs of a position to every second word: `pieces` pieces of `length` neighbours in each of
 * `row_count` rows; whole fours of all pieces, then, in pairs, what is left. Known numbers leave no loops.
 * `flip` inverts bits of four bytes: 0x80 of each for uint8_t. */
TVM_INLINE void tvm_gather(const int8_t *const *rows, int32_t x, int32_t piece_step, int32_t *to,
                           const int32_t row_count, const int32_t pieces, const int32_t length,
                           const uint32_t flip)
{
    const int32_t whole = length & ~3;
    bool half = false;
    int32_t first = 0;

    TVM_UNROLL
    for (int32_t row = 0; row < row_count; row++) {
        const int8_t *from = rows[row] + x;
        TVM_UNROLL
        for (int32_t piece = 0; piece < pieces; piece++) {
            TVM_UNROLL
            for (int32_t i = 0; i < whole; i += 4) {
                const int32_t bytes = (int32_t)((uint32_t)tvm_load_bytes(from + i) ^ flip);
                tvm_put(to, TVM_SXTB16(bytes));
                tvm_put(to + 2, tvm_odd_bytes(bytes));
                to += 4;
            }
            from += piece_step;
        }
    }
    if (whole == length) {
        return;
    }
    TVM_UNROLL
    for (int32_t row = 0; row < row_count; row++) {
        const int8_t *from = rows[row] + x;
        TVM_UNROLL
        for (int32_t piece = 0; piece < pieces; piece++) {
            TVM_UNROLL
            for (int32_t i = whole; i < length; i++) {
                const int32_t number = (int8_t)((uint8_t)from[i] ^ (flip & 0xffu));
                if (half) {
                    *to = tvm_pack_low(first, number);
                    to += 2;
                }
                first = number;
                half = !half;
            }
            from += piece_step;
        }
    }
    if (half) {
        *to = tvm_pack_low(first, 0);
    }
}

/* `count` words of a pair of equal numbers. */
TVM_INLINE int32_t *tvm_fill_words(int32_t *to, int32_t number, int32_t count)
{
    const int32_t word = tvm_pack_low(number, number);

    for (; count > 0; count--) {
        *to++ = word;
        TVM_KEEP_LOOP();
    }
    return to;
}

/* What a row of a padded image is made of, in columns. */
struct tvm_padded_row {
    int32_t left, inside, right;
};

TVM_INLINE struct tvm_padded_row tvm_pad_row(const struct tvm_window *window, int32_t columns)
{
    struct tvm_padded_row row = {window->pad_left, columns - window->pad_left, 0};

    row.left = row.left < columns ? row.left : columns;
    row.inside = row.inside > 0 ? row.inside : 0;
    row.inside = row.inside < window->input_width ? row.inside : window->input_width;
    row.right = columns - row.left - row.inside;
    return row;
}

#endif
