/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution of each channel by itself, any shape, one position at a time.
 */
#include "tvm_depthwise_direct_dsp.h"
#include "tvm_kernels_dsp.h"

/* Pointers to the inputs under the window at (y, x) of the image; `zeros` for padding. */
static TVM_NOINLINE void find_taps(const struct tvm_window *window, int32_t y, int32_t x, const int8_t *image,
                                   const int8_t *zeros, const int8_t **taps)
{
    for (int32_t ky = 0; ky < window->kernel_height; ky++) {
        const bool inside = y >= 0 && y < window->input_height;
        int32_t column = x;
        for (int32_t kx = 0; kx < window->kernel_width; kx++) {
            const bool hit = inside && column >= 0 && column < window->input_width;
            *taps++ = hit ? image + (y * window->input_width + column) * window->input_channels : zeros;
            column += window->dilation_width;
        }
        y += window->dilation_height;
    }
}

void tvm_depthwise_any_s8_dsp(const struct tvm_window *window, const struct tvm_direct_dsp *direct,
                              const void *TVM_RESTRICT input, void *TVM_RESTRICT output,
                              void *TVM_RESTRICT scratch)
{
    const int8_t **taps = scratch;
    int8_t *zeros = (int8_t *)scratch + TVM_POINTER_BYTES(direct->taps);
    const int8_t *image = input;
    int8_t *to = output;

    for (int32_t i = 0; i < window->input_channels; i++) {
        zeros[i] = (int8_t)direct->zero;
        TVM_KEEP_LOOP();
    }
    for (int32_t batch = 0; batch < window->batch; batch++) {
        for (int32_t out_y = 0; out_y < window->output_height; out_y++) {
            for (int32_t out_x = 0; out_x < window->output_width; out_x++) {
                find_taps(window, out_y * window->stride_height - window->pad_top,
                          out_x * window->stride_width - window->pad_left, image, zeros, taps);
                direct->position(direct, taps, to);
                to += window->output_channels;
            }
        }
        image += window->input_height * window->input_width * window->input_channels;
    }
}
