/* SPDX-License-Identifier: Apache-2.0
 *
 * Squares of differences, element by element.
 */
#include "tvm_blocks_s8.h"

static int32_t scaled_of_difference(const struct tvm_operand_s8 *operand, uint8_t byte)
{
    const int32_t number = (byte ^ operand->flip) - operand->offset;

    return tvm_rescale_twice(number * (1 << 7), operand->multiplier, operand->shift);
}

static float real_of_difference(const struct tvm_operand_s8 *operand, uint8_t byte)
{
    float value = (float)((byte ^ operand->flip) - operand->offset) * operand->scale;

    TVM_COMPLETE(value);
    return value;
}

void tvm_squared_difference_fixed_s8(const struct tvm_binary_s8 *how, int32_t count, const void *a,
                                     int32_t a_step, const void *b, int32_t b_step, void *output)
{
    const uint8_t *x = a;
    const uint8_t *y = b;
    uint8_t *to = output;

    for (; count > 0; count--) {
        const int32_t difference = scaled_of_difference(&how->a, *x) - scaled_of_difference(&how->b, *y);
        const int32_t value = tvm_rescale_twice(difference * difference, how->multiplier, how->shift);
        *to++ = (uint8_t)(how->zero + tvm_limit_s8(value, how->low, how->high));
        x += a_step;
        y += b_step;
    }
}

void tvm_squared_difference_float_s8(const struct tvm_binary_s8 *how, int32_t count, const void *a,
                                     int32_t a_step, const void *b, int32_t b_step, void *output)
{
    const uint8_t *x = a;
    const uint8_t *y = b;
    uint8_t *to = output;

    for (; count > 0; count--) {
        const float difference = real_of_difference(&how->a, *x) - real_of_difference(&how->b, *y);
        const float value = difference * difference;
        *to++ = (uint8_t)(how->zero + tvm_round_limited(value / how->scale, how->low, how->high));
        x += a_step;
        y += b_step;
    }
}
