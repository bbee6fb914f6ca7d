/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_simd_mve.h - vectors of 128 bits: the instructions of Helium, and the same in plain C for every other
 * compiler. Not for use by a firmware.
 *
 * A vector is sixteen bytes (tvm_s8x16) or four numbers of 32 bits (tvm_s32x4). Sums wrap.
 */
#ifndef TVM_SIMD_MVE_H
#define TVM_SIMD_MVE_H

#include "tvm_blocks_s8.h"

/* Loops of few known passes become none. */
#if defined(__ARM_FEATURE_MVE) && !defined(__clang__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
#define TVM_UNROLL_MVE _Pragma("GCC unroll 16")
#else
#define TVM_UNROLL_MVE
#endif

/* A block is compiled as it was measured, whatever the flags of the firmware are: unoptimised it takes
 * kilobytes of stack, and GCC spills vectors when it moves instructions apart. */
#if defined(__ARM_FEATURE_MVE) && !defined(__clang__) && defined(__OPTIMIZE_SIZE__)
#define TVM_BLOCK_MVE static __attribute__((noinline, optimize("omit-frame-pointer", "no-schedule-insns")))
#elif defined(__ARM_FEATURE_MVE) && !defined(__clang__)
#define TVM_BLOCK_MVE \
    static __attribute__((noinline, optimize("omit-frame-pointer", "no-schedule-insns", "O2")))
#else
#define TVM_BLOCK_MVE static TVM_NOINLINE
#endif

#if defined(__ARM_FEATURE_MVE)

#include <arm_mve.h>

typedef int8x16_t tvm_s8x16;
typedef int32x4_t tvm_s32x4;

TVM_INLINE tvm_s8x16 tvm_load_16(const int8_t *from)
{
    return vldrbq_s8(from);
}

/* The first `count` bytes, zeros behind; no other byte is read. */
TVM_INLINE tvm_s8x16 tvm_load_first(const int8_t *from, int32_t count)
{
    return vldrbq_z_s8(from, vctp8q((uint32_t)count));
}

TVM_INLINE void tvm_store_16(int8_t *to, tvm_s8x16 x)
{
    vstrbq_s8(to, x);
}

TVM_INLINE void tvm_store_first(int8_t *to, tvm_s8x16 x, int32_t count)
{
    vstrbq_p_s8(to, x, vctp8q((uint32_t)count));
}

TVM_INLINE tvm_s8x16 tvm_repeat_byte(int32_t byte)
{
    return vdupq_n_s8((int8_t)byte);
}

TVM_INLINE tvm_s8x16 tvm_least_bytes(tvm_s8x16 x, tvm_s8x16 y)
{
    return vminq_s8(x, y);
}

TVM_INLINE tvm_s8x16 tvm_largest_bytes(tvm_s8x16 x, tvm_s8x16 y)
{
    return vmaxq_s8(x, y);
}

/* x[0] * y[0] + ... + x[15] * y[15], and sum + this. */
TVM_INLINE int32_t tvm_dot_16(tvm_s8x16 x, tvm_s8x16 y)
{
    return vmladavq_s8(x, y);
}

TVM_INLINE int32_t tvm_add_dot_16(int32_t sum, tvm_s8x16 x, tvm_s8x16 y)
{
    return vmladavaq_s8(sum, x, y);
}

TVM_INLINE tvm_s32x4 tvm_load_words(const int32_t *from)
{
    return vldrwq_s32(from);
}

TVM_INLINE tvm_s32x4 tvm_repeat_word(int32_t word)
{
    return vdupq_n_s32(word);
}

TVM_INLINE void tvm_store_words(int32_t *to, tvm_s32x4 x)
{
    vstrwq_s32(to, x);
}

/* Numbers 0 and 2, the others being anything; then numbers 1 and 3. One instruction each, which compilers do
 * not find. */
TVM_INLINE tvm_s32x4 tvm_set_even_words(int32_t a, int32_t c)
{
    tvm_s32x4 result;

    __asm__("vmov %q0[2], %q0[0], %1, %2" : "=w"(result) : "r"(a), "r"(c));
    return result;
}

TVM_INLINE tvm_s32x4 tvm_set_odd_words(tvm_s32x4 x, int32_t b, int32_t d)
{
    __asm__("vmov %q0[3], %q0[1], %1, %2" : "+w"(x) : "r"(b), "r"(d));
    return x;
}

TVM_INLINE tvm_s32x4 tvm_add_words(tvm_s32x4 x, tvm_s32x4 y)
{
    return vaddq_s32(x, y);
}

/* x * y / 2^32, half up. */
TVM_INLINE tvm_s32x4 tvm_multiply_high_words(tvm_s32x4 x, tvm_s32x4 y)
{
    return vrmulhq_s32(x, y);
}

/* x * y / 2^31, half up, saturating. */
TVM_INLINE tvm_s32x4 tvm_double_multiply_words(tvm_s32x4 x, tvm_s32x4 y)
{
    return vqrdmulhq_s32(x, y);
}

/* -1 where x is negative, else 0. */
TVM_INLINE tvm_s32x4 tvm_signs(tvm_s32x4 x)
{
    return vshrq_n_s32(x, 31);
}

/* floor(x / 2^-shift) for each shift of 0 or less, down to -31. */
TVM_INLINE tvm_s32x4 tvm_shift_words(tvm_s32x4 x, tvm_s32x4 shifts)
{
    return vshlq_s32(x, shifts);
}

/* Two vectors of numbers / 2^shift, half up, limited to 8 bits: bytes 0, 4, 8 and 12 those of `x`, bytes 2,
 * 6, 10 and 14 those of `y`; the others are anything. The intrinsics want a literal, which an argument is not
 * for every compiler, and they cost copies. (Not VQSHRNB, which rounds down: some GNU assemblers make
 * VQRSHRNB of it.) */
TVM_INLINE tvm_s8x16 tvm_saturate_two(tvm_s32x4 x, tvm_s32x4 y, const int32_t shift)
{
    int16x8_t halves = vreinterpretq_s16_s32(x);

#if defined(__OPTIMIZE__)
    if (shift > 0) {
        __asm__("vqrshrnb.s32 %q0, %q0, %2\n\tvqrshrnt.s32 %q0, %q1, %2\n\tvqmovnb.s16 %q0, %q0"
                : "+w"(halves)
                : "w"(y), "i"(shift > 0 ? shift : 1));
        return vreinterpretq_s8_s16(halves);
    }
#else
    x = vrshlq_n_s32(x, -shift);
    y = vrshlq_n_s32(y, -shift);
#endif
    halves = vqmovntq_s32(vqmovnbq_s32(halves, x), y);
    return vqmovnbq_s16(vreinterpretq_s8_s16(halves), halves);
}

/* The same of one vector, for bytes 0, 4, 8 and 12. */
TVM_INLINE tvm_s8x16 tvm_saturate_one(tvm_s32x4 x, const int32_t shift)
{
    int16x8_t halves = vreinterpretq_s16_s32(x);

#if defined(__OPTIMIZE__)
    if (shift > 0) {
        __asm__("vqrshrnb.s32 %q0, %q0, %1\n\tvqmovnb.s16 %q0, %q0"
                : "+w"(halves)
                : "i"(shift > 0 ? shift : 1));
        return vreinterpretq_s8_s16(halves);
    }
    __asm__("vqmovnb.s32 %q0, %q0\n\tvqmovnb.s16 %q0, %q0" : "+w"(halves));
    return vreinterpretq_s8_s16(halves);
#else
    halves = vqmovnbq_s32(halves, vrshlq_n_s32(x, -shift));
    return vqmovnbq_s16(vreinterpretq_s8_s16(halves), halves);
#endif
}

/* Bytes 0, 4, 8 and 12 to four neighbours, or the first `count` of them. */
TVM_INLINE void tvm_store_each_4(int8_t *to, tvm_s8x16 x)
{
    vstrbq_s32(to, vreinterpretq_s32_s8(x));
}

TVM_INLINE void tvm_store_first_4(int8_t *to, tvm_s8x16 x, int32_t count)
{
    vstrbq_p_s32(to, vreinterpretq_s32_s8(x), vctp32q((uint32_t)count));
}

/* Byte 0 to to[offsets[0]], byte 4 to to[offsets[1]], and so on. */
TVM_INLINE void tvm_scatter_4(int8_t *to, tvm_s32x4 offsets, tvm_s8x16 x)
{
    vstrbq_scatter_offset_s32(to, vreinterpretq_u32_s32(offsets), vreinterpretq_s32_s8(x));
}

/* `count` bytes, up to four, as numbers; zeros behind them. */
TVM_INLINE tvm_s32x4 tvm_widen_bytes(const int8_t *from, int32_t count)
{
    return count < 4 ? vldrbq_z_s32(from, vctp32q((uint32_t)count)) : vldrbq_s32(from);
}

/* table[x] for `count` bytes x, taken as unsigned. */
TVM_INLINE tvm_s32x4 tvm_look_up_bytes(const int32_t *table, const int8_t *from, int32_t count)
{
    const uint8_t *bytes = (const uint8_t *)from;
    const uint32x4_t x = count < 4 ? vldrbq_z_u32(bytes, vctp32q((uint32_t)count)) : vldrbq_u32(bytes);

    return vldrwq_gather_shifted_offset_s32(table, x);
}

/* x * 2^20 */
TVM_INLINE tvm_s32x4 tvm_shift_up_20(tvm_s32x4 x)
{
    return vshlq_n_s32(x, 20);
}

/* Four bytes each, from addresses that are multiples of four. */
TVM_INLINE tvm_s8x16 tvm_gather_fours(const int8_t *from, tvm_s32x4 offsets)
{
    return vreinterpretq_s8_s32(
        vldrwq_gather_offset_s32((const int32_t *)(const void *)from, vreinterpretq_u32_s32(offsets)));
}

/* The bytes a[0], b[0], c[0], d[0], a[1] and so on. */
TVM_INLINE void tvm_store_fours(int8_t *to, tvm_s8x16 a, tvm_s8x16 b, tvm_s8x16 c, tvm_s8x16 d)
{
    const int8x16x4_t four = {{a, b, c, d}};

    vst4q_s8(to, four);
}

/* Each byte one place or four places further up, zeros below. */
TVM_INLINE tvm_s8x16 tvm_byte_up(tvm_s8x16 x)
{
    uint32_t carry = 0;

    __asm__("vshlc %q0, %1, #8" : "+w"(x), "+r"(carry));
    return x;
}

TVM_INLINE tvm_s8x16 tvm_word_up(tvm_s8x16 x)
{
    uint32_t carry = 0;

    __asm__("vshlc %q0, %1, #32" : "+w"(x), "+r"(carry));
    return x;
}

/* floor(x / 2^-shift) with a shift of 0 or less. */
TVM_INLINE tvm_s32x4 tvm_shift_words_alike(tvm_s32x4 x, int32_t shift)
{
    return vshlq_r_s32(x, shift);
}

TVM_INLINE tvm_s32x4 tvm_add_word(tvm_s32x4 x, int32_t y)
{
    return vaddq_n_s32(x, y);
}

/* Each byte two places further down. */
TVM_INLINE tvm_s8x16 tvm_two_bytes_down(tvm_s8x16 x)
{
    return vreinterpretq_s8_u32(vshrq_n_u32(vreinterpretq_u32_s8(x), 16));
}

#else

/* What stands for an instruction need not be fast, but has to compile fast. */
#define TVM_PLAIN_MVE static inline

typedef struct {
    int8_t at[16];
} tvm_s8x16;
typedef struct {
    int32_t at[4];
} tvm_s32x4;

TVM_PLAIN_MVE tvm_s8x16 tvm_load_first(const int8_t *from, int32_t count)
{
    tvm_s8x16 x;

    for (int32_t i = 0; i < 16; i++) {
        x.at[i] = 0;
        if (i < count) {
            x.at[i] = from[i];
        }
    }
    return x;
}

TVM_PLAIN_MVE tvm_s8x16 tvm_load_16(const int8_t *from)
{
    return tvm_load_first(from, 16);
}

TVM_PLAIN_MVE void tvm_store_first(int8_t *to, tvm_s8x16 x, int32_t count)
{
    for (int32_t i = 0; i < 16 && i < count; i++) {
        to[i] = x.at[i];
        TVM_KEEP_LOOP();
    }
}

TVM_PLAIN_MVE void tvm_store_16(int8_t *to, tvm_s8x16 x)
{
    tvm_store_first(to, x, 16);
}

TVM_PLAIN_MVE tvm_s8x16 tvm_repeat_byte(int32_t byte)
{
    tvm_s8x16 x;

    for (int32_t i = 0; i < 16; i++) {
        x.at[i] = (int8_t)byte;
        TVM_KEEP_LOOP();
    }
    return x;
}

TVM_PLAIN_MVE tvm_s8x16 tvm_least_bytes(tvm_s8x16 x, tvm_s8x16 y)
{
    for (int32_t i = 0; i < 16; i++) {
        x.at[i] = x.at[i] < y.at[i] ? x.at[i] : y.at[i];
    }
    return x;
}

TVM_PLAIN_MVE tvm_s8x16 tvm_largest_bytes(tvm_s8x16 x, tvm_s8x16 y)
{
    for (int32_t i = 0; i < 16; i++) {
        x.at[i] = x.at[i] > y.at[i] ? x.at[i] : y.at[i];
    }
    return x;
}

TVM_PLAIN_MVE int32_t tvm_add_dot_16(int32_t sum, tvm_s8x16 x, tvm_s8x16 y)
{
    uint32_t total = (uint32_t)sum;

    for (int32_t i = 0; i < 16; i++) {
        total += (uint32_t)(x.at[i] * y.at[i]);
    }
    return (int32_t)total;
}

TVM_PLAIN_MVE int32_t tvm_dot_16(tvm_s8x16 x, tvm_s8x16 y)
{
    return tvm_add_dot_16(0, x, y);
}

TVM_PLAIN_MVE tvm_s32x4 tvm_load_words(const int32_t *from)
{
    const tvm_s32x4 x = {{from[0], from[1], from[2], from[3]}};

    return x;
}

TVM_PLAIN_MVE void tvm_store_words(int32_t *to, tvm_s32x4 x)
{
    for (int32_t i = 0; i < 4; i++) {
        to[i] = x.at[i];
        TVM_KEEP_LOOP();
    }
}

TVM_PLAIN_MVE tvm_s32x4 tvm_repeat_word(int32_t word)
{
    const tvm_s32x4 x = {{word, word, word, word}};

    return x;
}

TVM_PLAIN_MVE tvm_s32x4 tvm_set_even_words(int32_t a, int32_t c)
{
    const tvm_s32x4 x = {{a, 0, c, 0}};

    return x;
}

TVM_PLAIN_MVE tvm_s32x4 tvm_set_odd_words(tvm_s32x4 x, int32_t b, int32_t d)
{
    x.at[1] = b;
    x.at[3] = d;
    return x;
}

TVM_PLAIN_MVE tvm_s32x4 tvm_add_words(tvm_s32x4 x, tvm_s32x4 y)
{
    for (int32_t i = 0; i < 4; i++) {
        x.at[i] = (int32_t)((uint32_t)x.at[i] + (uint32_t)y.at[i]);
    }
    return x;
}

TVM_PLAIN_MVE tvm_s32x4 tvm_multiply_high_words(tvm_s32x4 x, tvm_s32x4 y)
{
    for (int32_t i = 0; i < 4; i++) {
        x.at[i] = (int32_t)tvm_shift_right_64((int64_t)x.at[i] * y.at[i] + INT64_C(0x80000000), 32);
    }
    return x;
}

TVM_PLAIN_MVE tvm_s32x4 tvm_double_multiply_words(tvm_s32x4 x, tvm_s32x4 y)
{
    for (int32_t i = 0; i < 4; i++) {
        x.at[i] = tvm_saturate(tvm_shift_right_64((int64_t)x.at[i] * y.at[i] + (INT64_C(1) << 30), 31));
    }
    return x;
}

TVM_PLAIN_MVE tvm_s32x4 tvm_signs(tvm_s32x4 x)
{
    for (int32_t i = 0; i < 4; i++) {
        x.at[i] = x.at[i] < 0 ? -1 : 0;
    }
    return x;
}

TVM_PLAIN_MVE tvm_s32x4 tvm_shift_words(tvm_s32x4 x, tvm_s32x4 shifts)
{
    for (int32_t i = 0; i < 4; i++) {
        x.at[i] = tvm_shift_right(x.at[i], -shifts.at[i]);
    }
    return x;
}

TVM_PLAIN_MVE int8_t tvm_saturate_word(int32_t x, int32_t shift)
{
    const int64_t half = (INT64_C(1) << shift) / 2;

    return (int8_t)tvm_limit_s8((int32_t)tvm_shift_right_64(x + half, shift), -128, 127);
}

TVM_PLAIN_MVE tvm_s8x16 tvm_saturate_two(tvm_s32x4 x, tvm_s32x4 y, const int32_t shift)
{
    tvm_s8x16 bytes = tvm_repeat_byte(0);

    for (int32_t i = 0; i < 4; i++) {
        bytes.at[4 * i] = tvm_saturate_word(x.at[i], shift);
        bytes.at[4 * i + 2] = tvm_saturate_word(y.at[i], shift);
    }
    return bytes;
}

TVM_PLAIN_MVE tvm_s8x16 tvm_saturate_one(tvm_s32x4 x, const int32_t shift)
{
    return tvm_saturate_two(x, x, shift);
}

TVM_PLAIN_MVE void tvm_scatter_4(int8_t *to, tvm_s32x4 offsets, tvm_s8x16 x)
{
    for (int32_t i = 0; i < 4; i++) {
        to[offsets.at[i]] = x.at[4 * i];
    }
}

TVM_PLAIN_MVE tvm_s32x4 tvm_widen_bytes(const int8_t *from, int32_t count)
{
    tvm_s32x4 x;

    for (int32_t i = 0; i < 4; i++) {
        x.at[i] = 0;
        if (i < count) {
            x.at[i] = from[i];
        }
    }
    return x;
}

TVM_PLAIN_MVE tvm_s32x4 tvm_look_up_bytes(const int32_t *table, const int8_t *from, int32_t count)
{
    tvm_s32x4 x = tvm_widen_bytes(from, count);

    for (int32_t i = 0; i < 4; i++) {
        x.at[i] = table[(uint8_t)x.at[i]];
    }
    return x;
}

TVM_PLAIN_MVE tvm_s32x4 tvm_shift_up_20(tvm_s32x4 x)
{
    for (int32_t i = 0; i < 4; i++) {
        x.at[i] = (int32_t)((uint32_t)x.at[i] << 20);
    }
    return x;
}

TVM_PLAIN_MVE tvm_s8x16 tvm_gather_fours(const int8_t *from, tvm_s32x4 offsets)
{
    tvm_s8x16 x;

    for (int32_t i = 0; i < 16; i++) {
        x.at[i] = from[offsets.at[i / 4] + i % 4];
    }
    return x;
}

TVM_PLAIN_MVE void tvm_store_fours(int8_t *to, tvm_s8x16 a, tvm_s8x16 b, tvm_s8x16 c, tvm_s8x16 d)
{
    for (int32_t i = 0; i < 16; i++) {
        to[4 * i] = a.at[i];
        to[4 * i + 1] = b.at[i];
        to[4 * i + 2] = c.at[i];
        to[4 * i + 3] = d.at[i];
    }
}

TVM_PLAIN_MVE tvm_s8x16 tvm_bytes_up(tvm_s8x16 x, int32_t places)
{
    tvm_s8x16 moved;

    for (int32_t i = 0; i < 16; i++) {
        moved.at[i] = i < places ? 0 : x.at[i - places];
    }
    return moved;
}

TVM_PLAIN_MVE tvm_s8x16 tvm_byte_up(tvm_s8x16 x)
{
    return tvm_bytes_up(x, 1);
}

TVM_PLAIN_MVE tvm_s8x16 tvm_word_up(tvm_s8x16 x)
{
    return tvm_bytes_up(x, 4);
}

TVM_PLAIN_MVE tvm_s32x4 tvm_shift_words_alike(tvm_s32x4 x, int32_t shift)
{
    return tvm_shift_words(x, tvm_repeat_word(shift));
}

TVM_PLAIN_MVE tvm_s32x4 tvm_add_word(tvm_s32x4 x, int32_t y)
{
    return tvm_add_words(x, tvm_repeat_word(y));
}

TVM_PLAIN_MVE void tvm_store_first_4(int8_t *to, tvm_s8x16 x, int32_t count)
{
    for (int32_t i = 0; i < 4 && i < count; i++) {
        to[i] = x.at[4 * i];
    }
}

TVM_PLAIN_MVE void tvm_store_each_4(int8_t *to, tvm_s8x16 x)
{
    tvm_store_first_4(to, x, 4);
}

TVM_PLAIN_MVE tvm_s8x16 tvm_two_bytes_down(tvm_s8x16 x)
{
    for (int32_t i = 0; i < 16; i += 4) {
        x.at[i] = x.at[i + 2];
        x.at[i + 1] = x.at[i + 3];
        x.at[i + 2] = 0;
        x.at[i + 3] = 0;
    }
    return x;
}

#endif

/* Copies `count` bytes, no other one is read or written; returns the end of the copy. */
TVM_INLINE int8_t *tvm_copy_mve(int8_t *to, const int8_t *from, int32_t count)
{
    for (; count >= 16; count -= 16) {
        tvm_store_16(to, tvm_load_16(from));
        to += 16;
        from += 16;
    }
    if (count > 0) {
        tvm_store_first(to, tvm_load_first(from, count), count);
    }
    return to + count;
}

TVM_INLINE int8_t *tvm_fill_mve(int8_t *to, int32_t byte, int32_t count)
{
    const tvm_s8x16 bytes = tvm_repeat_byte(byte);

    for (; count >= 16; count -= 16) {
        tvm_store_16(to, bytes);
        to += 16;
    }
    if (count > 0) {
        tvm_store_first(to, bytes, count);
    }
    return to + count;
}

/* What a row of a padded image is made of, in columns. */
struct tvm_padded_row_mve {
    int32_t left, inside, right;
};

TVM_INLINE struct tvm_padded_row_mve tvm_pad_row_mve(const struct tvm_window *window, int32_t columns)
{
    struct tvm_padded_row_mve row = {window->pad_left, columns - window->pad_left, 0};

    row.left = row.left < columns ? row.left : columns;
    row.inside = row.inside > 0 ? row.inside : 0;
    row.inside = row.inside < window->input_width ? row.inside : window->input_width;
    row.right = columns - row.left - row.inside;
    return row;
}

#endif
