/* SPDX-License-Identifier: Apache-2.0
 *
 * Depthwise convolution, all channels of one tap after another.
 */
#include "tvm_blocks_f32.h"

static void add_products(float *output, const float *data, const float *weights, int32_t channels)
{
    for (; channels > 0; channels--) {
        *output += tvm_multiply_f32(*data++, *weights++);
        output++;
    }
}

void tvm_depthwise_small_f32(const struct tvm_window *window, const float *TVM_RESTRICT input,
                             const float *TVM_RESTRICT weights, const float *TVM_RESTRICT bias, float low,
                             float high, float *TVM_RESTRICT output)
{
    const int32_t channels = window->input_channels;
    const int32_t line = window->input_width * channels;

    for (int32_t image = 0; image < window->batch; image++) {
        for (int32_t out_y = 0; out_y < window->output_height; out_y++) {
            for (int32_t out_x = 0; out_x < window->output_width; out_x++) {
                const float *weight = weights;
                int32_t y = out_y * window->stride_height - window->pad_top;
                tvm_copy_f32(output, bias, channels);
                for (int32_t ky = window->kernel_height; ky > 0; ky--) {
                    int32_t x = out_x * window->stride_width - window->pad_left;
                    for (int32_t kx = window->kernel_width; kx > 0; kx--) {
                        if (y >= 0 && y < window->input_height && x >= 0 && x < window->input_width) {
                            add_products(output, input + y * line + x * channels, weight, channels);
                        }
                        weight += channels;
                        x += window->dilation_width;
                    }
                    y += window->dilation_height;
                }
                for (int32_t channel = 0; channel < channels; channel++) {
                    output[channel] = tvm_at_most_f32(tvm_at_least_f32(output[channel], low), high);
                }
                output += channels;
            }
        }
        input += window->input_height * line;
    }
}
