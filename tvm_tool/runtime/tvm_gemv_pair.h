/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_gemv_pair.h - matrix products for one position, eight or sixteen channels at a time. Not for use by a
 * firmware.
 */
#ifndef TVM_GEMV_PAIR_H
#define TVM_GEMV_PAIR_H

#include "tvm_gemm_pair.h"

/* The sums of some channels, 8 or 16, from their biases on. */
typedef void (*tvm_channels_pair)(const int8_t *from, const int8_t *end, const int8_t *weights,
                                  const int32_t *bias, int32_t *sums);

/* Weights are [channels / n][depth][n], for n channels at a time; the biases fill up n. Parameters are what the
 * form needs, of each channel or, if all are alike, once. */
struct tvm_gemv_pair {
    tvm_channels_pair products;
    const int8_t *weights;
    const int32_t *bias;
    const int32_t *parameters;
    int32_t depth, channels;
    int32_t low, high;                  /* least and largest output */
    const struct tvm_rescaling_s8 *how; /* for TVM_ANY_PAIR */
};

/* An input by the weights of eight channels. */
#if TVM_ASM_PAIR
#define TVM_PRODUCT_PAIR(sum)           \
    "ldrsb %[w], [%[weights]], #1\n\t" \
    "mla %[" sum "], %[x], %[w], %[" sum "]\n\t"
#define TVM_EIGHT_PAIR                                                                              \
    "ldrsb %[x], [%[from]], #1\n\t"                                                                 \
    TVM_PRODUCT_PAIR("sum0") TVM_PRODUCT_PAIR("sum1") TVM_PRODUCT_PAIR("sum2") TVM_PRODUCT_PAIR("sum3") \
    TVM_PRODUCT_PAIR("sum4") TVM_PRODUCT_PAIR("sum5") TVM_PRODUCT_PAIR("sum6") TVM_PRODUCT_PAIR("sum7")
#define TVM_PASS_EIGHT_PAIR(count)                                                                        \
    do {                                                                                                  \
        int32_t x, w;                                                                                     \
        __asm__ volatile("1:\n\t.rept %c[times]\n\t" TVM_EIGHT_PAIR ".endr\n\t"                         \
                         "cmp %[from], %[end]\n\t"                                                        \
                         "bne 1b"                                                                         \
                         : [from] "+&r"(from), [weights] "+&r"(weights), [x] "=&r"(x), [w] "=&r"(w),      \
                           [sum0] "+&r"(sum0), [sum1] "+&r"(sum1), [sum2] "+&r"(sum2), [sum3] "+&r"(sum3), \
                           [sum4] "+&r"(sum4), [sum5] "+&r"(sum5), [sum6] "+&r"(sum6), [sum7] "+&r"(sum7) \
                         : [end] "r"(end), [times] "i"(count)                                             \
                         : "cc", "memory");                                                               \
    } while (0)
#else
#define TVM_EIGHT_PAIR(x, w)     \
    do {                         \
        sum0 += (x) * (w)[0];    \
        sum1 += (x) * (w)[1];    \
        sum2 += (x) * (w)[2];    \
        sum3 += (x) * (w)[3];    \
        sum4 += (x) * (w)[4];    \
        sum5 += (x) * (w)[5];    \
        sum6 += (x) * (w)[6];    \
        sum7 += (x) * (w)[7];    \
    } while (0)
#define TVM_ONE_OF_PASS_PAIR(i) TVM_EIGHT_PAIR(from[i], weights + 8 * (i))
#define TVM_PASS_EIGHT_PAIR(count)       \
    do {                                 \
        do {                             \
            TVM_ONE_OF_PASS_PAIR(0);     \
            if ((count) > 1) {           \
                TVM_ONE_OF_PASS_PAIR(1); \
            }                            \
            if ((count) > 2) {           \
                TVM_ONE_OF_PASS_PAIR(2); \
                TVM_ONE_OF_PASS_PAIR(3); \
            }                            \
            if ((count) > 4) {           \
                TVM_ONE_OF_PASS_PAIR(4); \
                TVM_ONE_OF_PASS_PAIR(5); \
                TVM_ONE_OF_PASS_PAIR(6); \
                TVM_ONE_OF_PASS_PAIR(7); \
            }                            \
            from += (count);             \
            weights += 8 * (count);      \
        } while (from != end);           \
    } while (0)
#endif

#define TVM_KEEP_SUMS_PAIR(to) \
    do {                       \
        (to)[0] = sum0;        \
        (to)[1] = sum1;        \
        (to)[2] = sum2;        \
        (to)[3] = sum3;        \
        (to)[4] = sum4;        \
        (to)[5] = sum5;        \
        (to)[6] = sum6;        \
        (to)[7] = sum7;        \
    } while (0)

/* The bodies of a tvm_channels_pair; `count`, a power of 2 up to 8, divides the depth. */
TVM_INLINE void tvm_sum_8_channels_pair(const int8_t *from, const int8_t *end, const int8_t *weights,
                                        const int32_t *bias, int32_t *sums, const int32_t count)
{
    int32_t sum0 = bias[0], sum1 = bias[1], sum2 = bias[2], sum3 = bias[3];
    int32_t sum4 = bias[4], sum5 = bias[5], sum6 = bias[6], sum7 = bias[7];

    TVM_PASS_EIGHT_PAIR(count);
    TVM_KEEP_SUMS_PAIR(sums);
}

#if !TVM_ASM_PAIR
#define TVM_SIXTEEN_PAIR(i)                              \
    do {                                                 \
        const int32_t x = from[i];                       \
        const int8_t *const w = weights + 16 * (i);      \
        TVM_EIGHT_PAIR(x, w);                            \
        sum8 += x * w[8];                                \
        sum9 += x * w[9];                                \
        sum10 += x * w[10];                              \
        sum11 += x * w[11];                              \
        sum12 += x * w[12];                              \
        sum13 += x * w[13];                              \
        sum14 += x * w[14];                              \
        sum15 += x * w[15];                              \
    } while (0)

TVM_INLINE void tvm_sum_16_channels_pair(const int8_t *from, const int8_t *end, const int8_t *weights,
                                         const int32_t *bias, int32_t *sums, const int32_t count)
{
    int32_t sum0 = bias[0], sum1 = bias[1], sum2 = bias[2], sum3 = bias[3];
    int32_t sum4 = bias[4], sum5 = bias[5], sum6 = bias[6], sum7 = bias[7];
    int32_t sum8 = bias[8], sum9 = bias[9], sum10 = bias[10], sum11 = bias[11];
    int32_t sum12 = bias[12], sum13 = bias[13], sum14 = bias[14], sum15 = bias[15];

    do {
        TVM_SIXTEEN_PAIR(0);
        if (count > 1) {
            TVM_SIXTEEN_PAIR(1);
        }
        if (count > 2) {
            TVM_SIXTEEN_PAIR(2);
            TVM_SIXTEEN_PAIR(3);
        }
        if (count > 4) {
            TVM_SIXTEEN_PAIR(4);
            TVM_SIXTEEN_PAIR(5);
            TVM_SIXTEEN_PAIR(6);
            TVM_SIXTEEN_PAIR(7);
        }
        from += count;
        weights += 16 * count;
    } while (from != end);
    TVM_KEEP_SUMS_PAIR(sums);
    sums[8] = sum8;
    sums[9] = sum9;
    sums[10] = sum10;
    sums[11] = sum11;
    sums[12] = sum12;
    sums[13] = sum13;
    sums[14] = sum14;
    sums[15] = sum15;
}
#endif

/* All channels at one position, 8 or 16 at a time. */
TVM_INLINE void tvm_gemv_any_pair(const struct tvm_gemv_pair *gemv, const int8_t *input, void *output,
                                  const int32_t together, const bool alike, const int32_t form,
                                  const bool limited)
{
    const int8_t *weights = gemv->weights;
    const int32_t *parameters = gemv->parameters;
    int8_t *to = (int8_t *)output;
    struct tvm_form_pair how = {0, 0, 0, gemv->low, gemv->high};
    int32_t sums[16];

    if (alike) {
        (void)tvm_next_form_pair(parameters, &how, form);
    }
    for (int32_t channel = 0; channel < gemv->channels; channel += together) {
        const int32_t left = gemv->channels - channel;
        const int32_t *sum = sums;
        const int32_t *const last = sums + (left < together ? left : together);
        gemv->products(input, input + gemv->depth, weights, gemv->bias + channel, sums);
        weights += together * gemv->depth;
        do {
            if (form == TVM_ANY_PAIR) {
                *to++ = (int8_t)gemv->how->rescale(gemv->how, *sum, channel + (int32_t)(sum - sums));
            } else {
                if (!alike) {
                    parameters = tvm_next_form_pair(parameters, &how, form);
                }
                *to++ = tvm_output_pair(&how, *sum, form, limited);
            }
            sum++;
        } while (sum != last);
    }
}

#endif
