/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_gemm_mve.h - matrix products of 8-bit numbers on cores with Helium. Not for use by a firmware.
 *
 * Sixteen inputs are a step, multiplied with the weights of a channel and added up by one instruction. Inputs
 * are read where they are; the last step of a depth that is no multiple of 16 overlaps the one before it,
 * with weights of zero for what it reads again.
 */
#ifndef TVM_GEMM_MVE_H
#define TVM_GEMM_MVE_H

#include "tvm_simd_mve.h"

struct tvm_gemm_mve;

/* Computes all channels at two positions, whose inputs and outputs may be the same. */
typedef void (*tvm_gemm_pair_mve)(const struct tvm_gemm_mve *gemm, const int8_t *input0, const int8_t *input1,
                                  int8_t *output0, int8_t *output1);

struct tvm_gemm_mve {
    tvm_gemm_pair_mve pair;
    const int8_t *weights;              /* by two of four channels, 0 and 2, 1 and 3: [steps][2][16] */
    const int32_t *parameters;          /* by four channels: see below */
    int32_t depth;                      /* inputs of a position */
    int32_t channels;                   /* of the output */
    int32_t low, high;                  /* least and largest output */
    const struct tvm_rescaling_s8 *how; /* for TVM_ANY_MVE */
};

/* How sums become outputs; four words each, for four channels:
 *   0 and more: biases, multipliers, addends; multiplied, added, shifted by this much, half up;
 *   TVM_DOUBLE_MVE: biases, multipliers, addends, shifts to the right, negative; rounded twice;
 *   TVM_ANY_MVE: biases; by `how`. */
enum { TVM_DOUBLE_MVE = -1, TVM_ANY_MVE = -2 };

#define TVM_FORM_WORDS_MVE(form) ((form) >= 0 ? 12 : (form) == TVM_DOUBLE_MVE ? 16 : 4)

/* Sums and what follows them, up to the last shift under a form of 0 and more; `words` are those behind the
 * biases. */
TVM_INLINE tvm_s32x4 tvm_scale_words(tvm_s32x4 sums, const int32_t *biases, const int32_t *words,
                                     const int32_t form)
{
    sums = tvm_add_words(sums, tvm_load_words(biases));
    if (form >= 0) {
        sums = tvm_multiply_high_words(sums, tvm_load_words(words));
        return tvm_add_words(sums, tvm_load_words(words + 4));
    }
    sums = tvm_double_multiply_words(sums, tvm_load_words(words));
    sums = tvm_add_words(tvm_add_words(sums, tvm_signs(sums)), tvm_load_words(words + 4));
    return tvm_shift_words(sums, tvm_load_words(words + 8));
}

TVM_INLINE tvm_s8x16 tvm_limit_bytes(tvm_s8x16 x, int32_t low, int32_t high)
{
    return tvm_least_bytes(tvm_largest_bytes(x, tvm_repeat_byte(low)), tvm_repeat_byte(high));
}

/* The outputs of `count` channels from `channel` on, by `how`. */
void tvm_finish_any_mve(const struct tvm_rescaling_s8 *how, tvm_s32x4 sums, int32_t channel, int32_t count,
                        int8_t *output);

/* The outputs of four channels, or, if not `whole`, as many as are left, at two positions. */
TVM_INLINE void tvm_finish_2x4_mve(const struct tvm_gemm_mve *gemm, tvm_s32x4 sums0, tvm_s32x4 sums1,
                                   const int32_t *parameters, int32_t left, int8_t *output0, int8_t *output1,
                                   const bool whole, const int32_t form, const bool limited)
{
    tvm_s8x16 bytes;

    if (form == TVM_ANY_MVE) {
        const int32_t count = left < 4 ? left : 4;
        const tvm_s32x4 biases = tvm_load_words(parameters);
        const int32_t channel = gemm->channels - left;
        tvm_finish_any_mve(gemm->how, tvm_add_words(sums0, biases), channel, count, output0);
        tvm_finish_any_mve(gemm->how, tvm_add_words(sums1, biases), channel, count, output1);
        return;
    }
    sums0 = tvm_scale_words(sums0, parameters, parameters + 4, form);
    sums1 = tvm_scale_words(sums1, parameters, parameters + 4, form);
    bytes = tvm_saturate_two(sums0, sums1, form > 0 ? form : 0);
    if (limited) {
        bytes = tvm_limit_bytes(bytes, gemm->low, gemm->high);
    }
    if (whole || left >= 4) {
        tvm_store_each_4(output0, bytes);
        tvm_store_each_4(output1, tvm_two_bytes_down(bytes));
    } else {
        tvm_store_first_4(output0, bytes, left);
        tvm_store_first_4(output1, tvm_two_bytes_down(bytes), left);
    }
}

/* Step `index` of `depth` inputs. */
TVM_INLINE tvm_s8x16 tvm_load_step(const int8_t *inputs, const int32_t index, const int32_t depth)
{
    if (depth < 16) {
        return tvm_load_first(inputs, depth);
    }
    return tvm_load_16(inputs + (16 * index + 16 <= depth ? 16 * index : depth - 16));
}

/* Sums of two channels at two positions: channel, position. */
struct tvm_sums_mve {
    int32_t sum00, sum01, sum10, sum11;
};

/* 64 products in 8 instructions, loads and products in turns, as the core overlaps them. Compilers order them
 * otherwise, spill and copy; TVM_NO_ASM for code that reserves a register. */
#if defined(__ARM_FEATURE_MVE) && defined(__OPTIMIZE__) && !defined(TVM_NO_ASM)
#define TVM_GEMM_ASM_MVE 1
#define TVM_STEP_MVE(multiply, from, second) \
    "vldrb.8 q0, [%[w]], #16\n\t"            \
    "vldrb.8 q1, " from "\n\t" multiply      \
    " %[sum00], q0, q1\n\t"                  \
    "vldrb.8 q2, [%[w]], #16\n\t" multiply   \
    " %[sum10], q2, q1\n\t"                  \
    "vldrb.8 q3, " second "\n\t" multiply " %[sum01], q0, q3\n\t" multiply " %[sum11], q2, q3\n\t"
#define TVM_NEXT_STEP_MVE(multiply) TVM_STEP_MVE(multiply, "[%[x0]], #16", "[%[x1]], #16")
#else
#define TVM_GEMM_ASM_MVE 0
#endif

/* All steps of a known depth: no loop is left. */
TVM_INLINE struct tvm_sums_mve tvm_sum_steps(const int8_t *w, const int8_t *input0, const int8_t *input1,
                                             const int32_t depth)
{
    struct tvm_sums_mve sums = {0, 0, 0, 0};

#if TVM_GEMM_ASM_MVE
    if (depth > 16) {
        const int32_t middle = (depth - 17) / 16;
        __asm__(
            TVM_NEXT_STEP_MVE("vmladav.s8") ".rept %c[middle]\n\t" TVM_NEXT_STEP_MVE(
                "vmladava.s8") ".endr\n\t" TVM_STEP_MVE("vmladava.s8", "[%[x0], %[last]]", "[%[x1], %[last]]")
            : [w] "+r"(w), [x0] "+r"(input0), [x1] "+r"(input1), [sum00] "=&Te"(sums.sum00),
              [sum01] "=&Te"(sums.sum01), [sum10] "=&Te"(sums.sum10), [sum11] "=&Te"(sums.sum11)
            : [middle] "i"(middle), [last] "i"(depth - 16 * middle - 32)
            : "q0", "q1", "q2", "q3", "memory");
        return sums;
    }
#endif
    TVM_UNROLL_MVE
    for (int32_t i = 0; 16 * i < depth; i++) {
        const tvm_s8x16 w0 = tvm_load_16(w + 32 * i);
        const tvm_s8x16 w1 = tvm_load_16(w + 32 * i + 16);
        const tvm_s8x16 x0 = tvm_load_step(input0, i, depth);
        const tvm_s8x16 x1 = tvm_load_step(input1, i, depth);
        sums.sum00 = tvm_add_dot_16(sums.sum00, x0, w0);
        sums.sum10 = tvm_add_dot_16(sums.sum10, x0, w1);
        sums.sum01 = tvm_add_dot_16(sums.sum01, x1, w0);
        sums.sum11 = tvm_add_dot_16(sums.sum11, x1, w1);
    }
    return sums;
}

/* Inputs of at most two steps, which stay in registers. */
struct tvm_short_mve {
    tvm_s8x16 first0, first1, last0, last1; /* step, position */
};

TVM_INLINE struct tvm_short_mve tvm_load_short(const int8_t *input0, const int8_t *input1,
                                               const int32_t depth)
{
    const int32_t last = depth > 16 ? 1 : 0;
    const struct tvm_short_mve inputs = {
        tvm_load_step(input0, 0, depth),
        tvm_load_step(input1, 0, depth),
        tvm_load_step(input0, last, depth),
        tvm_load_step(input1, last, depth),
    };

    return inputs;
}

TVM_INLINE struct tvm_sums_mve tvm_sum_short(const int8_t *w, const struct tvm_short_mve *x,
                                             const int32_t depth)
{
    const tvm_s8x16 w0 = tvm_load_16(w);
    const tvm_s8x16 w1 = tvm_load_16(w + 16);
    struct tvm_sums_mve sums = {
        tvm_dot_16(x->first0, w0),
        tvm_dot_16(x->first1, w0),
        tvm_dot_16(x->first0, w1),
        tvm_dot_16(x->first1, w1),
    };

    if (depth > 16) {
        const tvm_s8x16 more0 = tvm_load_16(w + 32);
        const tvm_s8x16 more1 = tvm_load_16(w + 48);
        sums.sum00 = tvm_add_dot_16(sums.sum00, x->last0, more0);
        sums.sum01 = tvm_add_dot_16(sums.sum01, x->last1, more0);
        sums.sum10 = tvm_add_dot_16(sums.sum10, x->last0, more1);
        sums.sum11 = tvm_add_dot_16(sums.sum11, x->last1, more1);
    }
    return sums;
}

/* `passes` passes of `unroll` steps. */
TVM_INLINE struct tvm_sums_mve tvm_sum_passes(const int8_t *w, const int8_t *input0, const int8_t *input1,
                                              int32_t passes, const int32_t unroll)
{
    struct tvm_sums_mve sums = {0, 0, 0, 0};

#if TVM_GEMM_ASM_MVE
    __asm__("dls lr, %[passes]\n"
            "1:\n\t"
            ".rept %c[unroll]\n\t" TVM_NEXT_STEP_MVE("vmladava.s8") ".endr\n\t"
            "le lr, 1b"
            : [w] "+r"(w), [x0] "+r"(input0), [x1] "+r"(input1), [sum00] "+Te"(sums.sum00),
              [sum01] "+Te"(sums.sum01), [sum10] "+Te"(sums.sum10), [sum11] "+Te"(sums.sum11)
            : [passes] "r"(passes), [unroll] "i"(unroll)
            : "lr", "q0", "q1", "q2", "q3", "memory");
#else
    for (int32_t steps = passes * unroll; steps > 0; steps--) {
        const tvm_s8x16 w0 = tvm_load_16(w);
        const tvm_s8x16 w1 = tvm_load_16(w + 16);
        const tvm_s8x16 x0 = tvm_load_16(input0);
        const tvm_s8x16 x1 = tvm_load_16(input1);
        sums.sum00 = tvm_add_dot_16(sums.sum00, x0, w0);
        sums.sum10 = tvm_add_dot_16(sums.sum10, x0, w1);
        sums.sum01 = tvm_add_dot_16(sums.sum01, x1, w0);
        sums.sum11 = tvm_add_dot_16(sums.sum11, x1, w1);
        w += 32;
        input0 += 16;
        input1 += 16;
    }
#endif
    return sums;
}

/* The body of a tvm_gemm_pair_mve for known numbers: the depth, or, negative, by how many steps a pass goes
 * of a longer one that is a multiple of 16 times it; whether the channels are a multiple of four; the form of
 * the outputs. */
TVM_INLINE void tvm_gemm_2x4_mve(const struct tvm_gemm_mve *gemm, const int8_t *input0, const int8_t *input1,
                                 int8_t *output0, int8_t *output1, const int32_t depth, const bool whole,
                                 const int32_t form, const bool limited)
{
    const int32_t length = depth < 0 ? gemm->depth : (depth + 15) / 16 * 16;
    const int32_t passes = depth < 0 ? length / (-16 * depth) : 0;
    const bool is_short = depth > 0 && depth <= 32 && form != TVM_ANY_MVE;
    const int8_t *w = gemm->weights;
    const int32_t *p = gemm->parameters;
    int32_t left = gemm->channels;
    struct tvm_short_mve inputs;

    if (is_short) {
        inputs = tvm_load_short(input0, input1, depth);
    }
    do {
        const int8_t *w1 = w + 2 * length;
        struct tvm_sums_mve two = is_short    ? tvm_sum_short(w, &inputs, depth)
                                  : depth < 0 ? tvm_sum_passes(w, input0, input1, passes, -depth)
                                              : tvm_sum_steps(w, input0, input1, depth);
        tvm_s32x4 sums0 = tvm_set_even_words(two.sum00, two.sum10);
        tvm_s32x4 sums1 = tvm_set_even_words(two.sum01, two.sum11);
        two = is_short    ? tvm_sum_short(w1, &inputs, depth)
              : depth < 0 ? tvm_sum_passes(w1, input0, input1, passes, -depth)
                          : tvm_sum_steps(w1, input0, input1, depth);
        sums0 = tvm_set_odd_words(sums0, two.sum00, two.sum10);
        sums1 = tvm_set_odd_words(sums1, two.sum01, two.sum11);
        tvm_finish_2x4_mve(gemm, sums0, sums1, p, left, output0, output1, whole, form, limited);
        w += 4 * length;
        p += TVM_FORM_WORDS_MVE(form);
        output0 += 4;
        output1 += 4;
        left -= 4;
    } while (left > 0);
}

#endif
