/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_gemv_dsp.h - the products of tvm_gemm_dsp.h for one position. Not for use by a firmware.
 */
#ifndef TVM_GEMV_DSP_H
#define TVM_GEMV_DSP_H

#include "tvm_expand_dsp.h"

/* Four words of inputs (eight inputs) are a pass; LDM and LDRD take fewer cycles than single loads, and
 * compilers do not find them. */
#if TVM_DSP && defined(__OPTIMIZE__) && !defined(TVM_NO_ASM)
#define TVM_GEMV_HALF_PASS            \
    "ldm %[w]!, {r2, r3, r8, r9}\n\t" \
    "ldrd r10, r11, [%[x]], #8\n\t"   \
    "smlad %[b0], r10, r2, %[b0]\n\t" \
    "smlad %[b1], r10, r3, %[b1]\n\t" \
    "sxtb16 r2, r2\n\t"               \
    "sxtb16 r3, r3\n\t"               \
    "smlad %[b0], r11, r8, %[b0]\n\t" \
    "smlad %[b1], r11, r9, %[b1]\n\t" \
    "sxtb16 r8, r8\n\t"               \
    "sxtb16 r9, r9\n\t"               \
    "smlad %[l0], r10, r2, %[l0]\n\t" \
    "smlad %[l1], r10, r3, %[l1]\n\t" \
    "smlad %[l0], r11, r8, %[l0]\n\t" \
    "smlad %[l1], r11, r9, %[l1]\n\t"
#define TVM_GEMV_PASS()                                                                                  \
    __asm__ volatile(                                                                                    \
        TVM_GEMV_HALF_PASS TVM_GEMV_HALF_PASS                                                            \
        : [w] "+r"(w), [x] "+r"(x), [l0] "+r"(low0), [b0] "+r"(both0), [l1] "+r"(low1), [b1] "+r"(both1) \
        :                                                                                                \
        : "r2", "r3", "r8", "r9", "r10", "r11", "memory")
#else
#define TVM_GEMV_PASS()                                   \
    do {                                                  \
        for (int32_t i = 0; i < 4; i++) {                 \
            both0 = TVM_SMLAD(*x, w[0], both0);           \
            low0 = TVM_SMLAD(*x, TVM_SXTB16(w[0]), low0); \
            both1 = TVM_SMLAD(*x, w[1], both1);           \
            low1 = TVM_SMLAD(*x, TVM_SXTB16(w[1]), low1); \
            x++;                                          \
            w += 2;                                       \
        }                                                 \
    } while (0)
#endif

/* All channels at one position of `depth` inputs. `alike`: what follows the biases is the same for all
 * channels and stands once, before them. The form is not TVM_ANY. Scratch: gemm->length / 2 words, a multiple of 4 * unroll. */
TVM_INLINE void tvm_gemv_1x4_dsp(const struct tvm_gemm_dsp *gemm, int32_t depth, const int8_t *input,
                                 void *output, void *scratch, const int32_t unroll, const bool alike,
                                 const int32_t form, const bool limited)
{
    const int32_t doubled = form == TVM_DOUBLE ? 1 : 0;
    const int32_t *w = gemm->weights;
    const int32_t *p = gemm->parameters;
    const int32_t *const first = p;
    int32_t *inputs = (int32_t *)scratch;
    int8_t *result = (int8_t *)output;
    int8_t spare[4];

    (void)tvm_expand(inputs, 1, input, depth);
    if (alike) {
        p += form == TVM_DOUBLE ? 3 : 2;
    }
    for (int32_t channels = gemm->channels; channels > 0; channels -= 4) {
        const int32_t *x = inputs;
        const int32_t *end = w + gemm->length;
        int8_t *to = channels < 4 ? spare : result;
        int32_t low0 = p[0];
        int32_t both0 = p[1];
        int32_t low1 = p[2];
        int32_t both1 = p[3];

        p += 4;
        do {
            TVM_GEMV_PASS();
            if (unroll > 1) {
                TVM_GEMV_PASS();
            }
            if (unroll > 2) {
                TVM_GEMV_PASS();
                TVM_GEMV_PASS();
            }
        } while (w != end);
        both0 = tvm_shift_right(tvm_wrap_sub(both0, low0), 8 - doubled);
        both1 = tvm_shift_right(tvm_wrap_sub(both1, low1), 8 - doubled);
        const int32_t factor = 1 << doubled;
        const int32_t *how = alike ? first : p;
        const int32_t *next = tvm_finish_1_dsp(gemm, how, low0 * factor, form, limited, to);
        next = tvm_finish_1_dsp(gemm, alike ? first : next, both0, form, limited, to + 1);
        next = tvm_finish_1_dsp(gemm, alike ? first : next, low1 * factor, form, limited, to + 2);
        next = tvm_finish_1_dsp(gemm, alike ? first : next, both1, form, limited, to + 3);
        p = alike ? p : next;
        if (channels < 4) {
            for (int32_t i = 0; i < channels; i++) {
                result[i] = spare[i];
                TVM_KEEP_LOOP();
            }
        }
        result += 4;
    }
}

#endif
