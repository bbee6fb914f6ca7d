/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution by Winograd's F(2, 3), four outputs of a row at a time. The rows under a window stand transformed
 * in a ring; each input row is transformed once.
 */
#include "tvm_kernels_dsp.h"
#include "tvm_winograd_dsp.h"

/* Where four outputs begin that are to begin at `x`: the last ones overlap those before them. */
TVM_INLINE int32_t first_of_four(const struct tvm_window *window, int32_t x)
{
    return x + 4 <= window->output_width ? x : window->output_width - 4;
}

/* Transforms two channels of six neighbours: those of both pairs of outputs in each plane. */
TVM_INLINE void put_planes(int32_t *to, int32_t plane, int32_t d0, int32_t d1, int32_t d2, int32_t d3,
                           int32_t d4, int32_t d5)
{
    tvm_put(to, tvm_add_pairs(d1, d2));
    tvm_put(to + 1, tvm_add_pairs(d3, d4));
    to += plane;
    tvm_put(to, tvm_sub_pairs(d2, d1));
    tvm_put(to + 1, tvm_sub_pairs(d4, d3));
    to += plane;
    tvm_put(to, tvm_sub_pairs(d0, d2));
    tvm_put(to + 1, tvm_sub_pairs(d2, d4));
    to += plane;
    tvm_put(to, tvm_sub_pairs(d1, d3));
    tvm_put(to + 1, tvm_sub_pairs(d3, d5));
}

/* A row of the padded image for all fours of outputs: `row` counts from the top of the padding. Columns of
 * padding are at `padding`. */
static TVM_NOINLINE void transform_row(const struct tvm_window *window, int32_t row, const int8_t *image,
                                       const int8_t *padding, int32_t *ring)
{
    const int32_t depth = window->input_channels;
    const int32_t plane = window->kernel_height * depth;
    const int32_t y = row - window->pad_top;
    const int32_t width = y < 0 || y >= window->input_height ? 0 : window->input_width;
    int32_t *to = ring + row % window->kernel_height * depth;

    for (int32_t out_x = 0; out_x < window->output_width; out_x += 4) {
        const int32_t left = first_of_four(window, out_x) - window->pad_left;
        const int8_t *columns[6];

        for (int32_t i = 0; i < 6; i++) {
            const int32_t x = left + i;
            columns[i] = x < 0 || x >= width ? padding : image + (y * width + x) * depth;
        }
        for (int32_t channel = 0; channel < depth; channel += 4) {
            const int32_t d0 = tvm_load_bytes(columns[0] + channel);
            const int32_t d1 = tvm_load_bytes(columns[1] + channel);
            const int32_t d2 = tvm_load_bytes(columns[2] + channel);
            const int32_t d3 = tvm_load_bytes(columns[3] + channel);
            const int32_t d4 = tvm_load_bytes(columns[4] + channel);
            const int32_t d5 = tvm_load_bytes(columns[5] + channel);
            put_planes(to + channel, plane, TVM_SXTB16(d0), TVM_SXTB16(d1), TVM_SXTB16(d2), TVM_SXTB16(d3),
                       TVM_SXTB16(d4), TVM_SXTB16(d5));
            put_planes(to + channel + 2, plane, tvm_odd_bytes(d0), tvm_odd_bytes(d1), tvm_odd_bytes(d2),
                       tvm_odd_bytes(d3), tvm_odd_bytes(d4), tvm_odd_bytes(d5));
        }
        to += 4 * plane;
    }
}

/* Numbers of the window are read where they are needed: less on the stack, on which the block needs its share. */
void tvm_conv2d_winograd_dsp(const struct tvm_window *window, const struct tvm_gemm_dsp *gemm, int32_t zero,
                             const int8_t *input, void *output, void *TVM_RESTRICT scratch)
{
    int8_t *const padding = scratch;
    int32_t *const ring = (int32_t *)(void *)(padding + (window->input_channels + 15) / 16 * 16);
    int8_t *line = output;

    for (int32_t channel = 0; channel < window->input_channels; channel++) {
        padding[channel] = (int8_t)zero;
        TVM_KEEP_LOOP();
    }
    for (int32_t image = 0; image < window->batch; image++) {
        int32_t next = 0;
        for (int32_t out_y = 0; out_y < window->output_height; out_y++) {
            const int32_t *planes = ring;
            for (; next < out_y + window->kernel_height; next++) {
                transform_row(window, next, input, padding, ring);
            }
            for (int32_t out_x = 0; out_x < window->output_width; out_x += 4) {
                const int32_t start = out_y % window->kernel_height * window->input_channels;
                int8_t *const to = line + first_of_four(window, out_x) * gemm->channels;
                gemm->pair(gemm, &planes, start, to, to + gemm->channels);
                planes += 4 * window->kernel_height * window->input_channels;
            }
            line += window->output_width * gemm->channels;
        }
        input += window->input_height * window->input_width * window->input_channels;
    }
}
