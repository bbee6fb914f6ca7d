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

/* Points to the rows under the windows of a row of outputs: in the input or, with padding, in a ring. */
static TVM_NOINLINE void find_rows_mve(const struct tvm_window *window, int32_t zero, int32_t out_y,
                                       const int8_t *image, int8_t *ring, const int8_t **rows)
{
    const int32_t channels = window->input_channels;
    const bool padded = window->pad_top || window->pad_left || window->pad_bottom || window->pad_right;
    const int32_t slots = (window->kernel_height - 1) * window->dilation_height + 1;
    const int32_t columns = (window->output_width - 1) * window->stride_width +
                            (window->kernel_width - 1) * window->dilation_width + 1;
    const int32_t line = (padded ? columns : window->input_width) * channels;
    const int32_t top = out_y * window->stride_height;
    const int32_t known = out_y > 0 ? top - window->stride_height + slots : 0;

    for (int32_t y = top > known ? top : known; padded && y < top + slots; y++) {
        copy_row_mve(window, zero, columns, y - window->pad_top, image, ring + y % slots * line);
    }
    for (int32_t ky = 0; ky < window->kernel_height; ky++) {
        const int32_t y = top + ky * window->dilation_height;
        rows[ky] = padded ? ring + y % slots * line : image + y * line;
    }
}

void tvm_conv2d_mve(const struct tvm_window *window, const struct tvm_gemm_mve *gemm, tvm_gather_mve gather,
                    int32_t zero, const int8_t *TVM_RESTRICT input, void *TVM_RESTRICT output,
                    void *TVM_RESTRICT scratch)
{
    const int8_t **rows = scratch;
    int8_t *const column = (int8_t *)scratch + TVM_POINTER_BYTES_MVE(window->kernel_height);
    int8_t *pending = NULL;
    int8_t *to = output;

    for (int32_t image = window->batch; image > 0; image--) {
        for (int32_t out_y = 0; out_y < window->output_height; out_y++) {
            const int32_t move = window->stride_width * window->input_channels;
            int32_t x = 0;
            find_rows_mve(window, zero, out_y, input, column + 2 * gemm->depth + 16, rows);
            for (int32_t left = window->output_width; left > 0; left--) {
                if (pending) {
                    gather(rows, x, column + gemm->depth);
                    gemm->pair(gemm, column, column + gemm->depth, pending, to);
                    pending = NULL;
                } else {
                    gather(rows, x, column);
                    pending = to;
                }
                x += move;
                to += gemm->channels;
            }
        }
        input += window->input_height * window->input_width * window->input_channels;
    }
    if (pending) {
        gemm->pair(gemm, column, column, pending, pending);
    }
}
