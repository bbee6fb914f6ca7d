/* SPDX-License-Identifier: Apache-2.0
 *
 * Pointers to what lies under a window: padding without padded copies.
 */
#include "tvm_blocks_f32.h"

/* Taps of a window with its top left corner at (top, left), all of it inside the image. */
static void point_inside(const struct tvm_window *window, const float *image, int32_t top, int32_t left,
                         const float **tap)
{
    const int32_t channels = window->input_channels;
    const int32_t column = window->dilation_width * channels;
    const int32_t row = window->dilation_height * window->input_width * channels;
    int32_t start = (top * window->input_width + left) * channels;

    for (int32_t ky = window->kernel_height; ky > 0; ky--) {
        int32_t offset = start;
        for (int32_t kx = window->kernel_width; kx > 0; kx--) {
            *tap = image + offset;
            tap += 4;
            offset += column;
        }
        start += row;
    }
}

/* The same where some of it is padding. */
static void point_at_border(const struct tvm_window *window, const float *image, const float *zeros,
                            int32_t top, int32_t left, const float **tap)
{
    int32_t y = top;

    for (int32_t ky = window->kernel_height; ky > 0; ky--) {
        int32_t x = left;
        for (int32_t kx = window->kernel_width; kx > 0; kx--) {
            bool inside = y >= 0 && y < window->input_height && x >= 0 && x < window->input_width;
            *tap = inside ? image + (y * window->input_width + x) * window->input_channels : zeros;
            tap += 4;
            x += window->dilation_width;
        }
        y += window->dilation_height;
    }
}

void tvm_taps_f32(const struct tvm_window *window, const float *image, const float *zeros, int32_t position,
                  const float **taps)
{
    const int32_t last_top = window->input_height - 1 - (window->kernel_height - 1) * window->dilation_height;
    const int32_t last_left = window->input_width - 1 - (window->kernel_width - 1) * window->dilation_width;
    int32_t out_y = position / window->output_width;
    int32_t out_x = position % window->output_width;

    for (int32_t r = 0; r < 4; r++) {
        const int32_t top = out_y * window->stride_height - window->pad_top;
        const int32_t left = out_x * window->stride_width - window->pad_left;
        if (top >= 0 && top <= last_top && left >= 0 && left <= last_left) {
            point_inside(window, image, top, left, taps + r);
        } else {
            point_at_border(window, image, zeros, top, left, taps + r);
        }
        if (out_x + 1 < window->output_width) {
            out_x++;
        } else if (out_y + 1 < window->output_height) {
            out_x = 0;
            out_y++;
        }
    }
}
