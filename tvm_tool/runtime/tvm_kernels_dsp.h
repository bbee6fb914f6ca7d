/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_kernels_dsp.h - the integer kernels for cores with the DSP extension: Cortex-M4, M7, M33 and M35P.
 *
 * Ownership, layout and errors are those of tvm_kernels.h; inputs are int8_t, outputs int8_t or uint8_t.
 * Scratch is aligned to 16 bytes, inputs and outputs to nothing: these cores load words from any address.
 */
#ifndef TVM_KERNELS_DSP_H
#define TVM_KERNELS_DSP_H

#include "tvm_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tvm_gemm_dsp;
typedef void (*tvm_gather_dsp)(const int8_t *const *rows, int32_t x, int32_t piece_step, int32_t *to);
struct tvm_depthwise_dsp;

/* 1x1 convolution at `rows` positions of `depth` channels. `output` may be `input` if the channels are not
 * more than depth. Scratch: 4 bytes for each channel of the input, rounded up to four channels; NULL if these
 * are at most TVM_STACK_SCRATCH_DSP, which then are on the stack. */
enum { TVM_STACK_SCRATCH_DSP = 32 };
void tvm_pointwise_dsp(const struct tvm_gemm_dsp *gemm, int32_t rows, int32_t depth, const int8_t *input,
                       void *output, void *TVM_RESTRICT scratch);

/* Convolution of one group; `zero` is the input's zero point and what padding counts.
 * rows: input channels are a multiple of 4, dilation_width 1, output_width at least 2. Scratch: kernel_height
 * pointers (8 bytes each, rounded up to 16), then 2 bytes for each channel of the padded rows under a window.
 * `output` may be `input` where no row of it reaches rows of the input that come into the ring later.
 * columns: any shape; `gather` expands the inputs of a position. Scratch: kernel_height pointers,
 * gemm->length words, then, if there is padding, a byte for each channel of the padded rows under a
 * window. */
void tvm_conv2d_rows_dsp(const struct tvm_window *window, const struct tvm_gemm_dsp *gemm, int32_t zero,
                         const int8_t *input, void *output, void *TVM_RESTRICT scratch);
void tvm_conv2d_columns_dsp(const struct tvm_window *window, const struct tvm_gemm_dsp *gemm,
                            tvm_gather_dsp gather, int32_t zero, const int8_t *input, void *output,
                            void *TVM_RESTRICT scratch);

/* Each channel by itself, dilation_height 1. `output` may be `input` if it is not larger and a band is the
 * whole image. Scratch: 16 bytes for each column of each pair of rows of a band. */
void tvm_depthwise_s8_dsp(const struct tvm_window *window, const struct tvm_depthwise_dsp *depthwise,
                          int32_t zero, const int8_t *input, void *output, void *TVM_RESTRICT scratch);

/* output[i] = (table[looked_up[i]] + shifted[i] * 2^20) * multiplier / 2^32, rounded, then shifted to the
 * right. The addend holds half of the last place and the zero point. `plain`: rounded half up, limited to
 * int8_t; else half away from zero, limited to [low, high]. The table is by byte. `output` may be either
 * input. */
struct tvm_add_dsp {
    const int32_t *table;
    int32_t multiplier, addend, shift;
    bool plain;
    int32_t low, high;
};
void tvm_add_s8_dsp(const struct tvm_add_dsp *add, int32_t count, const int8_t *shifted,
                    const int8_t *looked_up, int8_t *output);

/* tvm_average_pool_s8 of at most 255 elements, or tvm_max_pool_s8, for at least four channels. */
void tvm_pool2d_s8_dsp(const struct tvm_window *window, const struct tvm_pool_s8 *how, bool average,
                       const int8_t *TVM_RESTRICT input, void *TVM_RESTRICT output);

#ifdef __cplusplus
}
#endif

#endif
