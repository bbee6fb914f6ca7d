/* SPDX-License-Identifier: Apache-2.0
 *
 * Transposed convolution, one output at a time: the inputs that reach it are gathered, without scratch.
 */
#include "tvm_blocks_s8.h"

/* The input that reaches output `place` of an axis through `tap`; -1 if there is none. */
static int32_t input_through_tap(int32_t place, int32_t tap, int32_t dilation, int32_t stride, int32_t size)
{
    const int32_t from = place - tap * dilation;

    return from < 0 || from % stride != 0 || from / stride >= size ? -1 : from / stride;
}

void tvm_conv2d_transposed_s8(const struct tvm_window *window, const struct tvm_weights_s8 *weights,
                              const struct tvm_rescaling_s8 *how, const void *TVM_RESTRICT input,
                              void *TVM_RESTRICT output)
{
    const int32_t depth = window->input_channels / window->groups;
    const int32_t group = window->output_channels / window->groups;
    const int32_t taps = window->kernel_height * window->kernel_width;
    const int32_t flip = weights->input_unsigned ? 0 : 0x80;
    const int32_t offset = weights->input_zero + flip;
    const uint8_t *image = input;
    uint8_t *to = output;

    for (int32_t batch = 0; batch < window->batch; batch++) {
        for (int32_t out_y = 0; out_y < window->output_height; out_y++) {
            for (int32_t out_x = 0; out_x < window->output_width; out_x++) {
                const int8_t *weight = weights->weights;
                for (int32_t channel = 0; channel < window->output_channels; channel++) {
                    const int32_t weight_zero = weights->zeros ? weights->zeros[channel] : 0;
                    uint32_t sum = (uint32_t)weights->bias[channel];
                    for (int32_t ky = 0; ky < window->kernel_height; ky++) {
                        const int32_t y = input_through_tap(out_y + window->pad_top, ky, window->dilation_height,
                                                            window->stride_height, window->input_height);
                        for (int32_t kx = 0; y >= 0 && kx < window->kernel_width; kx++) {
                            const int32_t x =
                                input_through_tap(out_x + window->pad_left, kx, window->dilation_width,
                                                  window->stride_width, window->input_width);
                            if (x >= 0) {
                                const uint8_t *data =
                                    image + ((y * window->input_width + x) * window->input_channels +
                                             channel / group * depth);
                                const int8_t *tap = weight + (ky * window->kernel_width + kx) * depth;
                                for (int32_t i = 0; i < depth; i++) {
                                    sum += (uint32_t)(((data[i] ^ flip) - offset) * (tap[i] - weight_zero));
                                }
                            }
                        }
                    }
                    *to++ = (uint8_t)how->rescale(how, (int32_t)sum, channel);
                    weight += taps * depth;
                }
            }
        }
        image += window->input_height * window->input_width * window->input_channels;
    }
}
