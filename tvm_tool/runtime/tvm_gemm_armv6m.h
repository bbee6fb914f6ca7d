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

#include "tvm_asm_armv6m.h"

struct tvm_gemm_armv6m;

/* Computes all channels at four positions. `columns` holds the inputs: for each of `length` the words of
 * positions 0 and 1, 2 and 3. Position i goes to output + places[i]; places[0] is 0. */
typedef void (*tvm_gemm_block_armv6m)(const struct tvm_gemm_armv6m *gemm, const uint32_t *columns,
                                      uint8_t *output, const int32_t *places);

/* Weights are [channels / 8][length][8], bytes; `length` is a multiple of 8. Parameters of each channel: the
 * bias; limit * 2^12 + low; high * 4 + 0, 1, 2 or 3 for runs of 2, 3, 4 or 8; then, unless the form is exact,
 * addend and, if it is sided, below and zero. */
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
    return form == TVM_SPLIT ? 4 : form == TVM_SIDED ? 6 : 3;
}

TVM_INLINE uint8_t tvm_output_armv6m(const int32_t *parameters, uint32_t sum, const int32_t form)
{
    const uint32_t low = (uint32_t)parameters[1] & 0xfffu;
    const uint32_t limit = (uint32_t)parameters[1] >> 12;
    const uint32_t high = (uint32_t)parameters[2] >> 2;
    uint32_t value;

    if (sum > limit) {
        /* Negative sums are above it too. */
        sum = ~(uint32_t)tvm_shift_right((int32_t)sum, 31) & limit;
    }
    value = sum * high + (sum * low >> 12) + (uint32_t)parameters[3];
    if (form == TVM_SIDED && sum < (uint32_t)parameters[5]) {
        value += (uint32_t)parameters[4];
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
    uintptr_t weights; /* how far they are behind output, columns and one input */
    const uint8_t *last;
};

#if TVM_ASM_ARMV6M

TVM_INLINE void tvm_channels_armv6m(struct tvm_pass_armv6m *pass, const int8_t *weights, const int32_t form,
                                    const bool long_runs)
{
    pass->weights = (uintptr_t)weights - (uintptr_t)pass->columns - 8 - (uintptr_t)pass->output;
    if (form == TVM_SPLIT && long_runs) {
        TVM_CHANNELS_ARMV6M(pass, TVM_LONG_ARMV6M, TVM_FINISH_ARMV6M("", ""));
    } else if (form == TVM_SPLIT) {
        TVM_CHANNELS_ARMV6M(pass, TVM_SHORT_ARMV6M, TVM_FINISH_ARMV6M("", ""));
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
    const int32_t code = pass->parameters[2] & 3;
    const int32_t run = code == 3 ? 8 : code + 2;
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
