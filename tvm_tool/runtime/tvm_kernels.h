/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_kernels.h - the kernels that generated models call.
 *
 * Ownership: the caller owns all memory; nothing is kept between calls.
 * Layout: tensors are dense and row-major; activations are NHWC (batch, height, width, channels). How
 * weights are packed is said at each kernel; `packed` means [channels / 4][depth][4], then what is left of
 * the channels as [channels % 4][depth], where the depth runs over kernel height, width and input channels.
 * Units: sizes count elements. Alignment: pointers to their element, `scratch` to 16 bytes.
 * Overlap: `output` may be `input` only where it is said.
 * Errors: none; shapes are checked when the model is compiled.
 * Clamp: outputs are limited to [low, high]; -TVM_INFINITY and TVM_INFINITY do not limit. A NaN stays.
 */
#ifndef TVM_KERNELS_H
#define TVM_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef TVM_PROFILE_LAYERS
#include "tvm_platform.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* One layer of a model. The hooks of tvm_platform.h are told if TVM_PROFILE_LAYERS is defined. */
#ifdef TVM_PROFILE_LAYERS
#define TVM_LAYER(index, call)           \
    do {                                 \
        tvm_platform_layer_begin(index); \
        call;                            \
        tvm_platform_layer_end(index);   \
    } while (0)
#else
#define TVM_LAYER(index, call) call
#endif

#ifdef __cplusplus
#define TVM_RESTRICT __restrict
#else
#define TVM_RESTRICT restrict
#endif

#define TVM_INFINITY __builtin_inff()

/* The entry point of a model stays a function of its own, so that a debugger can call it by name. */
#ifdef __clang__
#define TVM_ENTRY __attribute__((noinline, used))
#else
#define TVM_ENTRY __attribute__((noinline, noclone, used))
#endif

/* A window that moves over an image. Height comes before width, positions count from the top left. */
struct tvm_window {
    int32_t batch;
    int32_t input_height, input_width, input_channels;
    int32_t output_height, output_width, output_channels;
    int32_t kernel_height, kernel_width;
    int32_t stride_height, stride_width;
    int32_t dilation_height, dilation_width;
    int32_t pad_top, pad_left, pad_bottom, pad_right;
    int32_t groups; /* of channels; only convolutions other than depthwise look at it */
};

/* Convolution, any shape. Packed weights, one such block for each group.
 * Scratch: kernel_height * kernel_width * 4 pointers, then input_channels floats. */
void tvm_conv2d_f32(const struct tvm_window *window, const float *TVM_RESTRICT input,
                    const float *TVM_RESTRICT weights, const float *TVM_RESTRICT bias, float low, float high,
                    float *TVM_RESTRICT output, void *TVM_RESTRICT scratch);

/* Convolution for few input channels: one group, dilation_width 1. Packed weights.
 * Scratch: 4 * kernel_height * kernel_width * input_channels floats. */
void tvm_conv2d_thin_f32(const struct tvm_window *window, const float *TVM_RESTRICT input,
                         const float *TVM_RESTRICT weights, const float *TVM_RESTRICT bias, float low,
                         float high, float *TVM_RESTRICT output, void *TVM_RESTRICT scratch);

/* Convolution, any shape, the smallest code. Weights [output channels][height][width][channels / groups]. */
void tvm_conv2d_small_f32(const struct tvm_window *window, const float *TVM_RESTRICT input,
                          const float *TVM_RESTRICT weights, const float *TVM_RESTRICT bias, float low,
                          float high, float *TVM_RESTRICT output);

/* Depthwise convolution with as many output as input channels. Weights [channels / 4][height][width][4],
 * then [channels % 4][height][width]. Scratch: as tvm_conv2d_f32. */
void tvm_depthwise_f32(const struct tvm_window *window, const float *TVM_RESTRICT input,
                       const float *TVM_RESTRICT weights, const float *TVM_RESTRICT bias, float low,
                       float high, float *TVM_RESTRICT output, void *TVM_RESTRICT scratch);

/* The same, the smallest code. Weights [height][width][channels]. */
void tvm_depthwise_small_f32(const struct tvm_window *window, const float *TVM_RESTRICT input,
                             const float *TVM_RESTRICT weights, const float *TVM_RESTRICT bias, float low,
                             float high, float *TVM_RESTRICT output);

/* output[channels] = input[depth] . weights + bias. Packed weights. */
void tvm_dense_f32(int32_t depth, int32_t channels, const float *TVM_RESTRICT input,
                   const float *TVM_RESTRICT weights, const float *TVM_RESTRICT bias, float low, float high,
                   float *TVM_RESTRICT output);

/* The same for each of `rows` rows, the smallest code. Weights [channels][depth]. */
void tvm_dense_small_f32(int32_t rows, int32_t depth, int32_t channels, const float *TVM_RESTRICT input,
                         const float *TVM_RESTRICT weights, const float *TVM_RESTRICT bias, float low,
                         float high, float *TVM_RESTRICT output);

/* The same for many rows: four at a time. Packed weights. `output` may be `input` if channels <= depth.
 * Scratch: 4 * depth floats, used only if `output` is `input`. */
void tvm_matmul_f32(int32_t rows, int32_t depth, int32_t channels, const float *input,
                    const float *TVM_RESTRICT weights, const float *TVM_RESTRICT bias, float low, float high,
                    float *output, void *TVM_RESTRICT scratch);

/* Maximum and average of a window. Padding never counts for the maximum; it counts in the divisor of the
 * average (as zeros) if `include_pad`. */
void tvm_max_pool_f32(const struct tvm_window *window, const float *TVM_RESTRICT input,
                      float *TVM_RESTRICT output);
void tvm_average_pool_f32(const struct tvm_window *window, bool include_pad, const float *TVM_RESTRICT input,
                          float *TVM_RESTRICT output);

/* Softmax of each of `rows` rows. `output` may be `input`. */
void tvm_softmax_f32(int32_t rows, int32_t columns, const float *input, float *output);

/* Elementary functions in single precision only; NaN gives NaN, overflow the right infinity or limit. */
float tvm_exp_f32(float x);     /* within 1 ulp */
float tvm_tanh_f32(float x);    /* within 2 ulp */
float tvm_sigmoid_f32(float x); /* within 3 ulp */
float tvm_erf_f32(float x);     /* within 2 ulp */
float tvm_sqrt_f32(float x);    /* exact: the nearest float */

/* Halves, stored as their bits: widened exactly, narrowed to the nearest, ties to even. NaN stays NaN. */
float tvm_f32_from_f16(uint16_t half);
uint16_t tvm_f16_from_f32(float x);
float tvm_f32_from_bf16(uint16_t half);
uint16_t tvm_bf16_from_f32(float x);

/* Numbers and the bits that they are stored as. */
uint32_t tvm_bits_from_f32(float x);
float tvm_f32_from_bits(uint32_t bits);
uint64_t tvm_bits_from_f64(double x);
double tvm_f64_from_bits(uint64_t bits);

#ifdef __cplusplus
}
#endif

#include "tvm_kernels_s8.h"

#endif
