/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_kernels_mve.h - the integer kernels for cores with Helium, called by generated code. Not for use by a
 * firmware.
 */
#ifndef TVM_KERNELS_MVE_H
#define TVM_KERNELS_MVE_H

#include "tvm_depthwise_mve.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Products of matrices: `rows` rows of gemm->depth inputs, read where they are. */
void tvm_pointwise_mve(const struct tvm_gemm_mve *gemm, int32_t rows, const int8_t *TVM_RESTRICT input,
                       void *TVM_RESTRICT output);

/* Rows of `depth` inputs that are copied to columns of gemm->depth bytes: `output` may be `input` if there
 * are as many channels as inputs. Scratch: two columns. */
void tvm_pointwise_copied_mve(const struct tvm_gemm_mve *gemm, int32_t rows, int32_t depth,
                              const int8_t *input, void *output, void *TVM_RESTRICT scratch);

/* Copies the inputs of a position to `to`: from `x` on in each of some rows. It may write 15 bytes too
 * many. */
typedef void (*tvm_gather_mve)(const int8_t *const *rows, int32_t x, int8_t *to);

/* Convolution of one group whose inputs are gathered. Scratch: pointers to the rows of the kernel; two
 * columns of gemm->depth bytes and 16 more; where there is padding, a byte for each channel of the padded
 * rows under a window. */
void tvm_conv2d_mve(const struct tvm_window *window, const struct tvm_gemm_mve *gemm, tvm_gather_mve gather,
                    int32_t zero, const int8_t *TVM_RESTRICT input, void *TVM_RESTRICT output,
                    void *TVM_RESTRICT scratch);

/* Each channel by itself. `output` may be `input` if they are equally large and the strides are 1. Scratch:
 * 16 bytes, the bands under rows that are computed together, 64 bytes, a row of the input, and one more for
 * each row of padding at the top if `output` is `input`. */
void tvm_depthwise_s8_mve(const struct tvm_window *window, const struct tvm_depthwise_mve *depthwise,
                          int32_t zero, const int8_t *input, void *output, void *TVM_RESTRICT scratch);

/* As tvm_add_s8_dsp. */
struct tvm_add_dsp;
void tvm_add_s8_mve(const struct tvm_add_dsp *add, int32_t count, const int8_t *shifted,
                    const int8_t *looked_up, int8_t *output);

#ifdef __cplusplus
}
#endif

#endif
