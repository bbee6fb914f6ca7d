/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_kernels_armv6m.h - the integer kernels for Cortex-M0 and M0+.
 *
 * Ownership, layout and errors are those of tvm_kernels.h; where it is not said, inputs are int8_t, outputs int8_t
 * or uint8_t.
 * Scratch is aligned to 16 bytes, inputs and outputs to nothing.
 */
#ifndef TVM_KERNELS_ARMV6M_H
#define TVM_KERNELS_ARMV6M_H

#include "tvm_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tvm_gemm_armv6m;

/* Convolution of one group, any shape; `zero` is the input's zero point and what padding counts. `slots`: 0
 * without padding, else as many rows of the padded image as lie under the windows of four positions.
 * `output` may be `input` if they are equally large and the window is 1x1. Scratch: 80 bytes, 8 bytes for each weight
 * of a channel, which are rounded up to a multiple of 8, then the padded rows. */
void tvm_conv2d_armv6m(const struct tvm_window *window, const struct tvm_gemm_armv6m *gemm, int32_t slots,
                       int32_t zero, const int8_t *input, void *output, void *TVM_RESTRICT scratch);

struct tvm_depthwise_armv6m;

/* Each channel by itself, dilation_width 1. `output` may be `input` if they are equally large and a band is the
 * whole image. Scratch: a word for each weight of a channel, which are rounded up to threes in each row, 16
 * words, a word for each column of each row of the upper half of a band, and 2 words. */
void tvm_depthwise_armv6m(const struct tvm_window *window, const struct tvm_depthwise_armv6m *depthwise,
                          int32_t zero, const int8_t *input, void *output, void *TVM_RESTRICT scratch);

/* output[i] = (table[looked_up[i]] + multiplied[i] * multiplier) / 2^20, rounded down, limited to 0 and `most`,
 * plus `low`. The table is by byte. `output` may be either input. */
#define TVM_ADD_SHIFT_ARMV6M 20
struct tvm_add_armv6m {
    const int32_t *table;
    int32_t multiplier;
    uint32_t most;
    int32_t low;
};
void tvm_add_s8_armv6m(const struct tvm_add_armv6m *add, int32_t count, const void *looked_up,
                       const int8_t *multiplied, void *output);

/* tvm_average_pool_s8 or tvm_max_pool_s8, for at least four channels. */
void tvm_pool2d_armv6m(const struct tvm_window *window, const struct tvm_pool_s8 *how, bool average,
                       const void *TVM_RESTRICT input, void *TVM_RESTRICT output);

#ifdef __cplusplus
}
#endif

#endif
