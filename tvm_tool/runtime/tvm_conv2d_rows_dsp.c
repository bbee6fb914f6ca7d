/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution of one group whose input channels are a multiple of 4. The rows under a window stand expanded
 * and padded in a ring; each input row is expanded once.
 */
#include "tvm_expand_dsp.h"
#include "tvm_kernels_dsp.h"

/* A row of the padded image: y counts from the top of the image. */
static TVM_NOINLINE void expand_row(const struct tvm_window *window, int32_t zero, int32_t columns, int32_t y,
                                    const int8_t *image, int32_t *to)
{
    const int32_t half = window->input_channels / 2;
    const struct tvm_padded_row row = tvm_pad_row(window, columns);

    if (y < 0 || y >= window->input_height) {
        tvm_fill_words(to, zero, columns * half);
        return;
    }
    to = tvm_fill_words(to, zero, row.left * half);
    to = tvm_expand(to, 1, image + y * window->input_width * window->input_channels, row.inside * 2 * half);
    tvm_fill_words(to, zero, row.right * half);
}

void tvm_conv2d_rows_dsp(const struct tvm_window *window, const struct tvm_gemm_dsp *gemm, int32_t zero,
                         const int8_t *input, void *output, void *TVM_RESTRICT scratch)
{
    const int32_t kernel = window->kernel_height;
    const int32_t slots = (kernel - 1) * window->dilation_height + 1;
    const int32_t columns = (window->output_width - 1) * window->stride_width + window->kernel_width;
    const int32_t words = columns * (window->input_channels / 2);
    const int32_t move = window->stride_width * (window->input_channels / 2);
    const int32_t **segments = scratch;
    int8_t *line = output;
    int32_t *ring = (int32_t *)(void *)((uint8_t *)scratch + TVM_POINTER_BYTES(kernel));

    for (int32_t image = 0; image < window->batch; image++) {
        int32_t next = 0;
        for (int32_t out_y = 0; out_y < window->output_height; out_y++) {
            const int32_t top = out_y * window->stride_height;
            for (next = next < top ? top : next; next < top + slots; next++) {
                expand_row(window, zero, columns, next - window->pad_top, input, ring + next % slots * words);
            }
            for (int32_t ky = 0; ky < kernel; ky++) {
                segments[ky] = ring + (top + ky * window->dilation_height) % slots * words;
            }
            for (int32_t out_x = 0; out_x < window->output_width; out_x += 2) {
                /* An odd last position is computed together with the one before it. */
                const int32_t x = out_x + 1 < window->output_width ? out_x : out_x - 1;
                int8_t *to = line + x * gemm->channels;
                gemm->pair(gemm, segments, x * move, to, to + gemm->channels);
            }
            line += window->output_width * gemm->channels;
        }
        input += window->input_height * window->input_width * window->input_channels;
    }
}
