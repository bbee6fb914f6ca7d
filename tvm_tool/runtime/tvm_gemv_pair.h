/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_gemv_pair.h - matrix products for one position, eight channels at a time. Not for use by a firmware.
 */
#ifndef TVM_GEMV_PAIR_H
#define TVM_GEMV_PAIR_H

#include "tvm_gemm_pair.h"

/* Weights are [channels / 8][depth][8]; parameters of each channel: the bias, then, unless all channels are
 * alike, what the form needs; else that stands before them. */
struct tvm_gemv_pair {
    const int8_t *weights;
    const int32_t *parameters;
    int32_t depth, channels;
    int32_t low, high;                  /* least and largest output */
    const struct tvm_rescaling_s8 *how; /* for TVM_ANY_PAIR */
};

#define TVM_EIGHT_PAIR(i)                   \
    do {                                    \
        const int32_t x = from[i];          \
        sum0 += x * weights[8 * (i)];       \
        sum1 += x * weights[8 * (i) + 1];   \
        sum2 += x * weights[8 * (i) + 2];   \
        sum3 += x * weights[8 * (i) + 3];   \
        sum4 += x * weights[8 * (i) + 4];   \
        sum5 += x * weights[8 * (i) + 5];   \
        sum6 += x * weights[8 * (i) + 6];   \
        sum7 += x * weights[8 * (i) + 7];   \
    } while (0)

/* Adds the products of eight channels to `sums`; `unroll`, 1 to 8, divides the depth. */
TVM_INLINE void tvm_eight_sums_pair(const int8_t *from, const int8_t *end, const int8_t *weights,
                                    int32_t *sums, const int32_t unroll)
{
    int32_t sum0 = 0, sum1 = 0, sum2 = 0, sum3 = 0, sum4 = 0, sum5 = 0, sum6 = 0, sum7 = 0;

    do {
        TVM_EIGHT_PAIR(0);
        if (unroll > 1) {
            TVM_EIGHT_PAIR(1);
        }
        if (unroll > 2) {
            TVM_EIGHT_PAIR(2);
            TVM_EIGHT_PAIR(3);
        }
        if (unroll > 4) {
            TVM_EIGHT_PAIR(4);
            TVM_EIGHT_PAIR(5);
            TVM_EIGHT_PAIR(6);
            TVM_EIGHT_PAIR(7);
        }
        from += unroll;
        weights += 8 * unroll;
    } while (from != end);
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
    sums[4] = sum4;
    sums[5] = sum5;
    sums[6] = sum6;
    sums[7] = sum7;
}

typedef void (*tvm_eight_pair)(const int8_t *from, const int8_t *end, const int8_t *weights, int32_t *sums);

/* All channels at one position. */
TVM_INLINE void tvm_gemv_8_pair(const struct tvm_gemv_pair *gemv, tvm_eight_pair eight, const int8_t *input,
                                void *output, const bool alike, const int32_t form, const bool limited)
{
    const int8_t *weights = gemv->weights;
    const int32_t *parameters = gemv->parameters;
    int8_t *to = (int8_t *)output;
    struct tvm_form_pair how = {0, 0, 0, gemv->low, gemv->high};
    int32_t sums[8];

    if (alike) {
        parameters = tvm_next_form_pair(parameters, &how, form);
    }
    for (int32_t channel = 0; channel < gemv->channels; channel += 8) {
        const int32_t left = gemv->channels - channel;
        eight(input, input + gemv->depth, weights, sums);
        weights += 8 * gemv->depth;
        for (int32_t i = 0; i < left && i < 8; i++) {
            const int32_t sum = (int32_t)((uint32_t)sums[i] + (uint32_t)*parameters++);
            if (!alike) {
                parameters = tvm_next_form_pair(parameters, &how, form);
            }
            *to++ = form == TVM_ANY_PAIR ? (int8_t)gemv->how->rescale(gemv->how, sum, channel + i)
                                         : tvm_output_pair(&how, sum, form, limited);
        }
    }
}

#endif
