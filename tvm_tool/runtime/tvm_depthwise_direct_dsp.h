/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_depthwise_direct_dsp.h - convolutions of each channel by itself that need no rows side by side. Not for
 * use by a firmware.
 */
#ifndef TVM_DEPTHWISE_DIRECT_DSP_H
#define TVM_DEPTHWISE_DIRECT_DSP_H

#include "tvm_expand_dsp.h"

struct tvm_direct_dsp;

/* Computes all channels of one position from pointers to the inputs under the window. */
typedef void (*tvm_direct_position_dsp)(const struct tvm_direct_dsp *direct, const int8_t *const *taps,
                                        int8_t *output);

struct tvm_direct_dsp {
    tvm_direct_position_dsp position;
    const int32_t *parameters; /* by four input channels, then by outputs of each: see below */
    int32_t taps;              /* inputs under the window */
    int32_t channels;          /* of the input */
    int32_t each;              /* outputs for each of them */
    uint32_t flip;             /* bits to invert: 0x80 of each byte for uint8_t inputs */
    int32_t zero;              /* what padding counts */
    int32_t low, high;
    const struct tvm_rescaling_s8 *how; /* for TVM_ANY */
};

/* The sums of four channels. Words of weights: w2 | w0 << 16, w3 | w1 << 16 for each tap. */
TVM_INLINE const int32_t *tvm_direct_sums(const struct tvm_direct_dsp *direct, const int8_t *const *taps,
                                          int32_t channel, const int32_t *w, int32_t *sums, int32_t count,
                                          const bool whole)
{
    int32_t sum0 = 0;
    int32_t sum1 = 0;
    int32_t sum2 = 0;
    int32_t sum3 = 0;

    for (int32_t tap = direct->taps; tap > 0; tap--) {
        const int8_t *from = *taps++ + channel;
        const uint32_t found = (uint32_t)(whole ? tvm_load_bytes(from) : tvm_load_tail(from, count));
        const int32_t bytes = (int32_t)(found ^ direct->flip);
        const int32_t even = TVM_SXTB16(bytes);
        const int32_t odd = tvm_odd_bytes(bytes);
        sum0 = TVM_SMLABT(even, w[0], sum0);
        sum2 = TVM_SMLATB(even, w[0], sum2);
        sum1 = TVM_SMLABT(odd, w[1], sum1);
        sum3 = TVM_SMLATB(odd, w[1], sum3);
        w += 2;
    }
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
    return w;
}

/* The body of a tvm_direct_position_dsp for a known form. Parameters: the weights of four channels, their four
 * biases, then for each of them as those of tvm_gemm_dsp. */
TVM_INLINE void tvm_depthwise_direct_dsp(const struct tvm_direct_dsp *direct, const int8_t *const *taps,
                                         int8_t *output, const int32_t form, const bool limited)
{
    const int32_t factor = form == TVM_DOUBLE ? 2 : 1;
    const int32_t *p = direct->parameters;

    for (int32_t channel = 0; channel < direct->channels; channel += 4) {
        const int32_t count = direct->channels - channel < 4 ? direct->channels - channel : 4;
        for (int32_t which = 0; which < direct->each; which++) {
            int32_t sums[4];
            const int32_t *bias = count == 4 ? tvm_direct_sums(direct, taps, channel, p, sums, 4, true)
                                             : tvm_direct_sums(direct, taps, channel, p, sums, count, false);
            p = bias + 4;
            for (int32_t i = 0; i < 4; i++) {
                const int32_t sum = tvm_wrap_add(sums[i], bias[i]);
                const int32_t place = (channel + i) * direct->each + which;
                if (form == TVM_ANY) {
                    if (i < count) {
                        tvm_finish_any_dsp(direct->how, &sum, place, 1, output + place);
                    }
                } else {
                    const struct tvm_form_dsp how = tvm_next_form_dsp(&p, form);
                    if (i < count) {
                        output[place] = (int8_t)tvm_output_dsp(&how, sum * factor, form, limited, direct->low,
                                                               direct->high);
                    }
                }
            }
        }
    }
}

#endif
