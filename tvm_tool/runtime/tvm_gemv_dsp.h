/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_gemv_dsp.h - the products of tvm_gemm_dsp.h for one position. Not for use by a firmware.
 */
#ifndef TVM_GEMV_DSP_H
#define TVM_GEMV_DSP_H

#include "tvm_expand_dsp.h"

/* How the inputs come: as words of two, or as bytes, at a multiple of 4 or at any address. */
enum { TVM_WORDS, TVM_BYTES, TVM_LOOSE_BYTES };

/* Eight inputs are a pass; LDM and LDRD take fewer cycles than single loads, and compilers do not find them. */
#if TVM_DSP && defined(__OPTIMIZE__) && !defined(TVM_NO_ASM)
/* Four inputs, the words `even` and `odd`, with the weights of four channels. */
#define TVM_GEMV_PRODUCTS(even, odd)        \
    "smlad %[b0], " even ", r2, %[b0]\n\t"  \
    "smlad %[b1], " even ", r3, %[b1]\n\t"  \
    "sxtb16 r2, r2\n\t"                     \
    "sxtb16 r3, r3\n\t"                     \
    "smlad %[b0], " odd ", r8, %[b0]\n\t"   \
    "smlad %[b1], " odd ", r9, %[b1]\n\t"   \
    "sxtb16 r8, r8\n\t"                     \
    "sxtb16 r9, r9\n\t"                     \
    "smlad %[l0], " even ", r2, %[l0]\n\t"  \
    "smlad %[l1], " even ", r3, %[l1]\n\t"  \
    "smlad %[l0], " odd ", r8, %[l0]\n\t"   \
    "smlad %[l1], " odd ", r9, %[l1]\n\t"
#define TVM_GEMV_WEIGHTS "ldm %[w]!, {r2, r3, r8, r9}\n\t"
#define TVM_GEMV_SPLIT(even, odd)            \
    "sxtb16 " odd ", " even ", ror #8\n\t"   \
    "sxtb16 " even ", " even "\n\t"
#define TVM_GEMV_WORDS                \
    TVM_GEMV_WEIGHTS                  \
    "ldrd r10, r11, [%[x]], #8\n\t"   \
    TVM_GEMV_PRODUCTS("r10", "r11")
#define TVM_GEMV_LOOSE_BYTES          \
    TVM_GEMV_WEIGHTS                  \
    "ldr r10, [%[x]], #4\n\t"         \
    TVM_GEMV_SPLIT("r10", "r11")      \
    TVM_GEMV_PRODUCTS("r10", "r11")
#define TVM_GEMV_BYTES                \
    TVM_GEMV_WEIGHTS                  \
    "ldrd r10, r11, [%[x]], #8\n\t"   \
    TVM_GEMV_SPLIT("r10", "r12")      \
    TVM_GEMV_PRODUCTS("r10", "r12")   \
    TVM_GEMV_WEIGHTS                  \
    TVM_GEMV_SPLIT("r11", "r12")      \
    TVM_GEMV_PRODUCTS("r11", "r12")
#define TVM_GEMV_ASM(text, ...)                                                                          \
    __asm__ volatile(                                                                                    \
        text                                                                                             \
        : [w] "+r"(w), [x] "+r"(x), [l0] "+r"(low0), [b0] "+r"(both0), [l1] "+r"(low1), [b1] "+r"(both1) \
        :                                                                                                \
        : "r2", "r3", "r8", "r9", "r10", "r11", __VA_ARGS__)
#define TVM_GEMV_PASS()                                                        \
    do {                                                                       \
        if (kind == TVM_WORDS) {                                               \
            TVM_GEMV_ASM(TVM_GEMV_WORDS TVM_GEMV_WORDS, "memory");             \
        } else if (kind == TVM_BYTES) {                                        \
            TVM_GEMV_ASM(TVM_GEMV_BYTES, "r12", "memory");                     \
        } else {                                                               \
            TVM_GEMV_ASM(TVM_GEMV_LOOSE_BYTES TVM_GEMV_LOOSE_BYTES, "memory"); \
        }                                                                      \
    } while (0)
#else
#define TVM_GEMV_PASS()                                                                   \
    do {                                                                                  \
        for (int32_t i = 0; i < 2; i++) {                                                 \
            const int32_t bytes = kind == TVM_WORDS ? 0 : tvm_load_bytes(x);              \
            const int32_t even = kind == TVM_WORDS ? tvm_word_at(x, 0) : TVM_SXTB16(bytes); \
            const int32_t odd = kind == TVM_WORDS ? tvm_word_at(x, 1) : tvm_odd_bytes(bytes); \
            both0 = TVM_SMLAD(odd, w[2], TVM_SMLAD(even, w[0], both0));                   \
            both1 = TVM_SMLAD(odd, w[3], TVM_SMLAD(even, w[1], both1));                   \
            low0 = TVM_SMLAD(odd, TVM_SXTB16(w[2]), TVM_SMLAD(even, TVM_SXTB16(w[0]), low0)); \
            low1 = TVM_SMLAD(odd, TVM_SXTB16(w[3]), TVM_SMLAD(even, TVM_SXTB16(w[1]), low1)); \
            x += kind == TVM_WORDS ? 8 : 4;                                               \
            w += 4;                                                                       \
        }                                                                                 \
    } while (0)
#endif

/* GCC would gather four stores of a byte in a word, with more instructions. */
#ifdef __GNUC__
#define TVM_STORES_APART() __asm__ volatile("" ::: "memory")
#else
#define TVM_STORES_APART() ((void)0)
#endif

TVM_INLINE int32_t tvm_word_at(const int8_t *words, int32_t index)
{
    return ((const int32_t *)(const void *)words)[index];
}

/* All channels at one position whose inputs begin at `inputs`, eight for each four words of weights of a channel
 * pair. `alike`: what follows the biases is the same for all channels and stands once, before them. The form is
 * not TVM_ANY. `whole`: the channels are a multiple of 4. */
TVM_INLINE void tvm_gemv_1x4_dsp(const struct tvm_gemm_dsp *gemm, const int8_t *inputs, int8_t *output,
                                 const int32_t kind, const int32_t unroll, const bool whole, const bool alike,
                                 const int32_t form, const bool limited)
{
    const int32_t doubled = form == TVM_DOUBLE ? 1 : 0;
    const int32_t factor = 1 << doubled;
    const int32_t *w = gemm->weights;
    const int32_t *p = gemm->parameters;
    const int32_t *const first = p;
    int32_t left = gemm->channels;
    int8_t spare[4];

    if (alike) {
        p += form == TVM_DOUBLE ? 3 : 2;
    }
    do {
        const int8_t *x = inputs;
        const int32_t *end = w + gemm->length;
        int8_t *to = !whole && left < 4 ? spare : output;
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
        const int32_t sums[4] = {low0 * factor, both0, low1 * factor, both1};
        const int32_t *next = alike ? first : p;
        struct tvm_form_dsp how = tvm_next_form_dsp(&next, form);
        TVM_UNROLL
        for (int32_t i = 0; i < 4; i++) {
            to[i] = (int8_t)tvm_output_dsp(&how, sums[i], form, limited, gemm->low, gemm->high);
            TVM_STORES_APART();
            if (!alike && i < 3) {
                how = tvm_next_form_dsp(&next, form);
            }
        }
        p = alike ? p : next;
        if (!whole && left < 4) {
            for (int32_t i = 0; i < left; i++) {
                output[i] = spare[i];
                TVM_KEEP_LOOP();
            }
        }
        output += 4;
        left -= 4;
    } while (whole ? left != 0 : left > 0);
}

/* The same with inputs that are expanded before. Scratch: gemm->length / 2 words, a multiple of 4 * unroll; it
 * may begin where the inputs do, and so may the output if the scratch does not. */
TVM_INLINE void tvm_gemv_1x4_expanded_dsp(const struct tvm_gemm_dsp *gemm, int32_t depth, const int8_t *input,
                                          int8_t *output, void *scratch, const int32_t unroll,
                                          const bool whole, const bool alike, const int32_t form,
                                          const bool limited)
{
    tvm_expand_last_first((int32_t *)scratch, input, depth);
    tvm_gemv_1x4_dsp(gemm, (const int8_t *)scratch, output, TVM_WORDS, unroll, whole, alike, form, limited);
}

#endif
