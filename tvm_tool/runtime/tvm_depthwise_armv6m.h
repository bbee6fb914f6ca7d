/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_depthwise_armv6m.h - convolutions of each channel by itself on Cortex-M0 and M0+. Not for use by a
 * firmware.
 *
 * Two rows of the output are computed together: a word holds the inputs of both, x0 + 65536 * x1, as in
 * tvm_gemm_armv6m.h. All words of a channel are packed first, padding included.
 */
#ifndef TVM_DEPTHWISE_ARMV6M_H
#define TVM_DEPTHWISE_ARMV6M_H

#include "tvm_gemm_armv6m.h"

/* What stands behind the weights; the first two words are there in the sided form only. */
struct tvm_plane_armv6m {
    uint32_t below, zero;
    uint32_t bias, limit, high, low;
    uint32_t addend;
    int32_t other; /* from an output to the one that is computed with it */
    int32_t step;  /* to the next output */
    uint32_t end;  /* address behind a row of outputs */
    int32_t count; /* of outputs in a row */
    int32_t rows;
    int32_t row_inputs, row_outputs; /* from a row to the next: words, elements */
    int32_t channel;
    int32_t apart; /* whether only two of three neighbours' products can be added up in a word */
};

#define TVM_PLANE_WORDS_ARMV6M 16

struct tvm_depthwise_armv6m;

/* Computes rows of outputs of one channel, each together with another one: from `inputs` to `output`. `taps` are
 * the weights as words, with a tvm_plane_armv6m behind them. */
typedef void (*tvm_depthwise_block_armv6m)(const struct tvm_depthwise_armv6m *depthwise,
                                           const uint32_t *inputs, uint32_t *taps, uint8_t *output);

struct tvm_depthwise_armv6m {
    tvm_depthwise_block_armv6m block;
    const int8_t *weights;              /* of each channel: rows, filled up to multiples of three */
    const int32_t *parameters;          /* as those of tvm_gemm_armv6m; the run is 3 or 2 */
    int32_t taps;                       /* weights of a channel */
    int32_t words;                      /* parameters of a channel */
    int32_t band;                       /* rows of the output that are packed together */
    bool flat;                          /* one column: its rows lie side by side, as if they were columns */
    int32_t pitch;                      /* from one row of the weights to the next in the inputs, in words */
    int32_t move;                       /* from one output to the next in the inputs, in words */
    const struct tvm_rescaling_s8 *how; /* for TVM_EXACT */
};

#if TVM_ASM_ARMV6M
/* Three products. r0: inputs; r1: weights; r8, r9: both sums. */
#define TVM_THREE_ARMV6M          \
    "ldmia r0!, {r2, r3, r4}\n\t" \
    "ldmia r1!, {r5, r6, r7}\n\t" \
    "muls r2, r5, r2\n\t"         \
    "muls r3, r6, r3\n\t"         \
    "muls r4, r7, r4\n\t"         \
    "adds r2, r2, r3\n\t"
#define TVM_WHOLE_ARMV6M(first) \
    TVM_THREE_ARMV6M            \
    "adds r2, r2, r4\n\t"       \
    "sxth r5, r2\n\t" first     \
    "subs r2, r2, r5\n\t"       \
    "asrs r2, r2, #16\n\t"
#define TVM_APART_AT_ARMV6M(first)           \
    TVM_THREE_ARMV6M "sxth r5, r2\n\t" first \
                     "subs r2, r2, r5\n\t"   \
                     "asrs r2, r2, #16\n\t"  \
                     "sxth r5, r4\n\t"       \
                     "add r8, r8, r5\n\t"    \
                     "subs r4, r4, r5\n\t"   \
                     "asrs r4, r4, #16\n\t"  \
                     "adds r2, r2, r4\n\t"
#define TVM_SUMS_ARMV6M(three) \
    three("mov r8, r5\n\t") "mov r9, r2\n\t" \
    ".rept %c[steps] - 1\n\t" three("add r8, r8, r5\n\t") "add r9, r9, r2\n\t" ".endr\n\t" \
    ".rept %c[rows] - 1\n\t" \
    "add r0, r0, r10\n\t" \
    ".rept %c[steps]\n\t" three("add r8, r8, r5\n\t") "add r9, r9, r2\n\t" ".endr\n\t" \
    ".endr\n\t"
/* Both sums, in r2 and r3; r4 is free. */
#define TVM_SCALE_TWO_ARMV6M(side) \
    ".irp sum, r2, r3\n\t"         \
    "cmp \\sum, r5\n\t"            \
    "bls 1f\n\t"                   \
    "asrs \\sum, \\sum, #31\n\t"   \
    "mvns \\sum, \\sum\n\t"        \
    "ands \\sum, r5\n\t"           \
    "1:\n\t"                       \
    "movs r4, \\sum\n\t"           \
    "muls r4, r7, r4\n\t"          \
    "lsrs r4, r4, #12\n\t" side    \
    "muls \\sum, r6, \\sum\n\t"    \
    "adds \\sum, \\sum, r4\n\t"    \
    ".endr\n\t"
#define TVM_TWO_SIDES_ARMV6M \
    "cmp \\sum, r9\n\t"      \
    "bhs 1f\n\t"             \
    "add r4, r4, r8\n\t"     \
    "1:\n\t"
#define TVM_TAKE_SIDES_ARMV6M \
    "ldmia r1!, {r4, r5}\n\t" \
    "mov r8, r4\n\t"          \
    "mov r9, r5\n\t"
#define TVM_AGAIN_ARMV6M               \
    ".if %c[rows] * %c[steps] < 4\n\t" \
    "bne 0b\n\t"                       \
    ".else\n\t"                        \
    "beq 1f\n\t"                       \
    "b 0b\n\t"                         \
    "1:\n\t"                           \
    ".endif"
#define TVM_ROW_ARMV6M(sums, sides, scale)                                              \
    do {                                                                                \
        register const uint32_t *x __asm__("r0") = inputs;                              \
        register const uint32_t *w __asm__("r1") = taps;                                \
        register uint8_t *to __asm__("r2") = output;                                    \
        register int32_t pitch __asm__("r3") = 4 * depthwise->pitch - 12 * steps;       \
        register int32_t back __asm__("r4") =                                           \
            4 * (depthwise->move - (rows - 1) * depthwise->pitch) - 12 * steps;         \
        __asm__ volatile(                                                               \
            ".syntax unified\n\t"                                                       \
            "mov lr, r2\n\t"                                                            \
            "mov r10, r3\n\t"                                                           \
            "mov r12, r4\n\t"                                                           \
            "mov r11, r1\n\t"                                                           \
            "0:\n\t"                                                                    \
            "mov r1, r11\n\t" sums                                                      \
            "add r0, r0, r12\n\t"                                                       \
            "mov r2, r8\n\t"                                                            \
            "mov r3, r9\n\t" sides                                                      \
            "ldmia r1!, {r4, r5, r6, r7}\n\t"                                           \
            "adds r2, r2, r4\n\t"                                                       \
            "adds r3, r3, r4\n\t" scale                                                 \
            "ldmia r1!, {r4, r5, r6, r7}\n\t"                                           \
            "adds r2, r2, r4\n\t"                                                       \
            "adds r3, r3, r4\n\t"                                                       \
            "lsrs r2, r2, #24\n\t"                                                      \
            "lsrs r3, r3, #24\n\t"                                                      \
            "mov r1, lr\n\t"                                                            \
            "strb r3, [r1, r5]\n\t"                                                     \
            "strb r2, [r1]\n\t"                                                         \
            "adds r1, r1, r6\n\t"                                                       \
            "mov lr, r1\n\t"                                                            \
            "cmp r1, r7\n\t" TVM_AGAIN_ARMV6M                                           \
            : "+r"(x), "+r"(w), "+r"(to), "+r"(pitch), "+r"(back)                       \
            : [rows] "i"(rows), [steps] "i"(steps)                                      \
            : "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "lr", "cc", "memory"); \
    } while (0)
#endif

/* The sums of two outputs; their bias is not in them. */
TVM_INLINE void tvm_sum_two_armv6m(const uint32_t *inputs, const uint32_t *taps, bool apart, int32_t pitch,
                                   const int32_t rows, const int32_t steps, uint32_t *sums)
{
    sums[0] = 0;
    sums[1] = 0;
    for (int32_t row = 0; row < rows; row++) {
        for (int32_t i = 0; i < 3 * steps; i += 3) {
            const uint32_t first = inputs[i] * taps[i] + inputs[i + 1] * taps[i + 1];
            const uint32_t last = inputs[i + 2] * taps[i + 2];
            if (apart) {
                tvm_take_apart(first, sums, sums + 1);
                tvm_take_apart(last, sums, sums + 1);
            } else {
                tvm_take_apart(first + last, sums, sums + 1);
            }
        }
        inputs += pitch;
        taps += 3 * steps;
    }
}

TVM_INLINE uint8_t tvm_plane_output_armv6m(const struct tvm_depthwise_armv6m *depthwise,
                                           const struct tvm_plane_armv6m *plane, uint32_t sum,
                                           const int32_t form)
{
    const int32_t parameters[6] = {
        0,
        (int32_t)(plane->limit << 12 | plane->low),
        (int32_t)(plane->high << 2),
        (int32_t)plane->addend,
        (int32_t)plane->below,
        (int32_t)plane->zero,
    };

    return form == TVM_EXACT ? (uint8_t)depthwise->how->rescale(depthwise->how, (int32_t)sum, plane->channel)
                             : tvm_output_armv6m(parameters, sum, form);
}

/* One row of outputs. */
TVM_INLINE void tvm_depthwise_row_armv6m(const struct tvm_depthwise_armv6m *depthwise,
                                         struct tvm_plane_armv6m *plane, const uint32_t *inputs,
                                         const uint32_t *taps, uint8_t *output, const int32_t rows,
                                         const int32_t steps, const int32_t form)
{
#if TVM_ASM_ARMV6M
    plane->end = (uint32_t)(uintptr_t)(output + plane->count * plane->step);
    if (form == TVM_SPLIT && plane->apart) {
        TVM_ROW_ARMV6M(TVM_SUMS_ARMV6M(TVM_APART_AT_ARMV6M), "", TVM_SCALE_TWO_ARMV6M(""));
    } else if (form == TVM_SPLIT) {
        TVM_ROW_ARMV6M(TVM_SUMS_ARMV6M(TVM_WHOLE_ARMV6M), "", TVM_SCALE_TWO_ARMV6M(""));
    } else if (form == TVM_SIDED && plane->apart) {
        TVM_ROW_ARMV6M(TVM_SUMS_ARMV6M(TVM_APART_AT_ARMV6M), TVM_TAKE_SIDES_ARMV6M,
                       TVM_SCALE_TWO_ARMV6M(TVM_TWO_SIDES_ARMV6M));
    } else if (form == TVM_SIDED) {
        TVM_ROW_ARMV6M(TVM_SUMS_ARMV6M(TVM_WHOLE_ARMV6M), TVM_TAKE_SIDES_ARMV6M,
                       TVM_SCALE_TWO_ARMV6M(TVM_TWO_SIDES_ARMV6M));
    }
    if (form != TVM_EXACT) {
        return;
    }
#endif
    for (int32_t left = plane->count; left > 0; left--) {
        uint32_t sums[2];
        tvm_sum_two_armv6m(inputs, taps, plane->apart != 0, depthwise->pitch, rows, steps, sums);
        sums[0] += plane->bias;
        sums[1] += plane->bias;
        output[plane->other] = tvm_plane_output_armv6m(depthwise, plane, sums[1], form);
        *output = tvm_plane_output_armv6m(depthwise, plane, sums[0], form);
        inputs += depthwise->move;
        output += plane->step;
    }
}

/* The body of a tvm_depthwise_block_armv6m for known numbers: rows of the weights, threes in each of them, and
 * the form of the outputs. */
TVM_INLINE void tvm_depthwise_rows_armv6m(const struct tvm_depthwise_armv6m *depthwise,
                                          const uint32_t *inputs, uint32_t *taps, uint8_t *output,
                                          const int32_t rows, const int32_t steps, const int32_t form)
{
    uint32_t *behind = taps + 3 * rows * steps - (form == TVM_SIDED ? 0 : 2);
    struct tvm_plane_armv6m *plane = (struct tvm_plane_armv6m *)(void *)behind;

    for (int32_t left = plane->rows; left > 0; left--) {
        tvm_depthwise_row_armv6m(depthwise, plane, inputs, taps, output, rows, steps, form);
        inputs += plane->row_inputs;
        output += plane->row_outputs;
    }
}

#endif
