/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution of one group, any shape: the inputs under the window are gathered for two positions at a time.
 */
#include "tvm_gather_mve.h"
#include "tvm_kernels_mve.h"

/* A row of the padded image: y counts from the top of the image. */
static TVM_NOINLINE void copy_row_mve(const struct tvm_window *window, int32_t zero, int32_t columns,
                                      int32_t y, const int8_t *image, int8_t *to)
{
    const int32_t channels = window->input_channels;
    const struct tvm_padded_row_mve row = tvm_pad_row_mve(window, columns);

    if (y < 0 || y >= window->input_height) {
        tvm_fill_mve(to, zero, columns * channels);
        return;
    }
    to = tvm_fill_mve(to, zero, row.left * channels);
    to = tvm_copy_mve(to, image + y * window->input_width * channels, row.inside * channels);
    tvm_fill_mve(to, zero, row.right * channels);
}

void tvm_conv2d_mve(const struct tvm_window *window, const struct tvm_gemm_mve *gemm, tvm_gather_mve gather,
                    int32_t zero, const int8_t *TVM_RESTRICT input, void *TVM_RESTRICT output,
                    void *TVM_RESTRICT scratch)
{
    const int32_t kernel = window->kernel_height;
    const int32_t channels = window->input_channels;
    const int32_t line = window->input_width * channels;
    const bool padded = window->pad_top || window->pad_left || window->pad_bottom || window->pad_right;
    const int32_t slots = (kernel - 1) * window->dilation_height + 1;
    const int32_t columns = (window->output_width - 1) * window->stride_width +
                            (window->kernel_width - 1) * window->dilation_width + 1;
    const int32_t move = window->stride_width * channels;
    const int8_t **rows = scratch;
    int8_t *column0 = (int8_t *)scratch + TVM_POINTER_BYTES_MVE(kernel);
    int8_t *column1 = column0 + gemm->depth;
    int8_t *ring = column1 + gemm->depth + 16;
    int8_t *pending = NULL;
    int8_t *to = output;

    for (int32_t image = 0; image < window->batch; image++) {
        int32_t next = 0;
        for (int32_t out_y = 0; out_y < window->output_height; out_y++) {
            const int32_t top = out_y * window->stride_height;
            int32_t x = 0;
            for (next = next < top ? top : next; padded && next < top + slots; next++) {
                copy_row_mve(window, zero, columns, next - window->pad_top, input,
                             ring + next % slots * columns * channels);
            }
            for (int32_t ky = 0; ky < kernel; ky++) {
                const int32_t y = top + ky * window->dilation_height;
                rows[ky] = padded ? ring + y % slots * columns * channels : input + y * line;
            }
            for (int32_t out_x = 0; out_x < window->output_width; out_x++) {
                if (pending) {
                    gather(rows, x, column1);
                    gemm->pair(gemm, column0, column1, pending, to);
                    pending = NULL;
                } else {
                    gather(rows, x, column0);
                    pending = to;
                }
                x += move;
                to += gemm->channels;
            }
        }
        input += window->input_height * line;
    }
    if (pending) {
        gemm->pair(gemm, column0, column0, pending, pending);
    }
}
