/* SPDX-License-Identifier: Apache-2.0
 *
 * From sums to outputs, in three roundings. Limits come before the zero point, so that nothing overflows.
 */
#include "tvm_blocks_s8.h"

int32_t tvm_rescale_double_s8(const struct tvm_rescaling_s8 *how, int32_t sum, int32_t channel)
{
    const int32_t *multipliers = how->multipliers;
    const int32_t value = tvm_rescale_twice(sum, multipliers[channel], how->shifts[channel]);

    return how->zero + tvm_limit_s8(value, how->low, how->high);
}

int32_t tvm_rescale_single_s8(const struct tvm_rescaling_s8 *how, int32_t sum, int32_t channel)
{
    const int32_t *multipliers = how->multipliers;
    const int32_t *fractions = how->fractions;
    const int32_t shift = how->shifts[channel];
    int64_t product = (int64_t)sum * multipliers[channel] + (INT64_C(1) << (30 - shift));
    int32_t value;

    if (fractions) {
        product += fractions[channel];
    }
    value = tvm_saturate(tvm_shift_right_64(product, 31 - shift));
    return how->zero + tvm_limit_s8(value, how->low, how->high);
}

int32_t tvm_rescale_float_s8(const struct tvm_rescaling_s8 *how, int32_t sum, int32_t channel)
{
    const float *multipliers = how->multipliers;
    const float *fractions = how->fractions;
    float value = (float)sum * multipliers[channel];

    if (fractions) {
        TVM_COMPLETE(value);
        value += fractions[channel];
    }
    return how->zero + tvm_round_limited(value, how->low, how->high);
}
