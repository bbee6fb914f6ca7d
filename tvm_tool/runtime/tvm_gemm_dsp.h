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

/* The outputs of one channel at both positions, and at one. */
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

TVM_INLINE const int32_t *tvm_finish_1_dsp(const struct tvm_gemm_dsp *gemm, const int32_t *p, int32_t sum,
                                           const int32_t form, const bool limited, int8_t *output)
{
    const struct tvm_form_dsp how = tvm_next_form_dsp(&p, form);

    *output = (int8_t)tvm_output_dsp(&how, sum, form, limited, gemm->low, gemm->high);
    return p;
}

/* The outputs of up to four channels from `channel` on, by `how`. */
void tvm_finish_any_dsp(const struct tvm_rescaling_s8 *how, const int32_t *sums, int32_t channel,
                        int32_t count, int8_t *output);

/* Two words of inputs at each position with the weights of four channels: 16 products in 14 instructions and
 * 15 cycles. GCC spills sums that it could keep in registers unless it gets the step as one piece; loads side
 * by side take a cycle each, the first one two. All 14 registers are in use: TVM_NO_ASM for code that keeps
 * one of them for itself, as GCC does where it has loops of Helium. */
#if TVM_DSP && defined(__OPTIMIZE__) && !defined(__clang__) && !defined(__ARM_FEATURE_MVE) && \
    !defined(__PIC__) && !defined(TVM_NO_ASM)
#define TVM_GEMM_ASM 1
#define TVM_STEP_DSP(offset)                                                                              \
    do {                                                                                                  \
        int32_t x0, x1, u, v;                                                                             \
        __asm__(                                                                                          \
            "ldr %[x1], [%[x], %[second]]\n\t"                                                            \
            "ldr %[x0], [%[x], %[first]]\n\t"                                                             \
            "ldr %[u], [%[w], %[weights0]]\n\t"                                                           \
            "ldr %[v], [%[w], %[weights1]]\n\t"                                                           \
            "smlad %[both00], %[x0], %[u], %[both00]\n\t"                                                 \
            "smlad %[both01], %[x1], %[u], %[both01]\n\t"                                                 \
            "sxtb16 %[u], %[u]\n\t"                                                                       \
            "smlad %[both10], %[x0], %[v], %[both10]\n\t"                                                 \
            "smlad %[both11], %[x1], %[v], %[both11]\n\t"                                                 \
            "sxtb16 %[v], %[v]\n\t"                                                                       \
            "smlad %[low00], %[x0], %[u], %[low00]\n\t"                                                   \
            "smlad %[low01], %[x1], %[u], %[low01]\n\t"                                                   \
            "smlad %[low10], %[x0], %[v], %[low10]\n\t"                                                   \
            "smlad %[low11], %[x1], %[v], %[low11]"                                                       \
            : [both00] "+r"(both00), [both01] "+r"(both01), [both10] "+r"(both10), [both11] "+r"(both11), \
              [low00] "+r"(low00), [low01] "+r"(low01), [low10] "+r"(low10), [low11] "+r"(low11),         \
              [x0] "=&r"(x0), [x1] "=&r"(x1), [u] "=&r"(u), [v] "=&r"(v)                                  \
            : [x] "r"(x), [w] "r"(w), [first] "i"(4 * (offset)*step),                                     \
              [second] "i"(4 * ((offset)*step + second)), [weights0] "i"(8 * (offset)),                   \
              [weights1] "i"(8 * (offset) + 4)                                                            \
            : "memory");                                                                                  \
    } while (0)
#else
#define TVM_GEMM_ASM 0
#define TVM_STEP_DSP(offset)                          \
    do {                                              \
        const int32_t x0 = x[(offset)*step];          \
        const int32_t x1 = x[(offset)*step + second]; \
        int32_t u = w[2 * (offset)];                  \
        int32_t v = w[2 * (offset) + 1];              \
        both00 = TVM_SMLAD(x0, u, both00);            \
        both01 = TVM_SMLAD(x1, u, both01);            \
        u = TVM_SXTB16(u);                            \
        both10 = TVM_SMLAD(x0, v, both10);            \
        both11 = TVM_SMLAD(x1, v, both11);            \
        v = TVM_SXTB16(v);                            \
        low00 = TVM_SMLAD(x0, u, low00);              \
        low01 = TVM_SMLAD(x1, u, low01);              \
        low10 = TVM_SMLAD(x0, v, low10);              \
        low11 = TVM_SMLAD(x1, v, low11);              \
    } while (0)
#endif

/* What a block is declared with. */
#if TVM_GEMM_ASM
#define TVM_BLOCK_DSP static __attribute__((noinline, optimize("omit-frame-pointer", "O2")))
#else
#define TVM_BLOCK_DSP static TVM_NOINLINE
#endif

/* The body of a tvm_gemm_pair_dsp for known numbers: the distance of the two positions in words, how many
 * words of inputs a pass of the loop takes (at most 8), and the form of the outputs, not TVM_ANY. With distance
 * 1 the words of both positions alternate in one segment. */
TVM_INLINE void tvm_gemm_2x4_dsp(const struct tvm_gemm_dsp *gemm, const int32_t *const *segments,
                                 int32_t start, int8_t *output0, int8_t *output1, const int32_t second,
                                 const int32_t unroll, const int32_t form, const bool limited)
{
    const int32_t step = second == 1 ? 2 : 1;
    const int32_t doubled = form == TVM_DOUBLE ? 1 : 0;
    const int32_t *w = gemm->weights;
    const int32_t *p = gemm->parameters;
    const int32_t *column = segments[0] + start;
    const int32_t length = gemm->length;
    const int32_t count = second == 1 ? 1 : gemm->segments;
    int32_t channels = gemm->channels;
    int8_t *to0 = output0;
    int8_t *to1 = output1;
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

        if (channels < 4) {
            to0 = spare;
            to1 = spare + 4;
        }
        p += 4;
        for (int32_t segment = 0; segment < count; segment++) {
            const int32_t *x = second == 1 ? column : segments[segment] + start;
            /* In memory, where it costs a load for each pass: all registers are taken. */
            const int32_t *volatile end = w + length;
            do {
                TVM_STEP_DSP(0);
                if (unroll > 1) {
                    TVM_STEP_DSP(1);
                }
                if (unroll > 2) {
                    TVM_STEP_DSP(2);
                }
                if (unroll > 3) {
                    TVM_STEP_DSP(3);
                }
                if (unroll > 4) {
                    TVM_STEP_DSP(4);
                }
                if (unroll > 5) {
                    TVM_STEP_DSP(5);
                }
                if (unroll > 6) {
                    TVM_STEP_DSP(6);
                }
                if (unroll > 7) {
                    TVM_STEP_DSP(7);
                }
                x += step * unroll;
                w += 2 * unroll;
            } while (w != end);
        }
        both00 = tvm_shift_right(tvm_wrap_sub(both00, low00), 8 - doubled);
        both01 = tvm_shift_right(tvm_wrap_sub(both01, low01), 8 - doubled);
        both10 = tvm_shift_right(tvm_wrap_sub(both10, low10), 8 - doubled);
        both11 = tvm_shift_right(tvm_wrap_sub(both11, low11), 8 - doubled);
        p = tvm_finish_2_dsp(gemm, p, low00 * (1 << doubled), low01 * (1 << doubled), form, limited, to0,
                             to1);
        p = tvm_finish_2_dsp(gemm, p, both00, both01, form, limited, to0 + 1, to1 + 1);
        p = tvm_finish_2_dsp(gemm, p, low10 * (1 << doubled), low11 * (1 << doubled), form, limited, to0 + 2,
                             to1 + 2);
        p = tvm_finish_2_dsp(gemm, p, both10, both11, form, limited, to0 + 3, to1 + 3);
        to0 += 4;
        to1 += 4;
        channels -= 4;
    } while (channels > 0);
    for (int32_t i = gemm->channels & ~3; i < gemm->channels; i++) {
        output0[i] = spare[i & 3];
        output1[i] = spare[(i & 3) + 4];
        TVM_KEEP_LOOP();
    }
}

#endif
