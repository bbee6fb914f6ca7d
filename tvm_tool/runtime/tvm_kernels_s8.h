/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_kernels_s8.h - the integer kernels that generated models call; tvm_kernels.h includes it.
 *
 * Ownership, layout, alignment and errors are those of tvm_kernels.h.
 * Numbers: a tensor holds int8_t or uint8_t; its real values are scale * (number - zero point). Kernels take
 * either as bytes: (byte ^ flip) - offset is the number minus its zero point, where `flip` is 0x80 and
 * `offset` the zero point + 128 for int8_t, 0 and the zero point for uint8_t.
 * Overlap: `output` may be the input where neither is TVM_RESTRICT; of two inputs only one that is as large
 * as the output.
 */
#ifndef TVM_KERNELS_S8_H
#define TVM_KERNELS_S8_H

#include "tvm_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a sum becomes an output: `rescale` is one of the three functions below. */
struct tvm_rescaling_s8 {
    int32_t (*rescale)(const struct tvm_rescaling_s8 *how, int32_t sum, int32_t channel);
    const void *multipliers; /* for each channel; int32_t, or float for tvm_rescale_float_s8 */
    const int8_t *shifts;    /* for each channel, -31 to 30; NULL for tvm_rescale_float_s8 */
    int32_t zero;            /* zero point of the output */
    int32_t low, high;       /* least and largest output, minus `zero` */
    const void *fractions;   /* for each channel, of the multipliers' type: added to the products; or NULL */
};

/* (sum * multiplier + fraction) * 2^(shift - 31), rounded, limited, plus the zero point.
 * double: rounded at 2^31 (half up) and after the shift (half away from zero); a left shift saturates; no
 * fractions.
 * single: rounded once, half up.
 * float: (float)sum * multiplier + fraction in single precision, rounded half to even. */
int32_t tvm_rescale_double_s8(const struct tvm_rescaling_s8 *how, int32_t sum, int32_t channel);
int32_t tvm_rescale_single_s8(const struct tvm_rescaling_s8 *how, int32_t sum, int32_t channel);
int32_t tvm_rescale_float_s8(const struct tvm_rescaling_s8 *how, int32_t sum, int32_t channel);

/* Weights and what belongs to them. Sums are exact modulo 2^32. */
struct tvm_weights_s8 {
    const int8_t *weights;
    const int32_t *bias;  /* for each output channel */
    const int32_t *zeros; /* zero points of the weights by output channel; NULL if all are 0 */
    int32_t input_zero;   /* zero point of the input */
    bool input_unsigned;  /* uint8_t */
};

/* Convolution of any shape. Weights [output channels][height][width][channels / groups]. The bias of a
 * channel includes -input_zero times the sum of (weight - its zero point). */
void tvm_conv2d_s8(const struct tvm_window *window, const struct tvm_weights_s8 *weights,
                   const struct tvm_rescaling_s8 *how, const void *TVM_RESTRICT input,
                   void *TVM_RESTRICT output);

/* Each input channel by itself, output_channels / input_channels outputs for each.
 * Weights [height][width][output channels]. */
void tvm_depthwise_s8(const struct tvm_window *window, const struct tvm_weights_s8 *weights,
                      const struct tvm_rescaling_s8 *how, const void *TVM_RESTRICT input,
                      void *TVM_RESTRICT output);

/* output[rows][channels] = input[rows][depth] . weights. Weights [channels][depth]; bias as of
 * tvm_conv2d_s8. */
void tvm_dense_s8(int32_t rows, int32_t depth, int32_t channels, const struct tvm_weights_s8 *weights,
                  const struct tvm_rescaling_s8 *how, const void *TVM_RESTRICT input,
                  void *TVM_RESTRICT output);

/* Transposed convolution: `window` is that of the convolution that it is the gradient of, pads cut off the
 * output. Weights [output channels][height][width][channels / groups]; the bias as it stands. */
void tvm_conv2d_transposed_s8(const struct tvm_window *window, const struct tvm_weights_s8 *weights,
                              const struct tvm_rescaling_s8 *how, const void *TVM_RESTRICT input,
                              void *TVM_RESTRICT output);

/* One of two inputs. */
struct tvm_operand_s8 {
    int32_t flip, offset;
    int32_t multiplier, shift; /* for sums in fixed point; shift -31 to 0 */
    float scale;               /* for the functions in float */
};

/* What an operator of two inputs does. */
struct tvm_binary_s8 {
    struct tvm_operand_s8 a, b;
    int32_t sign;              /* 1 adds, -1 subtracts; only in fixed point */
    int32_t multiplier, shift; /* of the result, in fixed point */
    float scale;               /* of the result, in float */
    int32_t zero, low, high;   /* as of tvm_rescaling_s8 */
};

/* output[i] = a[i * a_step] + b[i * b_step] for i < count; a step is 1, or 0 to repeat one element.
 * Fixed point rescales as tvm_rescale_double_s8: for sums both operands, with 20 more bits, then the result.
 * Float is what a network with dequantised operands computes, operation by operation in single precision;
 * a negative scale of b subtracts. */
void tvm_add_fixed_s8(const struct tvm_binary_s8 *how, int32_t count, const void *a, int32_t a_step,
                      const void *b, int32_t b_step, void *output);
void tvm_add_float_s8(const struct tvm_binary_s8 *how, int32_t count, const void *a, int32_t a_step,
                      const void *b, int32_t b_step, void *output);
void tvm_multiply_fixed_s8(const struct tvm_binary_s8 *how, int32_t count, const void *a, int32_t a_step,
                           const void *b, int32_t b_step, void *output);
void tvm_multiply_float_s8(const struct tvm_binary_s8 *how, int32_t count, const void *a, int32_t a_step,
                           const void *b, int32_t b_step, void *output);

/* The square of a - b. In fixed point the operands have 7 more bits. */
void tvm_squared_difference_fixed_s8(const struct tvm_binary_s8 *how, int32_t count, const void *a,
                                     int32_t a_step, const void *b, int32_t b_step, void *output);
void tvm_squared_difference_float_s8(const struct tvm_binary_s8 *how, int32_t count, const void *a,
                                     int32_t a_step, const void *b, int32_t b_step, void *output);

/* a, times b where a is negative. In fixed point `a` has the multiplier for the rest. */
void tvm_slope_fixed_s8(const struct tvm_binary_s8 *how, int32_t count, const void *a, int32_t a_step,
                        const void *b, int32_t b_step, void *output);
void tvm_slope_float_s8(const struct tvm_binary_s8 *how, int32_t count, const void *a, int32_t a_step,
                        const void *b, int32_t b_step, void *output);

/* The larger number of two that are quantised alike; the smaller one with a.flip ^ 0xff. */
void tvm_larger_s8(const struct tvm_binary_s8 *how, int32_t count, const void *a, int32_t a_step,
                   const void *b, int32_t b_step, void *output);

/* output[batch][m][n] = a[batch][m][k] . b[batch][k][n] of two inputs; multiplier 0 of `how` is for all. */
struct tvm_product_s8 {
    int32_t batch, m, k, n;
    int32_t a_flip, a_offset, b_flip, b_offset;
    const int32_t *bias; /* for each n; NULL for none */
};
void tvm_matmul_s8(const struct tvm_product_s8 *product, const struct tvm_rescaling_s8 *how,
                   const void *TVM_RESTRICT a, const void *TVM_RESTRICT b, void *TVM_RESTRICT output);

/* Pooling: `finish` is one of the three functions below. */
struct tvm_pool_s8 {
    int32_t (*finish)(const struct tvm_pool_s8 *how, int32_t sum, int32_t count);
    int32_t flip, offset;
    int32_t zero, low, high;    /* as of tvm_rescaling_s8 */
    const int32_t *multipliers; /* for tvm_pool_rescaled_s8, by the elements of a window less `first` */
    const int8_t *shifts;
    int32_t first;
    float input_scale, output_scale; /* for tvm_pool_float_s8 */
};

/* Output from the sum of the `count` elements of a window.
 * same: their average, half away from zero.
 * rescaled: the sum as by tvm_rescale_double_s8; the multipliers include 1 / count.
 * float: sum * input_scale / count / output_scale in single precision, rounded half to even; for maxima. */
int32_t tvm_pool_same_s8(const struct tvm_pool_s8 *how, int32_t sum, int32_t count);
int32_t tvm_pool_rescaled_s8(const struct tvm_pool_s8 *how, int32_t sum, int32_t count);
int32_t tvm_pool_float_s8(const struct tvm_pool_s8 *how, int32_t sum, int32_t count);

/* Average and maximum (a sum of one element) of a window. Padding never counts; each window holds at least
 * one element. */
void tvm_average_pool_s8(const struct tvm_window *window, const struct tvm_pool_s8 *how,
                         const void *TVM_RESTRICT input, void *TVM_RESTRICT output);
void tvm_max_pool_s8(const struct tvm_window *window, const struct tvm_pool_s8 *how,
                     const void *TVM_RESTRICT input, void *TVM_RESTRICT output);

/* Average of dequantised elements, operation by operation in single precision, in the order in which
 * onnxruntime adds them. `finish` of `how` is not used. */
void tvm_average_pool_float_s8(const struct tvm_window *window, const struct tvm_pool_s8 *how,
                               const void *TVM_RESTRICT input, void *TVM_RESTRICT output);

/* input[outer][count][inner], of which `count` vanishes. */
struct tvm_axis_s8 {
    int32_t outer, count, inner;
};

/* Sums along an axis, finished as those of pooling: `finish` gets `divisor` for its count. */
void tvm_sum_s8(const struct tvm_axis_s8 *axis, const struct tvm_pool_s8 *how, int32_t divisor,
                const void *TVM_RESTRICT input, void *TVM_RESTRICT output);

/* The largest number along an axis, `mask` being the flip; the least with the flip ^ 0xff. */
void tvm_most_s8(const struct tvm_axis_s8 *axis, int32_t mask, const void *TVM_RESTRICT input,
                 void *TVM_RESTRICT output);

/* An axis that is resized: output i lies at i * step + start, in units of 1/1024 of a pixel. */
struct tvm_resize_axis_s8 {
    int32_t input, output, step, start;
};

/* Bilinear interpolation of images [height][width][channels], half away from zero; same quantisation. */
struct tvm_resize_s8 {
    int32_t batch, channels, flip;
    struct tvm_resize_axis_s8 height, width;
};
void tvm_resize_bilinear_s8(const struct tvm_resize_s8 *resize, const void *TVM_RESTRICT input,
                            void *TVM_RESTRICT output);

/* Softmax of each of `rows` rows in fixed point: output scale 1 / 256, least zero point, `flip` of input and
 * output. exponentials[255 - d] is exp(-d * scale of the input) in units of 2^-31; at most 4095 columns. */
void tvm_softmax_fixed_s8(int32_t rows, int32_t columns, int32_t input_flip, int32_t output_flip,
                          const int32_t *exponentials, const void *input, void *output);

/* Softmax in single precision; exponentials[255 - d] is exp(-d * scale of the input). Outputs are the
 * probability / output_scale + zero, rounded half to even, low and high as of tvm_rescaling_s8. */
struct tvm_softmax_s8 {
    int32_t flip;
    float output_scale;
    int32_t zero, low, high;
};
void tvm_softmax_float_s8(int32_t rows, int32_t columns, const struct tvm_softmax_s8 *how,
                          const float *exponentials, const void *input, void *output);

/* output[i] = table[input[i] ^ flip], of 8-bit elements. */
void tvm_table_s8(int32_t elements, int32_t flip, const void *table, const void *input, void *output);

#ifdef __cplusplus
}
#endif

#endif
