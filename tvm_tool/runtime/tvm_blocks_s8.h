/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_blocks_s8.h - what the integer kernels are built of. Not for use by a firmware.
 */
#ifndef TVM_BLOCKS_S8_H
#define TVM_BLOCKS_S8_H

#include "tvm_blocks_f32.h"

/* `value` is rounded to a float here, so that it cannot become part of a fused multiply-add. */
#if defined(__GNUC__) && defined(__arm__) && defined(__ARM_FP)
#define TVM_COMPLETE(value) __asm__("" : "+t"(value))
#elif defined(__GNUC__) && defined(__aarch64__)
#define TVM_COMPLETE(value) __asm__("" : "+w"(value))
#elif defined(__GNUC__) && defined(__x86_64__)
#define TVM_COMPLETE(value) __asm__("" : "+x"(value))
#elif defined(__GNUC__) && defined(__riscv_flen)
#define TVM_COMPLETE(value) __asm__("" : "+f"(value))
#elif defined(__GNUC__)
#define TVM_COMPLETE(value) __asm__("" : "+m"(value))
#else
#define TVM_COMPLETE(value) ((void)0)
#endif

TVM_INLINE int32_t tvm_limit_s8(int32_t value, int32_t low, int32_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* floor(value / 2^shift): compilers shift negative numbers arithmetically, and tests hold them to it. */
TVM_INLINE int32_t tvm_shift_right(int32_t value, int32_t shift)
{
    return value >> shift;
}

TVM_INLINE int64_t tvm_shift_right_64(int64_t value, int32_t shift)
{
    return value >> shift;
}

TVM_INLINE int32_t tvm_saturate(int64_t value)
{
    return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

/* x * y / 2^31, half up; one of them is not INT32_MIN. */
TVM_INLINE int32_t tvm_multiply_high(int32_t x, int32_t y)
{
    return (int32_t)tvm_shift_right_64((int64_t)x * y + (INT64_C(1) << 30), 31);
}

/* value / 2^shift, half away from zero; shift 0 to 31. */
TVM_INLINE int32_t tvm_divide_by_power(int32_t value, int32_t shift)
{
    const int32_t mask = (int32_t)((UINT32_C(1) << shift) - 1u);
    const int32_t half = tvm_shift_right(mask, 1) + (value < 0 ? 1 : 0);

    return tvm_shift_right(value, shift) + ((value & mask) > half ? 1 : 0);
}

/* sum * multiplier * 2^(shift - 31), rounded twice. */
TVM_INLINE int32_t tvm_rescale_twice(int32_t sum, int32_t multiplier, int32_t shift)
{
    if (shift > 0) {
        return tvm_multiply_high(tvm_saturate((int64_t)sum * (INT64_C(1) << shift)), multiplier);
    }
    return tvm_divide_by_power(tvm_multiply_high(sum, multiplier), -shift);
}

/* `value` limited to [low, high], within 2^22, then rounded half to even: in 1.5 * 2^23 + value the last bit
 * counts ones. */
TVM_INLINE int32_t tvm_round_limited(float value, int32_t low, int32_t high)
{
    union {
        float value;
        uint32_t bits;
    } number;

    number.value = tvm_at_most_f32(tvm_at_least_f32(value, (float)low), (float)high);
    TVM_COMPLETE(number.value);
    number.value += 12582912.0f;
    return (int32_t)number.bits - 0x4b400000;
}

/* sum + x[0] * w[0] + ... + x[count - 1] * w[count - 1], modulo 2^32; x is uint8_t or int8_t. */
uint32_t tvm_dot_s8(uint32_t sum, const void *x, bool x_unsigned, const int8_t *w, int32_t count);

/* sum + x[0] + ... + x[count - 1], modulo 2^32. */
uint32_t tvm_total_s8(uint32_t sum, const void *x, bool x_unsigned, int32_t count);

#endif
