/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution of one group, any shape: the inputs under the window are gathered for two positions at a time.
 */
#include "tvm_expand_dsp.h"
#include "tvm_kernels_dsp.h"

/* Copies bytes to a place of any alignment; returns its end. */
static int8_t *copy_bytes(int8_t *to, const int8_t *from, int32_t count)
{
    for (; count >= 4; count -= 4) {
        tvm_store_bytes(to, tvm_load_bytes(from));
        from += 4;
        to += 4;
    }
    for (; count > 0; count--) {
        *to++ = *from++;
        TVM_KEEP_LOOP();
    }
    return to;
}

static int8_t *fill_bytes(int8_t *to, int32_t number, int32_t count)
{
    for (; count > 0; count--) {
        *to++ = (int8_t)number;
        TVM_KEEP_LOOP();
    }
    return to;
}

/* A row of the padded image: y counts from the top of the image. */
static TVM_NOINLINE void copy_row(const struct tvm_window *window, int32_t zero, int32_t columns, int32_t y,
                                  const int8_t *image, int8_t *to)
{
    const int32_t channels = window->input_channels;
    const struct tvm_padded_row row = tvm_pad_row(window, columns);

    if (y < 0 || y >= window->input_height) {
        fill_bytes(to, zero, columns * channels);
        return;
    }
    to = fill_bytes(to, zero, row.left * channels);
    to = copy_bytes(to, image + y * window->input_width * channels, row.inside * channels);
    fill_bytes(to, zero, row.right * channels);
}

void tvm_conv2d_columns_dsp(const struct tvm_window *window, const struct tvm_gemm_dsp *gemm,
                            tvm_gather_dsp gather_column, int32_t zero, const int8_t *input, void *output,
                            void *TVM_RESTRICT scratch)
{
    const int32_t kernel = window->kernel_height;
    const int32_t channels = window->input_channels;
    const int32_t line = window->input_width * channels;
    const bool padded = window->pad_top || window->pad_left || window->pad_bottom || window->pad_right;
    const int32_t slots = (kernel - 1) * window->dilation_height + 1;
    const int32_t columns = (window->output_width - 1) * window->stride_width +
                            (window->kernel_width - 1) * window->dilation_width + 1;
    const int32_t piece_step = window->dilation_width * channels;
    const int8_t **rows = scratch;
    int32_t *column = (int32_t *)(void *)((uint8_t *)scratch + TVM_POINTER_BYTES(kernel));
    int8_t *ring = (int8_t *)(column + gemm->length);
    const int32_t *segment = column;
    int8_t *pending = NULL;
    int8_t *to = output;

    for (int32_t image = 0; image < window->batch; image++) {
        int32_t next = 0;
        for (int32_t out_y = 0; out_y < window->output_height; out_y++) {
            const int32_t top = out_y * window->stride_height;
            for (next = next < top ? top : next; padded && next < top + slots; next++) {
                copy_row(window, zero, columns, next - window->pad_top, input,
                         ring + next % slots * columns * channels);
            }
            for (int32_t ky = 0; ky < kernel; ky++) {
                const int32_t y = top + ky * window->dilation_height;
                rows[ky] = padded ? ring + y % slots * columns * channels : input + y * line;
            }
            for (int32_t out_x = 0; out_x < window->output_width; out_x++) {
                const int32_t x = out_x * window->stride_width * channels;
                gather_column(rows, x, piece_step, pending ? column + 1 : column);
                if (pending) {
                    gemm->pair(gemm, &segment, 0, pending, to);
                    pending = NULL;
                } else {
                    pending = to;
                }
                to += gemm->channels;
            }
        }
        input += window->input_height * line;
    }
    if (pending) {
        for (int32_t i = 0; i < gemm->length; i += 2) {
            column[i + 1] = column[i];
        }
        gemm->pair(gemm, &segment, 0, pending, pending);
    }
}
