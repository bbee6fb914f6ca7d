/* SPDX-License-Identifier: Apache-2.0
 *
 * Softmax by a table of exponentials of the distance to the largest number of a row.
 */
#include "tvm_blocks_s8.h"

/* Where the exponentials of a row begin: entry byte ^ flip is that of its number. */
static int32_t start_of_row(const uint8_t *row, int32_t columns, int32_t flip)
{
    int32_t most = 0;

    for (int32_t column = 0; column < columns; column++) {
        const int32_t number = row[column] ^ flip;
        most = number > most ? number : most;
    }
    return 255 - most;
}

/* Bits above the highest one of a positive number. */
static int32_t leading_zeros(int32_t value)
{
    int32_t zeros = 0;

    for (uint32_t bits = (uint32_t)value; (bits & 0x80000000u) == 0u; bits <<= 1) {
        zeros++;
    }
    return zeros;
}

/* 1 / (1 + x) by three steps of Newton's method; x and the result in units of 2^-31. */
static int32_t reciprocal(int32_t x)
{
    const int32_t half = (int32_t)(((int64_t)x + INT32_MAX + 1) / 2); /* (1 + x) / 2 */
    int32_t y = 1515870810 + tvm_multiply_high(half, -1010580540);    /* 48/17 - 32/17 half, units of 2^-29 */

    for (int32_t step = 0; step < 3; step++) {
        const int32_t rest = (1 << 29) - tvm_multiply_high(half, y);
        y += tvm_saturate((int64_t)tvm_multiply_high(y, rest) * 4);
    }
    return tvm_saturate((int64_t)y * 2);
}

void tvm_softmax_fixed_s8(int32_t rows, int32_t columns, int32_t input_flip, int32_t output_flip,
                          const int32_t *exponentials, const void *input, void *output)
{
    const uint8_t *from = input;
    uint8_t *to = output;

    for (; rows > 0; rows--) {
        const int32_t *powers = exponentials + start_of_row(from, columns, input_flip);
        int32_t sum = 0;
        for (int32_t column = 0; column < columns; column++) {
            sum += tvm_divide_by_power(powers[from[column] ^ input_flip], 12);
        }
        const int32_t zeros = leading_zeros(sum);
        const int32_t scale = reciprocal((int32_t)(((uint32_t)sum << zeros) - 0x80000000u));
        const int32_t shift = 35 - zeros; /* the sum has 12 bits before its point, the output 8 behind */
        for (int32_t column = 0; column < columns; column++) {
            const int32_t product = tvm_multiply_high(scale, powers[from[column] ^ input_flip]);
            const int32_t value = shift > 31 ? 0 : tvm_divide_by_power(product, shift);
            to[column] = (uint8_t)(tvm_limit_s8(value, 0, 255) ^ output_flip);
        }
        from += columns;
        to += columns;
    }
}

void tvm_softmax_float_s8(int32_t rows, int32_t columns, const struct tvm_softmax_s8 *how,
                          const float *exponentials, const void *input, void *output)
{
    const uint8_t *from = input;
    uint8_t *to = output;

    for (; rows > 0; rows--) {
        const float *powers = exponentials + start_of_row(from, columns, how->flip);
        float sum = 0.0f;
        for (int32_t column = 0; column < columns; column++) {
            sum += powers[from[column] ^ how->flip];
        }
        for (int32_t column = 0; column < columns; column++) {
            const float value = powers[from[column] ^ how->flip] / sum / how->output_scale;
            to[column] = (uint8_t)(how->zero + tvm_round_limited(value, how->low, how->high));
        }
        from += columns;
        to += columns;
    }
}
