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
    int32_t zero;              /* what padding counts */
    int32_t low, high;
    const struct tvm_rescaling_s8 *how; /* for TVM_ANY */
};

/* The sums of four channels, or of the `count` last ones if not `whole`. Words of weights for each tap:
 * w2 | w0 << 16, w3 | w1 << 16; then four biases. Returns what follows. */
TVM_INLINE const int32_t *tvm_direct_sums(const int8_t *const *taps, int32_t channel, const int32_t *w,
                                          int32_t *sums, int32_t count, const int32_t tap_count,
                                          const uint32_t flip, const bool whole)
{
    int32_t sum0 = w[2 * tap_count];
    int32_t sum1 = w[2 * tap_count + 1];
    int32_t sum2 = w[2 * tap_count + 2];
    int32_t sum3 = w[2 * tap_count + 3];

    TVM_UNROLL
    for (int32_t tap = 0; tap < tap_count; tap++) {
        const int8_t *from = taps[tap] + channel;
        const uint32_t found = (uint32_t)(whole ? tvm_load_bytes(from) : tvm_load_tail(from, count));
        const int32_t bytes = (int32_t)(found ^ flip);
        const int32_t even = TVM_SXTB16(bytes);
        const int32_t odd = tvm_odd_bytes(bytes);
        sum0 = TVM_SMLABT(even, w[2 * tap], sum0);
        sum2 = TVM_SMLATB(even, w[2 * tap], sum2);
        sum1 = TVM_SMLABT(odd, w[2 * tap + 1], sum1);
        sum3 = TVM_SMLATB(odd, w[2 * tap + 1], sum3);
    }
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
    return w + 2 * tap_count + 4;
}

/* The outputs of `count` channels from `channel` on, the one numbered `which` of each. */
TVM_INLINE const int32_t *tvm_direct_outputs(const struct tvm_direct_dsp *direct, const int32_t *p,
                                             const int32_t *sums, int32_t channel, int32_t which,
                                             int8_t *output, int32_t count, const int32_t each,
                                             const int32_t form, const bool limited)
{
    const int32_t factor = form == TVM_DOUBLE ? 2 : 1;

    output += channel * each + which;
    TVM_UNROLL
    for (int32_t i = 0; i < count; i++) {
        if (form == TVM_ANY) {
            tvm_finish_any_dsp(direct->how, &sums[i], (channel + i) * each + which, 1, output + i * each);
        } else {
            const struct tvm_form_dsp how = tvm_next_form_dsp(&p, form);
            const int32_t sum = sums[i] * factor;
            output[i * each] = (int8_t)tvm_output_dsp(&how, sum, form, limited, direct->low, direct->high);
        }
    }
    return form == TVM_ANY ? p : p + (4 - count) * (form == TVM_DOUBLE ? 3 : 2);
}

/* The body of a tvm_direct_position_dsp for known numbers: inputs under the window, outputs for each channel,
 * bits to invert (0x80 of each byte for uint8_t inputs), and the form. Parameters: the weights of four channels,
 * their four biases, then for each of them as those of tvm_gemm_dsp. */
TVM_INLINE void tvm_depthwise_direct_dsp(const struct tvm_direct_dsp *direct, const int8_t *const *taps,
                                         int8_t *output, const int32_t tap_count, const int32_t each,
                                         const uint32_t flip, const int32_t form, const bool limited)
{
    const int32_t *p = direct->parameters;

    for (int32_t channel = 0; channel < direct->channels; channel += 4) {
        const int32_t rest = direct->channels - channel;
        for (int32_t which = 0; which < each; which++) {
            int32_t sums[4];
            if (rest < 4) {
                p = tvm_direct_sums(taps, channel, p, sums, rest, tap_count, flip, false);
                p = tvm_direct_outputs(direct, p, sums, channel, which, output, rest, each, form, limited);
            } else {
                p = tvm_direct_sums(taps, channel, p, sums, 4, tap_count, flip, true);
                p = tvm_direct_outputs(direct, p, sums, channel, which, output, 4, each, form, limited);
            }
        }
    }
}

#endif
