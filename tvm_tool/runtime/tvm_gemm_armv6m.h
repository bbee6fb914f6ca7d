/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_gemm_armv6m.h - matrix products of 8-bit numbers on Cortex-M0 and M0+. Not for use by a firmware.
 *
 * The inputs of two positions share a word: x0 + 65536 * x1. One MULS by a weight and one ADDS add up both
 * products, as long as the lower sum stays within 16 bits: for a run of as many inputs as the weights of the
 * channel allow, which is known when the model is compiled. At the end of a run the two sums are taken apart.
 */
#ifndef TVM_GEMM_ARMV6M_H
#define TVM_GEMM_ARMV6M_H

#include "tvm_blocks_s8.h"

#if defined(__GNUC__) && !defined(__clang__) && defined(__thumb__) && !defined(__thumb2__) && \
    defined(__OPTIMIZE__) && !defined(__PIC__) && !defined(TVM_NO_ASM)
#define TVM_ASM_ARMV6M 1
#define TVM_BLOCK_ARMV6M static __attribute__((noinline, optimize("omit-frame-pointer")))
#else
#define TVM_ASM_ARMV6M 0
#define TVM_BLOCK_ARMV6M static TVM_NOINLINE
#endif

struct tvm_gemm_armv6m;

/* Computes all channels at four positions. `columns` holds the inputs: for each of `length` the words of
 * positions 0 and 1, 2 and 3. Position i goes to output + places[i]; places[0] is 0. */
typedef void (*tvm_gemm_block_armv6m)(const struct tvm_gemm_armv6m *gemm, const uint32_t *columns,
                                      uint8_t *output, const int32_t *places);

/* Weights are [channels / 8][length][8], bytes; `length` is a multiple of 8. Parameters of each channel: the
 * bias; the run, 2, 3, 4 or 8, times 65536, plus `low`; then, unless the form is exact, limit, high, addend,
 * and, if it is sided, below and zero. */
struct tvm_gemm_armv6m {
    tvm_gemm_block_armv6m block;
    const int8_t *weights;
    const int32_t *parameters;
    int32_t length;                     /* weights of a channel */
    int32_t channels;                   /* of the output */
    const struct tvm_rescaling_s8 *how; /* for TVM_EXACT */
};

/* How sums become outputs. First a sum is limited to 0 and `limit`.
 * split: (sum * multiplier / 2^12 + addend) / 2^24; the multiplier is high * 2^12 + low.
 * sided: the same, `below` added before for sums under `zero`.
 * exact: by `how`. */
enum { TVM_SPLIT, TVM_SIDED, TVM_EXACT };

/* Words of the parameters of a channel. */
TVM_INLINE int32_t tvm_words_armv6m(const int32_t form)
{
    return form == TVM_SPLIT ? 5 : form == TVM_SIDED ? 7 : 2;
}

TVM_INLINE uint8_t tvm_output_armv6m(const int32_t *parameters, uint32_t sum, const int32_t form)
{
    const uint32_t low = (uint32_t)parameters[1] & 0xffffu;
    const uint32_t limit = (uint32_t)parameters[2];
    uint32_t value;

    if (sum > limit) {
        /* Negative sums are above it too. */
        sum = ~(uint32_t)tvm_shift_right((int32_t)sum, 31) & limit;
    }
    value = sum * (uint32_t)parameters[3] + (sum * low >> 12) + (uint32_t)parameters[4];
    if (form == TVM_SIDED && sum < (uint32_t)parameters[6]) {
        value += (uint32_t)parameters[5];
    }
    return (uint8_t)(value >> 24);
}

/* Adds the two sums in a word to their totals. */
TVM_INLINE void tvm_take_apart(uint32_t both, uint32_t *lower, uint32_t *upper)
{
    const uint32_t sign = both >> 15 & 1u;

    *lower += (both & 0xffffu) - (sign << 16);
    *upper += (uint32_t)tvm_shift_right((int32_t)both, 16) + sign;
}

/* Some channels of a block. */
struct tvm_pass_armv6m {
    uint8_t *output; /* four sums, if the form is exact: then it is one channel */
    int32_t places[3];
    const int32_t *parameters;
    const uint32_t *columns, *end;
    uintptr_t
        weights; /* how far they are behind output and columns: two words of these belong to eight of them */
    const uint8_t *last;
};

#if TVM_ASM_ARMV6M
/* r0: inputs; r1: how far behind them their weights are; r5, r6: both sums of a run. */
#define TVM_FIRST_ARMV6M      \
    "ldmia r0!, {r5, r6}\n\t" \
    "ldrsb r4, [r0, r1]\n\t"  \
    "muls r5, r4, r5\n\t"     \
    "muls r6, r4, r6\n\t"
#define TVM_NEXT_ARMV6M       \
    "ldmia r0!, {r2, r3}\n\t" \
    "ldrsb r4, [r0, r1]\n\t"  \
    "muls r2, r4, r2\n\t"     \
    "muls r3, r4, r3\n\t"     \
    "adds r5, r5, r2\n\t"     \
    "adds r6, r6, r3\n\t"
/* To r8 and r7, r9 and r10. The upper half is one too low where the lower one is negative: ASRS shifts out its
 * sign last, ADCS adds it. */
#define TVM_APART_ARMV6M   \
    "sxth r2, r5\n\t"      \
    "add r8, r8, r2\n\t"   \
    "asrs r5, r5, #16\n\t" \
    "adcs r7, r7, r5\n\t"  \
    "sxth r3, r6\n\t"      \
    "add r9, r9, r3\n\t"   \
    "subs r6, r6, r3\n\t"  \
    "asrs r6, r6, #16\n\t" \
    "add r10, r10, r6\n\t"
#define TVM_RUN_2_ARMV6M TVM_FIRST_ARMV6M TVM_NEXT_ARMV6M TVM_APART_ARMV6M
#define TVM_RUN_3_ARMV6M TVM_FIRST_ARMV6M TVM_NEXT_ARMV6M TVM_NEXT_ARMV6M TVM_APART_ARMV6M
#define TVM_RUN_4_ARMV6M TVM_FIRST_ARMV6M TVM_NEXT_ARMV6M TVM_NEXT_ARMV6M TVM_NEXT_ARMV6M TVM_APART_ARMV6M
#define TVM_MORE_4_ARMV6M TVM_NEXT_ARMV6M TVM_NEXT_ARMV6M TVM_NEXT_ARMV6M TVM_NEXT_ARMV6M
#define TVM_RUN_8_ARMV6M \
    TVM_FIRST_ARMV6M TVM_NEXT_ARMV6M TVM_NEXT_ARMV6M TVM_NEXT_ARMV6M TVM_MORE_4_ARMV6M TVM_APART_ARMV6M
#define TVM_PASS_ARMV6M(label, runs) \
    label ":\n\t" runs               \
          "cmp r0, lr\n\t"           \
          "bne " label "b\n\t"
#define TVM_SHORT_ARMV6M \
    TVM_PASS_ARMV6M("2", TVM_RUN_2_ARMV6M TVM_RUN_2_ARMV6M TVM_RUN_2_ARMV6M TVM_RUN_2_ARMV6M)
#define TVM_LONG_ARMV6M \
    "cmp r3, #3\n\t" \
    "bls 6f\n\t" \
    "b 4f\n\t" \
    "6:\n\t" \
    "beq 3f\n\t" TVM_SHORT_ARMV6M \
    "b 9f\n\t" TVM_PASS_ARMV6M("3", TVM_RUN_3_ARMV6M TVM_RUN_3_ARMV6M TVM_RUN_2_ARMV6M) \
    "b 9f\n\t" \
    "4:\n\t" \
    "cmp r3, #8\n\t" \
    "beq 8f\n\t" TVM_PASS_ARMV6M("5", TVM_RUN_4_ARMV6M TVM_RUN_4_ARMV6M) \
    "b 9f\n\t" TVM_PASS_ARMV6M("8", TVM_RUN_8_ARMV6M) \
    "9:\n\t"

/* One of the sums, in a low register: limited, multiplied, shifted. r1 is free. */
#define TVM_SCALE_ARMV6M(sum, side)                           \
    "cmp " sum                                                \
    ", r4\n\t"                                                \
    "bls 1f\n\t"                                              \
    "asrs " sum ", " sum                                      \
    ", #31\n\t"                                               \
    "mvns " sum ", " sum                                      \
    "\n\t"                                                    \
    "ands " sum                                               \
    ", r4\n\t"                                                \
    "1:\n\t"                                                  \
    "movs r1, " sum                                           \
    "\n\t"                                                    \
    "muls r1, r3, r1\n\t"                                     \
    "lsrs r1, r1, #12\n\t" side(sum) "muls " sum ", r5, " sum \
                                     "\n\t"                   \
                                     "adds " sum ", " sum     \
                                     ", r1\n\t"               \
                                     "adds " sum ", " sum     \
                                     ", r6\n\t"               \
                                     "lsrs " sum ", " sum ", #24\n\t"
#define TVM_NO_SIDE_ARMV6M(sum) ""
#define TVM_SIDE_ARMV6M(sum) \
    "cmp " sum               \
    ", lr\n\t"               \
    "bhs 1f\n\t"             \
    "add r1, r1, r11\n\t"    \
    "1:\n\t"
/* r0: parameters of the channel behind its bias. */
#define TVM_NO_SIDES_ARMV6M ""
#define TVM_SIDES_ARMV6M      \
    "ldmia r0!, {r1, r2}\n\t" \
    "mov r11, r1\n\t"         \
    "mov lr, r2\n\t"
#define TVM_FINISH_ARMV6M(sides, side) \
    "mov r0, r11\n\t" \
    "ldmia r0!, {r3, r4, r5, r6}\n\t" sides \
    "uxth r3, r3\n\t" \
    "mov r2, r12\n\t" \
    "str r0, [r2, #16]\n\t" \
    TVM_SCALE_ARMV6M("r7", side) \
    "mov r0, r8\n\t" TVM_SCALE_ARMV6M("r0", side) \
    "mov r8, r0\n\t" \
    "mov r2, r9\n\t" TVM_SCALE_ARMV6M("r2", side) \
    "mov r0, r10\n\t" TVM_SCALE_ARMV6M("r0", side) \
    "mov r1, r12\n\t" \
    "ldmia r1!, {r3, r4, r5, r6}\n\t" \
    "strb r7, [r3, r4]\n\t" \
    "strb r2, [r3, r5]\n\t" \
    "strb r0, [r3, r6]\n\t" \
    "mov r0, r8\n\t" \
    "strb r0, [r3]\n\t"
/* Sums instead of outputs. */
#define TVM_KEEP_ARMV6M           \
    "mov r0, r12\n\t"             \
    "ldr r3, [r0]\n\t"            \
    "movs r2, r3\n\t"             \
    "mov r4, r8\n\t"              \
    "mov r5, r7\n\t"              \
    "mov r6, r9\n\t"              \
    "stmia r2!, {r4, r5, r6}\n\t" \
    "mov r4, r10\n\t"             \
    "str r4, [r2]\n\t"

/* The channels of a struct tvm_pass_armv6m, which the loop keeps up to date. */
#define TVM_CHANNELS_ARMV6M(pass, sums, finish)                                                      \
    do {                                                                                             \
        register struct tvm_pass_armv6m *state __asm__("r6") = (pass);                               \
        __asm__ volatile(                                                                            \
            ".syntax unified\n\t"                                                                    \
            "mov r12, r6\n\t"                                                                        \
            "0:\n\t"                                                                                 \
            "mov r6, r12\n\t"                                                                        \
            "ldr r1, [r6]\n\t"                                                                       \
            "adds r6, #16\n\t"                                                                       \
            "ldmia r6!, {r0, r2, r3, r4}\n\t"                                                        \
            "adds r1, r1, r4\n\t"                                                                    \
            "mov lr, r3\n\t"                                                                         \
            "ldmia r0!, {r7}\n\t"                                                                    \
            "mov r11, r0\n\t"                                                                        \
            "ldr r3, [r0]\n\t"                                                                       \
            "lsrs r3, r3, #16\n\t"                                                                   \
            "movs r0, r2\n\t"                                                                        \
            "mov r8, r7\n\t"                                                                         \
            "mov r9, r7\n\t"                                                                         \
            "mov r10, r7\n\t" sums finish                                                            \
            "adds r3, #1\n\t"                                                                        \
            "mov r0, r12\n\t"                                                                        \
            "str r3, [r0]\n\t"                                                                       \
            "ldr r4, [r0, #32]\n\t"                                                                  \
            "cmp r3, r4\n\t"                                                                         \
            "beq 1f\n\t"                                                                             \
            "b 0b\n\t"                                                                               \
            "1:"                                                                                     \
            : "+r"(state)                                                                            \
            :                                                                                        \
            : "r0", "r1", "r2", "r3", "r4", "r5", "r7", "r8", "r9", "r10", "r11", "r12", "lr", "cc", \
              "memory");                                                                             \
    } while (0)

TVM_INLINE void tvm_channels_armv6m(struct tvm_pass_armv6m *pass, const int8_t *weights, const int32_t form,
                                    const bool long_runs)
{
    pass->weights = (uintptr_t)weights - (uintptr_t)pass->columns - 8 - (uintptr_t)pass->output;
    if (form == TVM_SPLIT && long_runs) {
        TVM_CHANNELS_ARMV6M(pass, TVM_LONG_ARMV6M,
                            TVM_FINISH_ARMV6M(TVM_NO_SIDES_ARMV6M, TVM_NO_SIDE_ARMV6M));
    } else if (form == TVM_SPLIT) {
        TVM_CHANNELS_ARMV6M(pass, TVM_SHORT_ARMV6M,
                            TVM_FINISH_ARMV6M(TVM_NO_SIDES_ARMV6M, TVM_NO_SIDE_ARMV6M));
    } else if (form == TVM_SIDED && long_runs) {
        TVM_CHANNELS_ARMV6M(pass, TVM_LONG_ARMV6M, TVM_FINISH_ARMV6M(TVM_SIDES_ARMV6M, TVM_SIDE_ARMV6M));
    } else if (form == TVM_SIDED) {
        TVM_CHANNELS_ARMV6M(pass, TVM_SHORT_ARMV6M, TVM_FINISH_ARMV6M(TVM_SIDES_ARMV6M, TVM_SIDE_ARMV6M));
    } else {
        TVM_CHANNELS_ARMV6M(pass, TVM_SHORT_ARMV6M, TVM_KEEP_ARMV6M);
    }
}

#else

TVM_INLINE void tvm_sum_armv6m(const struct tvm_pass_armv6m *pass, const int8_t *weights, uint32_t *sums)
{
    const int32_t run = (int32_t)((uint32_t)pass->parameters[1] >> 16);
    const uint32_t *x = pass->columns;

    for (int32_t i = 0; i < 4; i++) {
        sums[i] = (uint32_t)pass->parameters[0];
    }
    while (x != pass->end) {
        int32_t left = 8;
        while (left > 0) {
            const int32_t count = run < left ? run : left;
            uint32_t both01 = 0;
            uint32_t both23 = 0;
            for (int32_t i = 0; i < count; i++) {
                both01 += (uint32_t)*weights * x[0];
                both23 += (uint32_t)*weights * x[1];
                weights += 8;
                x += 2;
            }
            tvm_take_apart(both01, sums, sums + 1);
            tvm_take_apart(both23, sums + 2, sums + 3);
            left -= count;
        }
    }
}

TVM_INLINE void tvm_channels_armv6m(struct tvm_pass_armv6m *pass, const int8_t *weights, const int32_t form,
                                    const bool long_runs)
{
    (void)long_runs;
    for (; pass->output != pass->last; pass->output++) {
        uint32_t sums[4];
        tvm_sum_armv6m(pass, weights++, form == TVM_EXACT ? (uint32_t *)(void *)pass->output : sums);
        if (form != TVM_EXACT) {
            pass->output[0] = tvm_output_armv6m(pass->parameters, sums[0], form);
            for (int32_t i = 0; i < 3; i++) {
                pass->output[pass->places[i]] = tvm_output_armv6m(pass->parameters, sums[i + 1], form);
            }
            pass->parameters += tvm_words_armv6m(form);
        }
    }
}

#endif

/* The body of a tvm_gemm_block_armv6m for a form; `long_runs`: whether runs other than those of 2 occur. */
TVM_INLINE void tvm_gemm_4_armv6m(const struct tvm_gemm_armv6m *gemm, const uint32_t *columns,
                                  uint8_t *output, const int32_t *places, const int32_t form,
                                  const bool long_runs)
{
    const int8_t *weights = gemm->weights;
    int32_t left = gemm->channels;
    struct tvm_pass_armv6m pass;

    pass.output = output;
    pass.places[0] = places[1];
    pass.places[1] = places[2];
    pass.places[2] = places[3];
    pass.parameters = gemm->parameters;
    pass.columns = columns;
    pass.end = columns + 2 * gemm->length;
    for (; left > 0; left -= 8) {
        const int32_t count = left < 8 ? left : 8;
        if (form == TVM_EXACT) {
            for (int32_t i = 0; i < count; i++) {
                uint32_t sums[4];
                pass.output = (uint8_t *)sums;
                pass.last = pass.output + 1;
                tvm_channels_armv6m(&pass, weights + i, form, long_runs);
                pass.parameters += tvm_words_armv6m(form);
                for (int32_t position = 0; position < 4; position++) {
                    output[places[position]] = (uint8_t)gemm->how->rescale(gemm->how, (int32_t)sums[position],
                                                                           gemm->channels - left + i);
                }
                output++;
            }
        } else {
            pass.last = pass.output + count;
            tvm_channels_armv6m(&pass, weights, form, long_runs);
        }
        weights += 8 * gemm->length;
    }
}

#endif
