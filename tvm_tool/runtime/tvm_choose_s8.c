/* SPDX-License-Identifier: Apache-2.0
 *
 * The larger of two numbers, element by element; and a slope for negative ones.
 */
#include "tvm_blocks_s8.h"

void tvm_larger_s8(const struct tvm_binary_s8 *how, int32_t count, const void *a, int32_t a_step,
                   const void *b, int32_t b_step, void *output)
{
    const uint8_t *x = a;
    const uint8_t *y = b;
    uint8_t *to = output;

    for (; count > 0; count--) {
        const int32_t left = *x ^ how->a.flip;
        const int32_t right = *y ^ how->a.flip;
        *to++ = (uint8_t)((left > right ? left : right) ^ how->a.flip);
        x += a_step;
        y += b_step;
    }
}

/* The number minus its zero point. */
static int32_t number_of_operand(const struct tvm_operand_s8 *operand, uint8_t byte)
{
    return (byte ^ operand->flip) - operand->offset;
}

void tvm_slope_fixed_s8(const struct tvm_binary_s8 *how, int32_t count, const void *a, int32_t a_step,
                        const void *b, int32_t b_step, void *output)
{
    const uint8_t *x = a;
    const uint8_t *y = b;
    uint8_t *to = output;

    for (; count > 0; count--) {
        int32_t value = number_of_operand(&how->a, *x);
        if (value < 0) {
            value *= number_of_operand(&how->b, *y);
            value = tvm_rescale_twice(value, how->multiplier, how->shift);
        } else {
            value = tvm_rescale_twice(value, how->a.multiplier, how->a.shift);
        }
        *to++ = (uint8_t)(how->zero + tvm_limit_s8(value, how->low, how->high));
        x += a_step;
        y += b_step;
    }
}

void tvm_slope_float_s8(const struct tvm_binary_s8 *how, int32_t count, const void *a, int32_t a_step,
                        const void *b, int32_t b_step, void *output)
{
    const uint8_t *x = a;
    const uint8_t *y = b;
    uint8_t *to = output;

    for (; count > 0; count--) {
        float value = (float)number_of_operand(&how->a, *x) * how->a.scale;
        if (value < 0.0f) {
            float slope = (float)number_of_operand(&how->b, *y) * how->b.scale;
            TVM_COMPLETE(slope);
            value *= slope;
        }
        *to++ = (uint8_t)(how->zero + tvm_round_limited(value / how->scale, how->low, how->high));
        x += a_step;
        y += b_step;
    }
}
