/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_depthwise_mve.h - convolutions of each channel by itself on cores with Helium. Not for use by a
 * firmware.
 *
 * Four rows are packed into words, one input above the other, padding included: [columns][channels] words are
 * a band of rows. Four words, those of four columns or of four bands, are the inputs of a channel that one
 * instruction multiplies with its weights and adds up. Where the window is small enough, the same inputs
 * serve four outputs, with the weights moved by rows (bytes) and columns (words).
 */
#ifndef TVM_DEPTHWISE_MVE_H
#define TVM_DEPTHWISE_MVE_H

#include "tvm_gemm_mve.h"

struct tvm_depthwise_mve;

/* Computes `rows` rows of all channels from packed bands; `places`: where four outputs are from the first
 * one. Those that do not exist are the first ones once more. */
typedef void (*tvm_depthwise_rows_mve)(const struct tvm_depthwise_mve *depthwise, const int32_t *places,
                                       const int8_t *bands, int32_t rows, int8_t *output);

struct tvm_depthwise_mve {
    tvm_depthwise_rows_mve rows;
    const int8_t *weights;     /* by channel: vectors of 16 */
    const int32_t *parameters; /* by channel: as those of tvm_gemm_mve; no TVM_ANY_MVE */
    const int32_t *offsets;    /* by vector: from the first word to each of its four */
    int32_t together;          /* rows that are computed together */
    int32_t bands;             /* under them */
    int32_t columns;           /* of a band */
    int32_t width;             /* of the output */
    int32_t stride;            /* along a row */
    int32_t channels;          /* of input and output */
    int32_t kind;              /* see below */
    int32_t low, high;         /* least and largest output */
};

/* What four outputs of a channel have in common:
 *   TVM_PATCH_MVE: two columns of two rows, one vector;
 *   TVM_TALL_MVE: four rows, one vector;
 *   TVM_FLAT_MVE: four columns, each with its own vectors. */
enum { TVM_PATCH_MVE, TVM_TALL_MVE, TVM_FLAT_MVE };

/* Four outputs of one channel from their sums. */
TVM_INLINE tvm_s8x16 tvm_finish_channel_mve(const struct tvm_depthwise_mve *depthwise, tvm_s32x4 sums,
                                            const int32_t *p, tvm_s32x4 multiplier, const int32_t form,
                                            const bool limited)
{
    tvm_s8x16 bytes;

    sums = tvm_add_word(sums, p[0]);
    if (form >= 0) {
        sums = tvm_add_word(tvm_multiply_high_words(sums, multiplier), p[2]);
    } else {
        sums = tvm_double_multiply_words(sums, multiplier);
        sums = tvm_shift_words_alike(tvm_add_word(tvm_add_words(sums, tvm_signs(sums)), p[2]), p[3]);
    }
    bytes = tvm_saturate_one(sums, form > 0 ? form : 0);
    return limited ? tvm_limit_bytes(bytes, depthwise->low, depthwise->high) : bytes;
}

/* The body of a tvm_depthwise_rows_mve for known numbers: what four outputs have in common, how many vectors
 * are under a window, the form of the outputs. */
TVM_INLINE void tvm_depthwise_four_mve(const struct tvm_depthwise_mve *depthwise, const int32_t *places,
                                       const int8_t *bands, int32_t rows, int8_t *output, const int32_t kind,
                                       const int32_t vectors, const int32_t form, const bool limited)
{
    const int32_t across = kind == TVM_PATCH_MVE ? 2 : kind == TVM_FLAT_MVE ? 4 : 1;
    const int32_t channels = depthwise->channels;
    const int32_t width = depthwise->width;
    const int32_t groups = (width + across - 1) / across;
    /* What is left of the width comes first: the next outputs overlap these. */
    const int32_t first = width - (groups - 1) * across;
    const int32_t words = form >= 0 ? 3 : 4;
    const int32_t input_step = 4 * channels * depthwise->stride;
    const int32_t lane1 = width > 1 ? input_step : 0;
    const int32_t lane2 = width > 2 ? 2 * input_step : 0;
    const int32_t lane3 = width > 3 ? 3 * input_step : 0;
    const tvm_s32x4 offsets = tvm_load_words(depthwise->offsets);
    const int8_t *w = depthwise->weights;
    const int32_t *p = depthwise->parameters;

    for (int32_t channel = 0; channel < channels; channel++) {
        const tvm_s8x16 w0 = tvm_load_16(w);
        tvm_s8x16 w1 = w0;
        tvm_s8x16 w2 = w0;
        tvm_s8x16 w3 = w0;
        const tvm_s32x4 multiplier = tvm_repeat_word(p[1]);
        const int8_t *from = bands + 4 * channel;
        int8_t *to = output + channel;
        int32_t from_step = first * input_step;
        int32_t to_step = first * channels;

        if (kind == TVM_PATCH_MVE) {
            if (width > 1) {
                w1 = tvm_word_up(w0);
            }
            w2 = rows > 1 ? tvm_byte_up(w0) : w0;
            w3 = rows > 1 ? tvm_byte_up(w1) : w1;
        } else if (kind == TVM_TALL_MVE && rows > 1) {
            w1 = tvm_byte_up(w0);
            if (rows > 2) {
                w2 = tvm_byte_up(w1);
            }
            if (rows > 3) {
                w3 = tvm_byte_up(w2);
            }
        }
        for (int32_t group = groups; group > 0; group--) {
            int32_t sum0, sum1, sum2, sum3;
            if (kind == TVM_FLAT_MVE) {
                sum0 = tvm_dot_16(tvm_gather_fours(from, offsets), w0);
                sum1 = tvm_dot_16(tvm_gather_fours(from + lane1, offsets), w0);
                sum2 = tvm_dot_16(tvm_gather_fours(from + lane2, offsets), w0);
                sum3 = tvm_dot_16(tvm_gather_fours(from + lane3, offsets), w0);
                for (int32_t i = 1; i < vectors; i++) {
                    const tvm_s32x4 next = tvm_load_words(depthwise->offsets + 4 * i);
                    const tvm_s8x16 more = tvm_load_16(w + 16 * i);
                    sum0 = tvm_add_dot_16(sum0, tvm_gather_fours(from, next), more);
                    sum1 = tvm_add_dot_16(sum1, tvm_gather_fours(from + lane1, next), more);
                    sum2 = tvm_add_dot_16(sum2, tvm_gather_fours(from + lane2, next), more);
                    sum3 = tvm_add_dot_16(sum3, tvm_gather_fours(from + lane3, next), more);
                }
            } else {
                const tvm_s8x16 inputs = tvm_gather_fours(from, offsets);
                sum0 = tvm_dot_16(inputs, w0);
                sum1 = tvm_dot_16(inputs, w1);
                sum2 = tvm_dot_16(inputs, w2);
                sum3 = tvm_dot_16(inputs, w3);
            }
            tvm_scatter_4(to, tvm_load_words(places),
                          tvm_finish_channel_mve(
                              depthwise, tvm_set_odd_words(tvm_set_even_words(sum0, sum2), sum1, sum3), p,
                              multiplier, form, limited));
            from += from_step;
            to += to_step;
            from_step = across * input_step;
            to_step = across * channels;
        }
        w += 16 * vectors;
        p += words;
    }
}

#endif
