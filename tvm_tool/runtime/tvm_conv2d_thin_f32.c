/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution for few input channels: the windows of four output positions are gathered into four rows.
 */
#include "tvm_blocks_f32.h"

/* Copies one window, zeros where it is padding. */
static void gather_f32(const struct tvm_window *window, const float *image, int32_t out_y, int32_t out_x,
                       float *row)
{
    const int32_t width = window->input_width;
    const int32_t channels = window->input_channels;
    const int32_t x = out_x * window->stride_width - window->pad_left;
    const struct tvm_span span = tvm_span_inside(x, window->kernel_width, 1, width);
    const int32_t inside = span.end > span.first ? span.end - span.first : 0;
    int32_t y = out_y * window->stride_height - window->pad_top;

    for (int32_t ky = window->kernel_height; ky > 0; ky--) {
        if (inside > 0 && y >= 0 && y < window->input_height) {
            row = tvm_zero_f32(row, span.first * channels);
            row = tvm_copy_f32(row, image + (y * width + x + span.first) * channels, inside * channels);
            row = tvm_zero_f32(row, (window->kernel_width - span.end) * channels);
        } else {
            row = tvm_zero_f32(row, window->kernel_width * channels);
        }
        y += window->dilation_height;
    }
}

void tvm_conv2d_thin_f32(const struct tvm_window *window, const float *TVM_RESTRICT input,
                         const float *TVM_RESTRICT weights, const float *TVM_RESTRICT bias, float low,
                         float high, float *TVM_RESTRICT output, void *TVM_RESTRICT scratch)
{
    const int32_t depth = window->kernel_height * window->kernel_width * window->input_channels;
    const int32_t channels = window->output_channels;
    const struct tvm_gemm_f32 gemm = {1, depth, channels, channels, low, high};
    float *const columns = (float *)scratch;
    const float *const rows[4] = {columns, columns + depth, columns + 2 * depth, columns + 3 * depth};
    int32_t count = 0;

    for (int32_t image = 0; image < window->batch; image++) {
        for (int32_t out_y = 0; out_y < window->output_height; out_y++) {
            for (int32_t out_x = 0; out_x < window->output_width; out_x++) {
                gather_f32(window, input, out_y, out_x, columns + count * depth);
                if (++count == 4) {
                    tvm_gemm_f32(&gemm, rows, 0, weights, bias, output, 4);
                    output += 4 * channels;
                    count = 0;
                }
            }
        }
        input += window->input_height * window->input_width * window->input_channels;
    }
    tvm_gemm_f32(&gemm, rows, 0, weights, bias, output, count);
}
