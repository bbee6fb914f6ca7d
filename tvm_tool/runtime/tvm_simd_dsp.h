/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_simd_dsp.h - two 16-bit numbers in a word: the instructions of Armv7E-M and Armv8-M with the DSP
 * extension, and the same in plain C for every other compiler. Not for use by a firmware.
 *
 * A word holds the `low` number in bits 0 to 15 and the `high` one in bits 16 to 31. Sums wrap.
 */
#ifndef TVM_SIMD_DSP_H
#define TVM_SIMD_DSP_H

#include "tvm_blocks_s8.h"

#if defined(__ARM_FEATURE_DSP) && defined(__GNUC__) && defined(__thumb2__)
#define TVM_DSP 1
#include <arm_acle.h>
#else
#define TVM_DSP 0
#endif

/* Loops of few known passes become none. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
#define TVM_UNROLL _Pragma("GCC unroll 16")
#else
#define TVM_UNROLL
#endif

/* Sums that may wrap, without undefined behaviour. */
TVM_INLINE int32_t tvm_wrap_add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

TVM_INLINE int32_t tvm_wrap_sub(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a - (uint32_t)b);
}

/* A store of its own: STRD, which compilers make of two, takes a cycle more than both. */
TVM_INLINE void tvm_put(int32_t *to, int32_t word)
{
    *(volatile int32_t *)to = word;
}

/* Four bytes from any address, the first in bits 0 to 7. */
#if TVM_DSP && defined(__ARM_FEATURE_UNALIGNED)
struct __attribute__((packed, may_alias)) tvm_any_word {
    int32_t value;
};

TVM_INLINE int32_t tvm_load_bytes(const int8_t *from)
{
    return ((const struct tvm_any_word *)(const void *)from)->value;
}

TVM_INLINE void tvm_store_bytes(int8_t *to, int32_t bytes)
{
    ((struct tvm_any_word *)(void *)to)->value = bytes;
}
#else
TVM_INLINE int32_t tvm_load_bytes(const int8_t *from)
{
    return (int32_t)((uint32_t)(uint8_t)from[0] | (uint32_t)(uint8_t)from[1] << 8 |
                     (uint32_t)(uint8_t)from[2] << 16 | (uint32_t)(uint8_t)from[3] << 24);
}

TVM_INLINE void tvm_store_bytes(int8_t *to, int32_t bytes)
{
    for (int32_t i = 0; i < 4; i++) {
        to[i] = (int8_t)((uint32_t)bytes >> (8 * i) & 0xffu);
    }
}
#endif

#if TVM_DSP

#define TVM_SMLAD(x, y, sum) __smlad(x, y, sum)
#define TVM_SMLABB(x, y, sum) __smlabb(x, y, sum)
#define TVM_SMLABT(x, y, sum) __smlabt(x, y, sum)
#define TVM_SMLATB(x, y, sum) __smlatb(x, y, sum)
#define TVM_SXTB16(x) __sxtb16(x)
#define TVM_SXTAB16(sum, x) __sxtab16(sum, x)

/* What has no intrinsic, or one that compilers do not make into one instruction. */
#define TVM_DEFINE_DSP_2(name, instruction)                   \
    TVM_INLINE int32_t name(int32_t x, int32_t y)             \
    {                                                         \
        int32_t result;                                       \
        __asm__(instruction : "=r"(result) : "r"(x), "r"(y)); \
        return result;                                        \
    }
TVM_DEFINE_DSP_2(tvm_pack_low, "pkhbt %0, %1, %2, lsl #16")
TVM_DEFINE_DSP_2(tvm_pack_high, "pkhtb %0, %2, %1, asr #16")
TVM_DEFINE_DSP_2(tvm_multiply_high_rounded, "smmulr %0, %1, %2")
TVM_DEFINE_DSP_2(tvm_add_odd_bytes, "sxtab16 %0, %1, %2, ror #8")
TVM_DEFINE_DSP_2(tvm_add_pairs, "sadd16 %0, %1, %2")
TVM_DEFINE_DSP_2(tvm_sub_pairs, "ssub16 %0, %1, %2")

TVM_INLINE int32_t tvm_odd_bytes(int32_t x)
{
    int32_t result;

    __asm__("sxtb16 %0, %1, ror #8" : "=r"(result) : "r"(x));
    return result;
}

TVM_INLINE int32_t tvm_scale(int32_t x, int32_t multiplier, int32_t addend)
{
    int32_t result;

    __asm__("smmlar %0, %1, %2, %3" : "=r"(result) : "r"(x), "r"(multiplier), "r"(addend));
    return result;
}

/* The larger of each of four signed bytes. SEL reads flags that SSUB8 sets: one piece. */
TVM_INLINE int32_t tvm_larger_bytes(int32_t x, int32_t y)
{
    int32_t result;

    __asm__("ssub8 %0, %1, %2\n\tsel %0, %1, %2" : "=&r"(result) : "r"(x), "r"(y) : "cc");
    return result;
}

#else

TVM_INLINE int32_t tvm_low(int32_t x)
{
    return (int32_t)(((uint32_t)x & 0xffffu) ^ 0x8000u) - 0x8000;
}

TVM_INLINE int32_t tvm_high(int32_t x)
{
    return tvm_low((int32_t)((uint32_t)x >> 16));
}

TVM_INLINE int32_t tvm_pair(int32_t low, int32_t high)
{
    return (int32_t)(((uint32_t)low & 0xffffu) | (uint32_t)high << 16);
}

TVM_INLINE int32_t tvm_byte(int32_t x, int32_t index)
{
    return (int32_t)(((uint32_t)x >> (8 * index) & 0xffu) ^ 0x80u) - 0x80;
}

#define TVM_SMLABB(x, y, sum) tvm_wrap_add(sum, tvm_low(x) * tvm_low(y))
#define TVM_SMLABT(x, y, sum) tvm_wrap_add(sum, tvm_low(x) * tvm_high(y))
#define TVM_SMLATB(x, y, sum) tvm_wrap_add(sum, tvm_high(x) * tvm_low(y))
#define TVM_SMLAD(x, y, sum) tvm_wrap_add(TVM_SMLABB(x, y, sum), tvm_high(x) * tvm_high(y))
#define TVM_SXTB16(x) tvm_pair(tvm_byte(x, 0), tvm_byte(x, 2))
#define TVM_SXTAB16(sum, x) tvm_pair(tvm_low(sum) + tvm_byte(x, 0), tvm_high(sum) + tvm_byte(x, 2))

TVM_INLINE int32_t tvm_pack_low(int32_t x, int32_t y)
{
    return tvm_pair(x, y);
}

TVM_INLINE int32_t tvm_pack_high(int32_t x, int32_t y)
{
    return tvm_pair(tvm_high(x), tvm_high(y));
}

TVM_INLINE int32_t tvm_multiply_high_rounded(int32_t x, int32_t y)
{
    return (int32_t)tvm_shift_right_64((int64_t)x * y + INT64_C(0x80000000), 32);
}

TVM_INLINE int32_t tvm_odd_bytes(int32_t x)
{
    return tvm_pair(tvm_byte(x, 1), tvm_byte(x, 3));
}

TVM_INLINE int32_t tvm_add_odd_bytes(int32_t sum, int32_t x)
{
    return tvm_pair(tvm_low(sum) + tvm_byte(x, 1), tvm_high(sum) + tvm_byte(x, 3));
}

TVM_INLINE int32_t tvm_add_pairs(int32_t x, int32_t y)
{
    return tvm_pair(tvm_low(x) + tvm_low(y), tvm_high(x) + tvm_high(y));
}

TVM_INLINE int32_t tvm_sub_pairs(int32_t x, int32_t y)
{
    return tvm_pair(tvm_low(x) - tvm_low(y), tvm_high(x) - tvm_high(y));
}

TVM_INLINE int32_t tvm_scale(int32_t x, int32_t multiplier, int32_t addend)
{
    return tvm_wrap_add(tvm_multiply_high_rounded(x, multiplier), addend);
}

TVM_INLINE int32_t tvm_larger_bytes(int32_t x, int32_t y)
{
    uint32_t result = 0;

    for (int32_t index = 0; index < 4; index++) {
        const int32_t a = tvm_byte(x, index);
        const int32_t b = tvm_byte(y, index);
        result |= ((uint32_t)(a > b ? a : b) & 0xffu) << (8 * index);
    }
    return (int32_t)result;
}

#endif

/* tvm_pack_low: (low of x, low of y); tvm_pack_high: (high of x, high of y).
 * tvm_add_pairs, tvm_sub_pairs: low and high numbers by themselves.
 * tvm_odd_bytes: (byte 1, byte 3); TVM_SXTB16: (byte 0, byte 2).
 * tvm_scale: x * multiplier / 2^32, half up, + addend. */

/* value / 2^shift, rounded down, limited to int8_t; compilers find SSAT in it only where they want to. */
TVM_INLINE int32_t tvm_saturate_shifted(int32_t value, const int32_t shift)
{
#if TVM_DSP && defined(__OPTIMIZE__)
    if (__builtin_constant_p(shift) && shift > 0) {
        __asm__("ssat %0, #8, %1, asr %2" : "=r"(value) : "r"(value), "i"(shift));
        return value;
    }
    return __ssat(tvm_shift_right(value, shift), 8);
#else
    const int32_t shifted = tvm_shift_right(value, shift);

    return shifted < -128 ? -128 : shifted > 127 ? 127 : shifted;
#endif
}

#endif
