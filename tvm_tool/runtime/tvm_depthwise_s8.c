/* SPDX-License-Identifier: Apache-2.0
 *
 * Depthwise convolution, one output at a time, without scratch.
 */
#include "tvm_blocks_s8.h"

void tvm_depthwise_s8(const struct tvm_window *window, const struct tvm_weights_s8 *weights,
                      const struct tvm_rescaling_s8 *how, const void *TVM_RESTRICT input,
                      void *TVM_RESTRICT output)
{
    const int32_t channels = window->output_channels;
    const int32_t each = channels / window->input_channels;
    const int32_t weight_row = window->kernel_width * channels;
    const int32_t line = window->input_width * window->input_channels;
    const int32_t flip = weights->input_unsigned ? 0 : 0x80;
    const int32_t offset = weights->input_zero + flip;
    const uint8_t *image = input;
    uint8_t *to = output;

    for (int32_t batch = 0; batch < window->batch; batch++) {
        for (int32_t out_y = 0; out_y < window->output_height; out_y++) {
            const int32_t y = out_y * window->stride_height - window->pad_top;
            const struct tvm_span rows =
                tvm_span_inside(y, window->kernel_height, window->dilation_height, window->input_height);
            for (int32_t out_x = 0; out_x < window->output_width; out_x++) {
                const int32_t x = out_x * window->stride_width - window->pad_left;
                const struct tvm_span columns =
                    tvm_span_inside(x, window->kernel_width, window->dilation_width, window->input_width);
                for (int32_t channel = 0; channel < channels; channel++) {
                    const int32_t weight_zero = weights->zeros ? weights->zeros[channel] : 0;
                    uint32_t sum = (uint32_t)weights->bias[channel];
                    for (int32_t ky = rows.first; ky < rows.end; ky++) {
                        const int32_t row = (y + ky * window->dilation_height) * line + channel / each;
                        const int8_t *weight = weights->weights + ky * weight_row + channel;
                        for (int32_t kx = columns.first; kx < columns.end; kx++) {
                            const int32_t column = x + kx * window->dilation_width;
                            const int32_t data = image[row + column * window->input_channels] ^ flip;
                            sum += (uint32_t)((data - offset) * (weight[kx * channels] - weight_zero));
                        }
                    }
                    *to++ = (uint8_t)how->rescale(how, (int32_t)sum, channel);
                }
            }
        }
        image += window->input_height * line;
    }
}
