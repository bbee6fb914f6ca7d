/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_depthwise_pair.h - convolutions of each channel by itself on cores that multiply 32-bit numbers alone.
 * Not for use by a firmware.
 *
 * Two rows of the output are computed together: a word holds the inputs of both, x0 + 65536 * x1, as in
 * tvm_gemm_pair.h. All words of a channel are packed first, padding included.
 */
#ifndef TVM_DEPTHWISE_PAIR_H
#define TVM_DEPTHWISE_PAIR_H

#include "tvm_gemm_pair.h"

/* Loops of few known passes become none. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
#define TVM_UNROLL_PAIR _Pragma("GCC unroll 32")
#else
#define TVM_UNROLL_PAIR
#endif

/* Compilers know nothing of `pointer`: what is loaded through it does not stay on the stack. */
#if defined(__GNUC__)
#define TVM_FORGET_PAIR(pointer) __asm__ volatile("" : "+r"(pointer))
#else
#define TVM_FORGET_PAIR(pointer) ((void)0)
#endif

/* As many weights are worth keeping from output to output. */
#define TVM_KEPT_WEIGHTS_PAIR 12

struct tvm_depthwise_pair;

/* Computes `rows` rows of outputs of one channel, each together with the one `below` elements behind it. */
typedef void (*tvm_plane_pair)(const struct tvm_depthwise_pair *depthwise, const uint32_t *inputs,
                               int32_t channel, int32_t rows, int32_t below, int8_t *output);

struct tvm_depthwise_pair {
    tvm_plane_pair plane;
    const int8_t *weights;     /* of each channel, row by row */
    const int32_t *parameters; /* of each channel: bias, 65537 * bias - 32768 * runs, the form's */
    int32_t words;             /* parameters of a channel */
    int32_t band;              /* rows of the output that are packed together */
    int32_t columns;           /* of the padded image */
    int32_t channels;
    int32_t low, high; /* least and largest output */
};

/* The body of a tvm_plane_pair for known numbers: `lines` of `taps` weights, both with their steps in the
 * inputs; the longest run; the steps from output to output along a row and from row to row in the inputs; the
 * outputs of a row; and the form of the outputs. */
TVM_INLINE void tvm_depthwise_rows_pair(const struct tvm_depthwise_pair *depthwise, const uint32_t *inputs,
                                        int32_t channel, int32_t rows, int32_t below, int8_t *output,
                                        const int32_t lines, const int32_t line_step, const int32_t taps,
                                        const int32_t tap_step, const int32_t run, const int32_t move,
                                        const int32_t next_row, const int32_t width, const int32_t form,
                                        const bool limited)
{
    const int8_t *const weights = depthwise->weights + channel * (lines * taps);
    const int32_t *const parameters = depthwise->parameters + channel * depthwise->words;
    const uint32_t bias = (uint32_t)parameters[0];
    const uint32_t start = (uint32_t)parameters[1];
    const int32_t channels = depthwise->channels;
    struct tvm_form_pair how = {0, 0, 0, depthwise->low, depthwise->high};

    (void)tvm_next_form_pair(parameters + 2, &how, form);
    for (; rows > 0; rows--) {
        const uint32_t *at = inputs;
        for (int32_t left = width; left > 0; left--) {
            const int8_t *w = weights;
            uint32_t upper = bias;
            uint32_t total = start;
            int32_t sum0, sum1;
            if (lines * taps > TVM_KEPT_WEIGHTS_PAIR) {
                TVM_FORGET_PAIR(w);
            }
            TVM_UNROLL_PAIR
            for (int32_t line = 0; line < lines; line++) {
                TVM_UNROLL_PAIR
                for (int32_t first = 0; first < taps; first += run) {
                    const int32_t end = first + run < taps ? first + run : taps;
                    uint32_t both = 0x8000;
                    TVM_UNROLL_PAIR
                    for (int32_t tap = first; tap < end; tap++) {
                        both += at[line * line_step + tap * tap_step] * (uint32_t)w[line * taps + tap];
                    }
                    total += both;
                    upper += (uint32_t)tvm_shift_right((int32_t)both, 16);
                }
            }
            sum0 = (int32_t)(total - (upper << 16));
            sum1 = (int32_t)upper;
            output[below] = tvm_output_pair(&how, sum1, form, limited);
            *output = tvm_output_pair(&how, sum0, form, limited);
            output += channels;
            at += move;
        }
        inputs += next_row;
    }
}

#endif
