/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_gemv_armv6m.h - the products of tvm_gemm_armv6m.h for one position. Not for use by a firmware.
 *
 * Weights are bytes from 0 to 255, 128 more than they are, because LDRB takes an offset and LDRSB does not:
 * 128 times the sum of the inputs is too much in all channels.
 */
#ifndef TVM_GEMV_ARMV6M_H
#define TVM_GEMV_ARMV6M_H

#include "tvm_gemm_armv6m.h"

/* Weights are [channels / 4][length][4]; `length` is a multiple of 8. Parameters as of tvm_gemm_armv6m, with
 * neither run nor bias: of each channel, or of all of them if `step` is 0. */
struct tvm_gemv_armv6m {
    const int8_t *weights;
    const int32_t *bias; /* by channel, a multiple of 4 */
    const int32_t *parameters;
    int32_t step;
    int32_t length;
    int32_t channels;
    const struct tvm_rescaling_s8 *how;
};

#if TVM_ASM_ARMV6M
#define TVM_PRODUCT_ARMV6M(x, total, offset) \
    "ldrb r2, [r1, #" offset                 \
    "]\n\t"                                  \
    "muls r2, " x                            \
    ", r2\n\t"                               \
    "add " total ", " total ", r2\n\t"
#define TVM_FOUR_PRODUCTS_ARMV6M(x, offset0, offset1, offset2, offset3) \
    TVM_PRODUCT_ARMV6M(x, "r8", offset0)                                \
    TVM_PRODUCT_ARMV6M(x, "r9", offset1)                                \
    TVM_PRODUCT_ARMV6M(x, "r10", offset2)                               \
    TVM_PRODUCT_ARMV6M(x, "r11", offset3)

TVM_INLINE const int8_t *tvm_sum_channels_armv6m(const uint32_t *inputs, const uint32_t *end,
                                                 const int8_t *weights, uint32_t *sums)
{
    register const uint32_t *x __asm__("r0") = inputs;
    register const int8_t *w __asm__("r1") = weights;
    register const uint32_t *last __asm__("r2") = end;
    register uint32_t *to __asm__("r3") = sums;

    __asm__ volatile(".syntax unified\n\t"
                     "mov r12, r2\n\t"
                     "mov lr, r3\n\t"
                     "ldmia r3!, {r4, r5, r6}\n\t"
                     "mov r8, r4\n\t"
                     "mov r9, r5\n\t"
                     "mov r10, r6\n\t"
                     "ldr r4, [r3]\n\t"
                     "mov r11, r4\n\t"
                     "1:\n\t"
                     "ldmia r0!, {r3, r4, r5, r6}\n\t" TVM_FOUR_PRODUCTS_ARMV6M("r3", "0", "1", "2", "3")
                     TVM_FOUR_PRODUCTS_ARMV6M("r4", "4", "5", "6", "7")
                     TVM_FOUR_PRODUCTS_ARMV6M("r5", "8", "9", "10", "11")
                     TVM_FOUR_PRODUCTS_ARMV6M("r6", "12", "13", "14", "15")
                     "ldmia r0!, {r3, r4, r5, r6}\n\t" TVM_FOUR_PRODUCTS_ARMV6M("r3", "16", "17", "18", "19")
                     TVM_FOUR_PRODUCTS_ARMV6M("r4", "20", "21", "22", "23")
                     TVM_FOUR_PRODUCTS_ARMV6M("r5", "24", "25", "26", "27")
                     TVM_FOUR_PRODUCTS_ARMV6M("r6", "28", "29", "30", "31")
                     "adds r1, #32\n\t"
                     "cmp r0, r12\n\t"
                     "bne 1b\n\t"
                     "mov r3, lr\n\t"
                     "mov r4, r8\n\t"
                     "mov r5, r9\n\t"
                     "mov r6, r10\n\t"
                     "stmia r3!, {r4, r5, r6}\n\t"
                     "mov r4, r11\n\t"
                     "str r4, [r3]"
                     : "+r"(x), "+r"(w), "+r"(last), "+r"(to)
                     :
                     : "r4", "r5", "r6", "r8", "r9", "r10", "r11", "r12", "lr", "cc", "memory");
    return w;
}
#else
TVM_INLINE const int8_t *tvm_sum_channels_armv6m(const uint32_t *inputs, const uint32_t *end,
                                                 const int8_t *weights, uint32_t *sums)
{
    for (; inputs != end; inputs++) {
        for (int32_t i = 0; i < 4; i++) {
            sums[i] += *inputs * (uint8_t)weights[i];
        }
        weights += 4;
    }
    return weights;
}
#endif

/* All channels at one position of `depth` inputs; scratch: gemv->length words. */
TVM_INLINE void tvm_gemv_4_armv6m(const struct tvm_gemv_armv6m *gemv, int32_t depth, const int8_t *input,
                                  void *output, void *scratch, const int32_t form)
{
    uint32_t *inputs = (uint32_t *)scratch;
    const uint32_t *end = inputs + gemv->length;
    const int8_t *weights = gemv->weights;
    const int32_t *parameters = gemv->parameters;
    uint8_t *to = (uint8_t *)output;
    uint32_t total = 0;

    for (int32_t i = 0; i < depth; i++) {
        const uint32_t x = (uint32_t)input[i];
        inputs[i] = x;
        total += x;
    }
    for (int32_t i = depth; i < gemv->length; i++) {
        inputs[i] = 0;
        TVM_KEEP_LOOP();
    }
    for (int32_t channel = 0; channel < gemv->channels; channel += 4) {
        const int32_t left = gemv->channels - channel;
        uint32_t sums[4];
        for (int32_t i = 0; i < 4; i++) {
            sums[i] = (uint32_t)gemv->bias[channel + i] - 128u * total;
        }
        weights = tvm_sum_channels_armv6m(inputs, end, weights, sums);
        for (int32_t i = 0; i < 4 && i < left; i++) {
            if (form == TVM_EXACT) {
                *to++ = (uint8_t)gemv->how->rescale(gemv->how, (int32_t)sums[i], channel + i);
            } else {
                *to++ = tvm_output_armv6m(parameters, sums[i], form);
                parameters += gemv->step;
            }
        }
    }
}

#endif
