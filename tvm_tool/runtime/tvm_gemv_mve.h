/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_gemv_mve.h - the products of tvm_gemm_mve.h for one position. Not for use by a firmware.
 */
#ifndef TVM_GEMV_MVE_H
#define TVM_GEMV_MVE_H

#include "tvm_gemm_mve.h"

/* Sums of four channels after `passes` passes of `unroll` steps. Weights: [steps][4][16]. */
TVM_INLINE tvm_s32x4 tvm_sum_four(const int8_t *w, const int8_t *inputs, int32_t passes, const int32_t unroll)
{
    int32_t sum0 = 0;
    int32_t sum1 = 0;
    int32_t sum2 = 0;
    int32_t sum3 = 0;

#if TVM_GEMM_ASM_MVE
    __asm__(
        "dls lr, %[passes]\n"
        "1:\n\t"
        ".rept %c[unroll]\n\t"
        "vldrb.8 q0, [%[x]], #16\n\t"
        "vldrb.8 q1, [%[w]], #16\n\t"
        "vmladava.s8 %[sum0], q0, q1\n\t"
        "vldrb.8 q2, [%[w]], #16\n\t"
        "vmladava.s8 %[sum1], q0, q2\n\t"
        "vldrb.8 q3, [%[w]], #16\n\t"
        "vmladava.s8 %[sum2], q0, q3\n\t"
        "vldrb.8 q1, [%[w]], #16\n\t"
        "vmladava.s8 %[sum3], q0, q1\n\t"
        ".endr\n\t"
        "le lr, 1b"
        : [w] "+r"(w), [x] "+r"(inputs), [sum0] "+Te"(sum0), [sum1] "+Te"(sum1), [sum2] "+Te"(sum2),
          [sum3] "+Te"(sum3)
        : [passes] "r"(passes), [unroll] "i"(unroll)
        : "lr", "q0", "q1", "q2", "q3", "memory");
#else
    for (int32_t steps = passes * unroll; steps > 0; steps--) {
        const tvm_s8x16 x = tvm_load_16(inputs);
        sum0 = tvm_add_dot_16(sum0, x, tvm_load_16(w));
        sum1 = tvm_add_dot_16(sum1, x, tvm_load_16(w + 16));
        sum2 = tvm_add_dot_16(sum2, x, tvm_load_16(w + 32));
        sum3 = tvm_add_dot_16(sum3, x, tvm_load_16(w + 48));
        w += 64;
        inputs += 16;
    }
#endif
    return tvm_set_odd_words(tvm_set_even_words(sum0, sum2), sum1, sum3);
}

/* The outputs of up to four channels, of which `left` are left. */
TVM_INLINE void tvm_finish_1x4_mve(const struct tvm_gemm_mve *gemm, tvm_s32x4 sums, const int32_t *biases,
                                   const int32_t *words, int32_t left, int8_t *output, const int32_t form,
                                   const bool limited)
{
    tvm_s8x16 bytes;

    if (form == TVM_ANY_MVE) {
        sums = tvm_add_words(sums, tvm_load_words(biases));
        tvm_finish_any_mve(gemm->how, sums, gemm->channels - left, left < 4 ? left : 4, output);
        return;
    }
    bytes = tvm_saturate_one(tvm_scale_words(sums, biases, words, form), form > 0 ? form : 0);
    if (limited) {
        bytes = tvm_limit_bytes(bytes, gemm->low, gemm->high);
    }
    if (left >= 4) {
        tvm_store_each_4(output, bytes);
    } else {
        tvm_store_first_4(output, bytes, left);
    }
}

/* All channels at one position: `depth` inputs, gemm->depth with those that weights of zero are for. The
 * inputs are copied to `scratch` if these are more. `alike`: what follows the biases is the same for all
 * channels and stands once, before them. */
TVM_INLINE void tvm_gemv_1x4_mve(const struct tvm_gemm_mve *gemm, int32_t depth, const int8_t *input,
                                 void *output, void *scratch, const int32_t unroll, const bool alike,
                                 const int32_t form, const bool limited)
{
    const int32_t words = TVM_FORM_WORDS_MVE(form) - 4;
    const int32_t passes = gemm->depth / (16 * unroll);
    const int8_t *w = gemm->weights;
    const int32_t *p = gemm->parameters;
    const int8_t *from = input;
    int8_t *to = (int8_t *)output;

    if (depth < gemm->depth) {
        (void)tvm_copy_mve((int8_t *)scratch, input, depth);
        from = (const int8_t *)scratch;
    }
    p += alike ? words : 0;
    for (int32_t left = gemm->channels; left > 0; left -= 4) {
        const tvm_s32x4 sums = tvm_sum_four(w, from, passes, unroll);
        tvm_finish_1x4_mve(gemm, sums, p, alike ? gemm->parameters : p + 4, left, to, form, limited);
        w += 4 * gemm->depth;
        p += alike ? 4 : 4 + words;
        to += 4;
    }
}

#endif
