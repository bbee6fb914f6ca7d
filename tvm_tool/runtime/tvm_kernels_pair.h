/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_kernels_pair.h - the integer kernels for Cortex-M3 and RV32IM.
 *
 * Ownership, layout and errors are those of tvm_kernels.h; inputs are int8_t, outputs int8_t or uint8_t.
 * Scratch is aligned to 16 bytes, inputs and outputs to nothing: they are read and written by bytes.
 */
#ifndef TVM_KERNELS_PAIR_H
#define TVM_KERNELS_PAIR_H

#include "tvm_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tvm_gemm_pair;
struct tvm_depthwise_pair;

/* Convolution of one group; `zero` is the input's zero point and what padding counts; `slots` are the rows of
 * the padded image under the windows of four neighbouring positions, 0 without padding. `output` may be
 * `input` in a 1x1 convolution of stride 1 with as many outputs as inputs. Scratch: 80 bytes, 8 for each
 * weight of a channel, then `slots` padded rows. */
void tvm_conv2d_pair(const struct tvm_window *window, const struct tvm_gemm_pair *gemm, int32_t slots,
                     int32_t zero, const int8_t *input, void *output, void *TVM_RESTRICT scratch);

/* Each channel by itself. `output` may be `input` if they are equally large and a band is the whole image.
 * Scratch: 4 bytes for each column of the padded rows under half a band. */
void tvm_depthwise_s8_pair(const struct tvm_window *window, const struct tvm_depthwise_pair *depthwise,
                           int32_t zero, const int8_t *input, void *output, void *TVM_RESTRICT scratch);

#ifdef __cplusplus
}
#endif

#endif
