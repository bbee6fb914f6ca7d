/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums, differences and products of two inputs, element by element.
 */
#include "tvm_blocks_s8.h"

/* The number minus its zero point. */
static int32_t centred(const struct tvm_operand_s8 *operand, uint8_t byte)
{
    return (byte ^ operand->flip) - operand->offset;
}

static int32_t scaled_fixed(const struct tvm_operand_s8 *operand, uint8_t byte)
{
    return tvm_rescale_twice(centred(operand, byte) * (1 << 20), operand->multiplier, operand->shift);
}

static float dequantized(const struct tvm_operand_s8 *operand, uint8_t byte)
{
    float value = (float)centred(operand, byte) * operand->scale;

    TVM_COMPLETE(value);
    return value;
}

static uint8_t rescaled(const struct tvm_binary_s8 *how, int32_t value)
{
    value = tvm_rescale_twice(value, how->multiplier, how->shift);
    return (uint8_t)(how->zero + tvm_limit_s8(value, how->low, how->high));
}

static uint8_t quantized(const struct tvm_binary_s8 *how, float value)
{
    return (uint8_t)(how->zero + tvm_round_limited(value / how->scale, how->low, how->high));
}

void tvm_add_fixed_s8(const struct tvm_binary_s8 *how, int32_t count, const void *a, int32_t a_step,
                      const void *b, int32_t b_step, void *output)
{
    const uint8_t *x = a;
    const uint8_t *y = b;
    uint8_t *to = output;

    for (; count > 0; count--) {
        *to++ = rescaled(how, scaled_fixed(&how->a, *x) + how->sign * scaled_fixed(&how->b, *y));
        x += a_step;
        y += b_step;
    }
}

void tvm_add_float_s8(const struct tvm_binary_s8 *how, int32_t count, const void *a, int32_t a_step,
                      const void *b, int32_t b_step, void *output)
{
    const uint8_t *x = a;
    const uint8_t *y = b;
    uint8_t *to = output;

    for (; count > 0; count--) {
        *to++ = quantized(how, dequantized(&how->a, *x) + dequantized(&how->b, *y));
        x += a_step;
        y += b_step;
    }
}

void tvm_multiply_fixed_s8(const struct tvm_binary_s8 *how, int32_t count, const void *a, int32_t a_step,
                           const void *b, int32_t b_step, void *output)
{
    const uint8_t *x = a;
    const uint8_t *y = b;
    uint8_t *to = output;

    for (; count > 0; count--) {
        *to++ = rescaled(how, centred(&how->a, *x) * centred(&how->b, *y));
        x += a_step;
        y += b_step;
    }
}

void tvm_multiply_float_s8(const struct tvm_binary_s8 *how, int32_t count, const void *a, int32_t a_step,
                           const void *b, int32_t b_step, void *output)
{
    const uint8_t *x = a;
    const uint8_t *y = b;
    uint8_t *to = output;

    for (; count > 0; count--) {
        *to++ = quantized(how, dequantized(&how->a, *x) * dequantized(&how->b, *y));
        x += a_step;
        y += b_step;
    }
}

void tvm_add_real_s8(const struct tvm_binary_s8 *how, int32_t count, const void *a, int32_t a_step,
                     const float *b, int32_t b_step, void *output)
{
    const uint8_t *x = a;
    uint8_t *to = output;

    for (; count > 0; count--) {
        *to++ = quantized(how, dequantized(&how->a, *x) + *b);
        x += a_step;
        b += b_step;
    }
}

void tvm_multiply_real_s8(const struct tvm_binary_s8 *how, int32_t count, const void *a, int32_t a_step,
                          const float *b, int32_t b_step, void *output)
{
    const uint8_t *x = a;
    uint8_t *to = output;

    for (; count > 0; count--) {
        *to++ = quantized(how, dequantized(&how->a, *x) * *b);
        x += a_step;
        b += b_step;
    }
}
