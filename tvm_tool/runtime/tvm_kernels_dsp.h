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
struct tvm_direct_dsp;

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

/* Convolution of one group by the products of tvm_winograd_dsp.h: kernel_width 3, strides and dilations 1, input
 * channels a multiple of 4, output_width at least 4. `output` may be `input` as for rows. Scratch: a byte for each
 * channel of the input, rounded up to 16; then 16 bytes for each of them, for each row under a window and each four
 * columns of the output. */
void tvm_conv2d_winograd_dsp(const struct tvm_window *window, const struct tvm_gemm_dsp *gemm, int32_t zero,
                             const int8_t *input, void *output, void *TVM_RESTRICT scratch);

/* Convolution of any shape, one group after the other; pads may be negative. Behind the inputs of a position
 * stand, if wanted, the sums of each `piece` words of them, then the 16-bit numbers at some places once more.
 * Scratch: 192 bytes, kernel_height pointers, two columns, two words for each output channel of a group if it has a
 * rescaling, then, with a ring, `width` times `depth` bytes for each row under
 * a window. */
struct tvm_columns_dsp {
    tvm_gather_dsp gather;
    int32_t words;        /* of a column */
    int32_t inputs;       /* words that are gathered */
    int32_t piece;        /* 0 for no sums */
    const int32_t *again; /* places; an even count */
    int32_t again_count;
    int32_t zero;                /* what padding counts */
    int32_t width;               /* of a padded row, in columns */
    bool ring;                   /* needed for padding and for more than one group */
    int32_t depth;               /* input channels of a group */
    int32_t weights, parameters; /* words of a group */
    int32_t first;               /* offset of the first output */
    int32_t step, line, image;   /* distances of outputs: of neighbours, of rows, of images */
};
void tvm_conv2d_any_dsp(const struct tvm_window *window, const struct tvm_gemm_dsp *gemm,
                        const struct tvm_columns_dsp *columns, const void *TVM_RESTRICT input,
                        void *TVM_RESTRICT output, void *TVM_RESTRICT scratch);

/* Each channel by itself, dilation_height 1. `output` may be `input` if it is not larger and a band is the
 * whole image. Scratch: 16 bytes for each column of each pair of rows of a band. */
void tvm_depthwise_s8_dsp(const struct tvm_window *window, const struct tvm_depthwise_dsp *depthwise,
                          int32_t zero, const int8_t *input, void *output, void *TVM_RESTRICT scratch);

/* Each channel by itself, any shape, any number of outputs for each. Scratch: a pointer for each place of the
 * window, then a byte for each channel of the input. */
void tvm_depthwise_any_s8_dsp(const struct tvm_window *window, const struct tvm_direct_dsp *direct,
                              const void *TVM_RESTRICT input, void *TVM_RESTRICT output,
                              void *TVM_RESTRICT scratch);

/* tvm_matmul_s8 of two inputs. `a_flip` makes four bytes into int8_t, of which `a_zero` is the zero point;
 * (byte ^ b_flip) - b_offset is a number of `b` less its zero point. Outputs are those of tvm_gemm_dsp with a
 * shift as `form`, TVM_DOUBLE or TVM_ANY, the same for all. Scratch: 8 bytes for each k, rounded up to a
 * multiple of four, and 16 bytes. */
struct tvm_matmul_dsp {
    int32_t batch, m, k, n;
    uint32_t a_flip;
    int32_t a_zero, b_flip, b_offset;
    const int32_t *bias; /* for each n; NULL for none */
    int32_t form, correction, multiplier, addend, shift;
    int32_t low, high;
    const struct tvm_rescaling_s8 *how; /* for TVM_ANY */
};
void tvm_matmul_s8_dsp(const struct tvm_matmul_dsp *product, const void *TVM_RESTRICT a,
                       const void *TVM_RESTRICT b, void *TVM_RESTRICT output, void *TVM_RESTRICT scratch);

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

/* output[i] = a_table[a[i]] + b_table[b[i]], shifted to the right, limited to [low, high] or, if not `limited`,
 * to int8_t, with the bits of `flip` inverted. Tables are by byte; steps as of tvm_add_fixed_s8. `output` may
 * be an input that is as large. */
struct tvm_tables_dsp {
    const int32_t *a, *b;
    int32_t shift, flip;
    bool limited;
    int32_t low, high;
};
void tvm_tables_s8_dsp(const struct tvm_tables_dsp *how, int32_t count, const void *a, int32_t a_step,
                       const void *b, int32_t b_step, void *output);

/* output[i] = (a[i] - a_zero) * (b[i] - b_zero), rounded `twice` as by tvm_rescale_double_s8, or with the
 * correction * multiplier / 2^32, rounded half up, plus the addend and shifted to the right; then limited to
 * [low, high] or, if not `limited`, to int8_t. The addend holds half of the last place and the zero point.
 * Overlap and steps as above. */
struct tvm_multiply_dsp {
    int32_t a_zero, b_zero, correction;
    int32_t multiplier, addend, shift;
    bool twice, limited;
    int32_t low, high;
};
void tvm_multiply_s8_dsp(const struct tvm_multiply_dsp *how, int32_t count, const int8_t *a, int32_t a_step,
                         const int8_t *b, int32_t b_step, int8_t *output);

/* output[i] = a_table[a[i]] * b_table[b[i]] / scale in single precision, rounded half to even, limited to
 * [low, high], plus the zero point. Tables are by byte. Overlap and steps as above. */
struct tvm_multiply_float_dsp {
    const float *a, *b;
    float scale;
    int32_t zero, low, high;
};
void tvm_multiply_float_dsp(const struct tvm_multiply_float_dsp *how, int32_t count, const void *a,
                            int32_t a_step, const void *b, int32_t b_step, void *output);

/* The larger of two numbers, which `mask` makes into int8_t of the right order: 0 or, for uint8_t, 0x80; the
 * smaller one with the mask ^ 0xff. Overlap and steps as above. */
void tvm_larger_s8_dsp(const int32_t *mask, int32_t count, const void *a, int32_t a_step, const void *b,
                       int32_t b_step, void *output);

/* output[i] = table[input[i]], by byte. `output` may be `input`. */
void tvm_table_s8_dsp(int32_t elements, const void *table, const void *input, void *output);

/* tvm_average_pool_s8 or tvm_max_pool_s8, for at least four channels. */
void tvm_pool2d_s8_dsp(const struct tvm_window *window, const struct tvm_pool_s8 *how, bool average,
                       const void *TVM_RESTRICT input, void *TVM_RESTRICT output);

/* tvm_most_s8 for at least four neighbours. */
void tvm_most_s8_dsp(const struct tvm_axis_s8 *axis, int32_t mask, const void *TVM_RESTRICT input,
                     void *TVM_RESTRICT output);

#ifdef __cplusplus
}
#endif

#endif
