/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_gemm_pair.h - matrix products of 8-bit numbers on cores that multiply 32-bit numbers alone: Cortex-M3,
 * RV32IM. Not for use by a firmware.
 *
 * The inputs of two positions share a word, x0 + 65536 * x1. One multiplication by a weight adds up both
 * products as long as each sum stays within 16 bits: for a run of as many inputs as the weights of the channel
 * allow, which is known when the model is compiled. A run starts at 0x8000, so that its lower sum is never
 * negative and its upper one is what stands above. At the end the total of all runs, less the upper sums, is
 * the lower sum, modulo 2^32.
 */
#ifndef TVM_GEMM_PAIR_H
#define TVM_GEMM_PAIR_H

#include "tvm_blocks_s8.h"

#if defined(__GNUC__) && !defined(__clang__) && defined(__thumb2__) && defined(__OPTIMIZE__) && \
    !defined(__PIC__) && !defined(TVM_NO_ASM)
#define TVM_ASM_PAIR 1
#else
#define TVM_ASM_PAIR 0
#endif

/* What a block is declared with. RV32: the scheduler before register allocation makes sums spill. */
#if TVM_ASM_PAIR
#define TVM_BLOCK_PAIR static __attribute__((noinline, optimize("omit-frame-pointer")))
#elif defined(__GNUC__) && !defined(__clang__) && defined(__riscv) && defined(__OPTIMIZE__)
#define TVM_BLOCK_PAIR static __attribute__((noinline, optimize("no-schedule-insns")))
#else
#define TVM_BLOCK_PAIR static TVM_NOINLINE
#endif

/* How sums become outputs; the words behind the bias of a channel:
 *   0 and more: multiplier and addend; multiplied, rounded down, added, shifted by this much;
 *   TVM_DOUBLE_PAIR: multiplier, addend and shift; rounded twice;
 *   TVM_ANY_PAIR: none; by `how`. */
enum { TVM_DOUBLE_PAIR = -1, TVM_ANY_PAIR = -2 };

/* What follows the sum of a channel. */
struct tvm_form_pair {
    int32_t multiplier, addend, shift;
    int32_t low, high;
};

/* The form at `words`; returns what stands behind it. */
TVM_INLINE const int32_t *tvm_next_form_pair(const int32_t *words, struct tvm_form_pair *how,
                                             const int32_t form)
{
    if (form == TVM_ANY_PAIR) {
        return words;
    }
    how->multiplier = words[0];
    how->addend = words[1];
    how->shift = form == TVM_DOUBLE_PAIR ? words[2] : form;
    return words + (form == TVM_DOUBLE_PAIR ? 3 : 2);
}

/* `value` within int8_t. */
TVM_INLINE int32_t tvm_saturate_pair(int32_t value)
{
#if defined(__GNUC__) && defined(__thumb2__) && defined(__ARM_FEATURE_SAT) && defined(__OPTIMIZE__)
    __asm__("ssat %0, #8, %0" : "+r"(value));
    return value;
#else
    if ((uint32_t)value + 128u > 255u) {
        value = tvm_shift_right(value, 31) ^ 127;
    }
    return value;
#endif
}

/* The output for a sum below 2^30; limited to [low, high] or, if not `limited`, to int8_t. */
TVM_INLINE int8_t tvm_output_pair(const struct tvm_form_pair *how, int32_t sum, const int32_t form,
                                  const bool limited)
{
    int32_t value;

    if (form >= 0) {
        value = (int32_t)tvm_shift_right_64((int64_t)sum * how->multiplier, 32);
        value = tvm_shift_right(value + how->addend, form);
    } else {
        const int64_t product = (int64_t)(2 * sum) * how->multiplier;
        value = (int32_t)tvm_shift_right_64(product, 32) + (int32_t)((uint32_t)product >> 31);
        value = tvm_shift_right(value + tvm_shift_right(value, 31) + how->addend, how->shift);
    }
    return (int8_t)(limited ? tvm_limit_s8(value, how->low, how->high) : tvm_saturate_pair(value));
}

struct tvm_gemm_pair;

/* The sums of a channel at four positions. `columns` holds the inputs: for each weight the words of positions
 * 0 and 1, 2 and 3. */
typedef void (*tvm_products_pair)(const uint32_t *columns, const uint32_t *end, const int8_t *weights,
                                  const int32_t *parameters, int32_t *sums);

/* All channels at four positions; position i goes to output + places[i]. */
typedef void (*tvm_gemm_four_pair)(const struct tvm_gemm_pair *gemm, const uint32_t *columns, int8_t *output,
                                   const int32_t *places);

/* Weights are [channels][length]; `length` is a multiple of 8. Parameters of each channel: the run, 8, 4, 3, 2
 * or 1; the bias; 65537 * bias - 32768 * runs; then what the form needs. */
struct tvm_gemm_pair {
    tvm_gemm_four_pair four;
    tvm_products_pair products;
    const int8_t *weights;
    const int32_t *parameters;
    int32_t length;                     /* weights of a channel */
    int32_t channels;                   /* of the output */
    int32_t low, high;                  /* least and largest output */
    const struct tvm_rescaling_s8 *how; /* for TVM_ANY_PAIR */
};

/* Whole passes for each run: LDM takes four words at once, which compilers do not find.
 * All 14 registers are in use: TVM_NO_ASM for code that keeps one of them for itself. */
#if TVM_ASM_PAIR
#define TVM_LOAD_PAIR "ldm %[x]!, {r4, r5, r6, r7}\n\t"
#define TVM_FIRST_PAIR(x0, x1)                        \
    "ldrsb %[w], [%[weights]], #1\n\t"                \
    "mla %[both0], " x0 ", %[w], %[least]\n\t"        \
    "mla %[both1], " x1 ", %[w], %[least]\n\t"
#define TVM_NEXT_PAIR(x0, x1)                         \
    "ldrsb %[w], [%[weights]], #1\n\t"                \
    "mla %[both0], " x0 ", %[w], %[both0]\n\t"        \
    "mla %[both1], " x1 ", %[w], %[both1]\n\t"
#define TVM_END_PAIR                                  \
    "add %[total0], %[both0]\n\t"                     \
    "add %[total1], %[both1]\n\t"                     \
    "add %[upper0], %[upper0], %[both0], asr #16\n\t" \
    "add %[upper1], %[upper1], %[both1], asr #16\n\t"
#define TVM_EVEN_FIRST_PAIR TVM_LOAD_PAIR TVM_FIRST_PAIR("r4", "r5")
#define TVM_EVEN_NEXT_PAIR TVM_LOAD_PAIR TVM_NEXT_PAIR("r4", "r5")
#define TVM_ODD_FIRST_PAIR TVM_FIRST_PAIR("r6", "r7")
#define TVM_ODD_NEXT_PAIR TVM_NEXT_PAIR("r6", "r7")
#define TVM_TWO_PAIR TVM_EVEN_FIRST_PAIR TVM_ODD_NEXT_PAIR
#define TVM_MORE_PAIR TVM_EVEN_NEXT_PAIR TVM_ODD_NEXT_PAIR
#define TVM_EACH_PAIR TVM_EVEN_FIRST_PAIR TVM_END_PAIR TVM_ODD_FIRST_PAIR TVM_END_PAIR
#define TVM_RUN_OF_8_PAIR TVM_TWO_PAIR TVM_MORE_PAIR TVM_MORE_PAIR TVM_MORE_PAIR TVM_END_PAIR
#define TVM_RUN_OF_4_PAIR TVM_TWO_PAIR TVM_MORE_PAIR TVM_END_PAIR TVM_TWO_PAIR TVM_MORE_PAIR TVM_END_PAIR
#define TVM_RUN_OF_3_PAIR                                            \
    TVM_TWO_PAIR TVM_EVEN_NEXT_PAIR TVM_END_PAIR                     \
    TVM_ODD_FIRST_PAIR TVM_MORE_PAIR TVM_END_PAIR TVM_TWO_PAIR TVM_END_PAIR
#define TVM_RUN_OF_2_PAIR                                            \
    TVM_TWO_PAIR TVM_END_PAIR TVM_TWO_PAIR TVM_END_PAIR              \
    TVM_TWO_PAIR TVM_END_PAIR TVM_TWO_PAIR TVM_END_PAIR
#define TVM_RUN_OF_1_PAIR TVM_EACH_PAIR TVM_EACH_PAIR TVM_EACH_PAIR TVM_EACH_PAIR
#define TVM_PASSES_PAIR(pass)                                                                            \
    do {                                                                                                 \
        uint32_t both0, both1, w;                                                                        \
        __asm__ volatile("1:\n\t" pass "ldr %[w], %[end]\n\t"                                            \
                         "cmp %[x], %[w]\n\t"                                                            \
                         "bne 1b"                                                                        \
                         : [x] "+&r"(columns), [weights] "+&r"(weights), [total0] "+&r"(total0),         \
                           [total1] "+&r"(total1), [upper0] "+&r"(upper0), [upper1] "+&r"(upper1),       \
                           [both0] "=&r"(both0), [both1] "=&r"(both1), [w] "=&r"(w)                      \
                         : [least] "r"(0x8000u), [end] "m"(end)                                          \
                         : "r4", "r5", "r6", "r7", "cc", "memory");                                      \
    } while (0)
#endif

/* Two words of inputs by a weight; `i` and `run` are known. */
#define TVM_TAP_PAIR(i)                                                \
    do {                                                               \
        const uint32_t w = (uint32_t)weights[i];                       \
        const bool first = (i) % run == 0;                             \
        both0 = (first ? 0x8000u : both0) + columns[2 * (i)] * w;      \
        both1 = (first ? 0x8000u : both1) + columns[2 * (i) + 1] * w;  \
        if ((i) % run == run - 1 || (i) == 7) {                        \
            total0 += both0;                                           \
            total1 += both1;                                           \
            upper0 += (uint32_t)tvm_shift_right((int32_t)both0, 16);   \
            upper1 += (uint32_t)tvm_shift_right((int32_t)both1, 16);   \
        }                                                              \
    } while (0)

TVM_INLINE void tvm_sum_runs_pair(const uint32_t *columns, const uint32_t *end, const int8_t *weights,
                                  const int32_t *parameters, int32_t *sums, const int32_t run)
{
    uint32_t upper0 = (uint32_t)parameters[1];
    uint32_t total0 = (uint32_t)parameters[2];
    uint32_t upper1 = upper0;
    uint32_t total1 = total0;

#if TVM_ASM_PAIR
    if (run == 8) {
        TVM_PASSES_PAIR(TVM_RUN_OF_8_PAIR);
    } else if (run == 4) {
        TVM_PASSES_PAIR(TVM_RUN_OF_4_PAIR);
    } else if (run == 3) {
        TVM_PASSES_PAIR(TVM_RUN_OF_3_PAIR);
    } else if (run == 2) {
        TVM_PASSES_PAIR(TVM_RUN_OF_2_PAIR);
    } else {
        TVM_PASSES_PAIR(TVM_RUN_OF_1_PAIR);
    }
#else
    do {
        uint32_t both0 = 0;
        uint32_t both1 = 0;
        TVM_TAP_PAIR(0);
        TVM_TAP_PAIR(1);
        TVM_TAP_PAIR(2);
        TVM_TAP_PAIR(3);
        TVM_TAP_PAIR(4);
        TVM_TAP_PAIR(5);
        TVM_TAP_PAIR(6);
        TVM_TAP_PAIR(7);
        columns += 16;
        weights += 8;
    } while (columns != end);
#endif
    sums[0] = (int32_t)(total0 - (upper0 << 16));
    sums[1] = (int32_t)upper0;
    sums[2] = (int32_t)(total1 - (upper1 << 16));
    sums[3] = (int32_t)upper1;
}

/* The body of a tvm_products_pair; `runs` has the bits of the runs that occur. */
TVM_INLINE void tvm_sum_channel_pair(const uint32_t *columns, const uint32_t *end, const int8_t *weights,
                                     const int32_t *parameters, int32_t *sums, const int32_t runs)
{
    const int32_t run = parameters[0];

    if ((runs & 1 << 8) && run == 8) {
        tvm_sum_runs_pair(columns, end, weights, parameters, sums, 8);
    } else if ((runs & 1 << 4) && run == 4) {
        tvm_sum_runs_pair(columns, end, weights, parameters, sums, 4);
    } else if ((runs & 1 << 3) && run == 3) {
        tvm_sum_runs_pair(columns, end, weights, parameters, sums, 3);
    } else if ((runs & 1 << 2) && run == 2) {
        tvm_sum_runs_pair(columns, end, weights, parameters, sums, 2);
    } else {
        tvm_sum_runs_pair(columns, end, weights, parameters, sums, 1);
    }
}

/* The body of a tvm_gemm_four_pair. */
TVM_INLINE void tvm_finish_four_pair(const struct tvm_gemm_pair *gemm, const uint32_t *columns, int8_t *output,
                                     const int32_t *places, const int32_t form, const bool limited)
{
    const uint32_t *const end = columns + 2 * gemm->length;
    const int8_t *weights = gemm->weights;
    const int32_t *parameters = gemm->parameters;
    struct tvm_form_pair how = {0, 0, 0, gemm->low, gemm->high};
    int32_t sums[4];

    for (int32_t channel = 0; channel < gemm->channels; channel++) {
        int8_t *const to = output + channel;
        gemm->products(columns, end, weights, parameters, sums);
        parameters = tvm_next_form_pair(parameters + 3, &how, form);
        weights += gemm->length;
        if (form == TVM_ANY_PAIR) {
            for (int32_t i = 0; i < 4; i++) {
                to[places[i]] = (int8_t)gemm->how->rescale(gemm->how, sums[i], channel);
            }
        } else {
            to[places[0]] = tvm_output_pair(&how, sums[0], form, limited);
            to[places[1]] = tvm_output_pair(&how, sums[1], form, limited);
            to[places[2]] = tvm_output_pair(&how, sums[2], form, limited);
            to[places[3]] = tvm_output_pair(&how, sums[3], form, limited);
        }
    }
}

#endif
