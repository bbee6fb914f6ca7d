/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_gemm_dsp.h - matrix products of 8-bit numbers on cores with the DSP extension. Not for use by a
 * firmware.
 *
 * Inputs are expanded to 16 bits, four neighbours a, b, c, d as the words (a, c) and (b, d): what SXTB16 and
 * SXTB16 with ROR #8 give. Weights of two channels share a word of two 16-bit numbers 256 * w1 + w0, for two
 * inputs. So one SMLAD adds up 256 * sum1 + sum0, another one, with the lower bytes alone, sum0; the
 * difference is 256 * sum1 as long as it stays within 24 bits, which is checked when the model is compiled.
 */
#ifndef TVM_GEMM_DSP_H
#define TVM_GEMM_DSP_H

#include "tvm_simd_dsp.h"

struct tvm_gemm_dsp;

/* Computes all channels at two positions. Inputs of the first are at `segments[i] + start` for each segment,
 * those of the second some words behind. The outputs may be the same if the inputs are. */
typedef void (*tvm_gemm_pair_dsp)(const struct tvm_gemm_dsp *gemm, const int32_t *const *segments,
                                  int32_t start, int8_t *output0, int8_t *output1);

struct tvm_gemm_dsp {
    tvm_gemm_pair_dsp pair;
    const int32_t *weights;    /* by four channels: segments * length words */
    const int32_t *parameters; /* by four channels: see below */
    int32_t segments;          /* pieces of the inputs of one position: rows of the kernel */
    int32_t length;            /* words of weights for one segment and four channels: twice those of inputs */
    int32_t channels;          /* of the output */
    int32_t low, high;         /* least and largest output */
    const struct tvm_rescaling_s8 *how; /* for TVM_ANY */
};

/* How sums become outputs; the words behind the biases b0, 256 * b1 + b0, b2, 256 * b3 + b2:
 *   0 and more: multiplier and addend of each channel; multiplied, added, shifted by this much;
 *   TVM_DOUBLE: multiplier, addend and shift of each channel; rounded twice;
 *   TVM_ANY: none; by `how`. */
enum { TVM_DOUBLE = -1, TVM_ANY = -2 };

/* What follows the sum of a channel. */
struct tvm_form_dsp {
    int32_t multiplier, addend, shift;
};

TVM_INLINE struct tvm_form_dsp tvm_next_form_dsp(const int32_t **parameters, const int32_t form)
{
    const int32_t *p = *parameters;
    struct tvm_form_dsp how = {p[0], p[1], form};

    if (form == TVM_DOUBLE) {
        how.shift = p[2];
    }
    *parameters = p + (form == TVM_DOUBLE ? 3 : 2);
    return how;
}

/* The output for a sum, doubled under TVM_DOUBLE; limited to [low, high] or, if not `limited`, to int8_t. */
TVM_INLINE int32_t tvm_output_dsp(const struct tvm_form_dsp *how, int32_t sum, const int32_t form,
                                  const bool limited, int32_t low, int32_t high)
{
    int32_t value;

    if (form >= 0) {
        value = tvm_scale(sum, how->multiplier, how->addend);
        return limited ? tvm_limit_s8(tvm_shift_right(value, form), low, high)
                       : tvm_saturate_shifted(value, form);
    } else {
        value = tvm_multiply_high_rounded(sum, how->multiplier);
        value = tvm_shift_right(value + tvm_shift_right(value, 31) + how->addend, how->shift);
    }
    return limited ? tvm_limit_s8(value, low, high) : tvm_saturate_shifted(value, 0);
}

/* The outputs of one channel at both positions. */
TVM_INLINE const int32_t *tvm_finish_2_dsp(const struct tvm_gemm_dsp *gemm, const int32_t *p, int32_t sum0,
                                           int32_t sum1, const int32_t form, const bool limited,
                                           int8_t *output0, int8_t *output1)
{
    const struct tvm_form_dsp how = tvm_next_form_dsp(&p, form);
    const int32_t value0 = tvm_output_dsp(&how, sum0, form, limited, gemm->low, gemm->high);
    const int32_t value1 = tvm_output_dsp(&how, sum1, form, limited, gemm->low, gemm->high);

    *output0 = (int8_t)value0;
    *output1 = (int8_t)value1;
    return p;
}

/* The outputs of up to four channels from `channel` on, by `how`. */
void tvm_finish_any_dsp(const struct tvm_rescaling_s8 *how, const int32_t *sums, int32_t channel,
                        int32_t count, int8_t *output);

/* All passes over one segment: `unroll` words of inputs at each position with the weights of four channels, 16
 * products in a step of 14 instructions and 15 cycles. Loads side by side take a cycle each, the first one two;
 * the last step of a pass, at offset 0, moves x and w on. In one piece, because GCC spills or moves sums around
 * otherwise. All 14 registers are in use: TVM_NO_ASM for code that keeps one of them for itself, as GCC does
 * where it has loops of Helium. */
#if TVM_DSP && defined(__OPTIMIZE__) && !defined(__clang__) && !defined(__ARM_FEATURE_MVE) && \
    !defined(__PIC__) && !defined(TVM_NO_ASM)
#define TVM_GEMM_ASM 1
/* clang-format off */
#define TVM_STEP_PRODUCTS       \
    "smlad r1, r8, r10, r1\n\t" \
    "smlad r5, r9, r10, r5\n\t" \
    "sxtb16 r10, r10\n\t"       \
    "smlad r3, r8, r11, r3\n\t" \
    "smlad r7, r9, r11, r7\n\t" \
    "sxtb16 r11, r11\n\t"       \
    "smlad r0, r8, r10, r0\n\t" \
    "smlad r4, r9, r10, r4\n\t" \
    "smlad r2, r8, r11, r2\n\t" \
    "smlad r6, r9, r11, r6\n\t"
#define TVM_STEP_DSP(offset)                                        \
    ".if %c[unroll] > " #offset "\n\t"                              \
    "ldr r9, [r12, #4 * (" #offset " * %c[step] + %c[second])]\n\t" \
    "ldr r8, [r12, #4 * " #offset " * %c[step]]\n\t"                \
    "ldr r11, [lr, #8 * " #offset " + 4]\n\t"                       \
    "ldr r10, [lr, #8 * " #offset "]\n\t"                           \
    TVM_STEP_PRODUCTS                                               \
    ".endif\n\t"
#define TVM_PASSES_DSP()                                                                    \
    do {                                                                                    \
        register int32_t low00_ __asm__("r0") = low00;                                      \
        register int32_t both00_ __asm__("r1") = both00;                                    \
        register int32_t low10_ __asm__("r2") = low10;                                      \
        register int32_t both10_ __asm__("r3") = both10;                                    \
        register int32_t low01_ __asm__("r4") = low01;                                      \
        register int32_t both01_ __asm__("r5") = both01;                                    \
        register int32_t low11_ __asm__("r6") = low11;                                      \
        register int32_t both11_ __asm__("r7") = both11;                                    \
        register const int32_t *x_ __asm__("r12") = x;                                      \
        register const int32_t *w_ __asm__("lr") = w;                                       \
        __asm__(                                                                            \
            "1:\n\t"                                                                        \
            TVM_STEP_DSP(7) TVM_STEP_DSP(6) TVM_STEP_DSP(5) TVM_STEP_DSP(4)                 \
            TVM_STEP_DSP(3) TVM_STEP_DSP(2) TVM_STEP_DSP(1)                                 \
            "ldr r9, [r12, #4 * %c[second]]\n\t"                                            \
            "ldr r8, [r12], #4 * %c[unroll] * %c[step]\n\t"                                 \
            "ldr r11, [lr, #4]\n\t"                                                         \
            "ldr r10, [lr], #8 * %c[unroll]\n\t"                                            \
            TVM_STEP_PRODUCTS                                                               \
            ".if !%c[once]\n\t"                                                             \
            "ldr r10, %[end]\n\t"                                                           \
            "cmp lr, r10\n\t"                                                               \
            "bne 1b\n\t"                                                                    \
            ".endif"                                                                        \
            : "+r"(low00_), "+r"(both00_), "+r"(low10_), "+r"(both10_), "+r"(low01_),       \
              "+r"(both01_), "+r"(low11_), "+r"(both11_), "+r"(x_), "+r"(w_)                \
            : [end] "m"(end), [unroll] "i"(unroll), [step] "i"(step), [second] "i"(second), \
              [once] "i"(once)                                                              \
            : "r8", "r9", "r10", "r11", "cc", "memory");                                    \
        low00 = low00_;                                                                     \
        both00 = both00_;                                                                   \
        low10 = low10_;                                                                     \
        both10 = both10_;                                                                   \
        low01 = low01_;                                                                     \
        both01 = both01_;                                                                   \
        low11 = low11_;                                                                     \
        both11 = both11_;                                                                   \
        w = w_;                                                                             \
    } while (0)
/* clang-format on */
#else
#define TVM_GEMM_ASM 0
#define TVM_PASSES_DSP()                             \
    do {                                             \
        TVM_UNROLL                                   \
        for (int32_t i = 0; i < unroll; i++) {       \
            const int32_t x0 = x[i * step];          \
            const int32_t x1 = x[i * step + second]; \
            int32_t u = w[2 * i];                    \
            int32_t v = w[2 * i + 1];                \
            both00 = TVM_SMLAD(x0, u, both00);       \
            both01 = TVM_SMLAD(x1, u, both01);       \
            u = TVM_SXTB16(u);                       \
            both10 = TVM_SMLAD(x0, v, both10);       \
            both11 = TVM_SMLAD(x1, v, both11);       \
            v = TVM_SXTB16(v);                       \
            low00 = TVM_SMLAD(x0, u, low00);         \
            low01 = TVM_SMLAD(x1, u, low01);         \
            low10 = TVM_SMLAD(x0, v, low10);         \
            low11 = TVM_SMLAD(x1, v, low11);         \
        }                                            \
        x += step * unroll;                          \
        w += 2 * unroll;                             \
    } while (!once && w != end)
#endif

/* What a block is declared with. */
#if TVM_GEMM_ASM
#define TVM_BLOCK_DSP static __attribute__((noinline, optimize("omit-frame-pointer", "O2")))
#else
#define TVM_BLOCK_DSP static TVM_NOINLINE
#endif

/* The body of a tvm_gemm_pair_dsp for known numbers: the distance of the two positions in words, how many
 * words of inputs a pass of the loop takes (at most 8), whether that is all of them, whether the channels are
 * a multiple of four, and the form of the outputs, not TVM_ANY. With distance 1 the words of both positions alternate in
 * one segment; only then may one pass be all. */
TVM_INLINE void tvm_gemm_2x4_dsp(const struct tvm_gemm_dsp *gemm, const int32_t *const *segments,
                                 int32_t start, int8_t *output0, int8_t *output1, const int32_t second,
                                 const int32_t unroll, const bool once, const bool whole, const int32_t form,
                                 const bool limited)
{
    const int32_t step = second == 1 ? 2 : 1;
    const int32_t doubled = form == TVM_DOUBLE ? 1 : 0;
    const int32_t *w = gemm->weights;
    const int32_t *p = gemm->parameters;
    const int32_t *column = segments[0] + start;
    const int32_t length = gemm->length;
    const int32_t *const *const segments_end = segments + gemm->segments;
    const int32_t *const *volatile segment;
    const int8_t *const last = output0 + gemm->channels;
    const ptrdiff_t apart = output1 - output0;
    int8_t *to0 = output0;
    int8_t spare[8];

    do {
        int32_t low00 = p[0];
        int32_t both00 = p[1];
        int32_t low10 = p[2];
        int32_t both10 = p[3];
        int32_t low01 = low00;
        int32_t both01 = both00;
        int32_t low11 = low10;
        int32_t both11 = both10;

        /* Away while all registers are taken; compilers choose worse themselves. */
        const int32_t *const volatile kept_p = p + 4;
        int8_t *const volatile kept0 = to0;
        int8_t *to1;
        int32_t valid;

        segment = segments;
        do {
            const int32_t *x = second == 1 ? column : *segment++ + start;
            const int32_t *const end = w + length;
            TVM_PASSES_DSP();
        } while (second != 1 && segment != segments_end);
        p = kept_p;
        to0 = kept0;
        to1 = to0 + apart;
        both00 = tvm_shift_right(tvm_wrap_sub(both00, low00), 8 - doubled);
        both01 = tvm_shift_right(tvm_wrap_sub(both01, low01), 8 - doubled);
        both10 = tvm_shift_right(tvm_wrap_sub(both10, low10), 8 - doubled);
        both11 = tvm_shift_right(tvm_wrap_sub(both11, low11), 8 - doubled);
        valid = whole || last - to0 >= 4 ? 4 : (int32_t)(last - to0);
        const int32_t factor = 1 << doubled;
        int8_t *const four0 = valid < 4 ? spare : to0;
        int8_t *const four1 = valid < 4 ? spare + 4 : to1;
        p = tvm_finish_2_dsp(gemm, p, low00 * factor, low01 * factor, form, limited, four0, four1);
        p = tvm_finish_2_dsp(gemm, p, both00, both01, form, limited, four0 + 1, four1 + 1);
        p = tvm_finish_2_dsp(gemm, p, low10 * factor, low11 * factor, form, limited, four0 + 2,
                             four1 + 2);
        p = tvm_finish_2_dsp(gemm, p, both10, both11, form, limited, four0 + 3, four1 + 3);
        for (int32_t i = 0; valid < 4 && i < valid; i++) {
            to0[i] = spare[i];
            to1[i] = spare[i + 4];
            TVM_KEEP_LOOP();
        }
        to0 += valid;
    } while (to0 != last);
}

#endif
