/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution of each channel by itself, some rows at a time.
 */
#include "tvm_kernels_mve.h"

/* Where the rows of an image are while its outputs take their place. */
struct rows_mve {
    const int8_t *image;
    const int8_t *zeros; /* a row of padding */
    int8_t *saved;       /* the last rows that were overwritten, or NULL */
    int32_t slots;       /* rows in `saved` */
    int32_t first;       /* row of the image that was not overwritten yet */
    int32_t height, line;
};

TVM_INLINE const int8_t *row_mve(const struct rows_mve *rows, int32_t y)
{
    if (y < 0 || y >= rows->height) {
        return rows->zeros;
    }
    if (rows->saved && y < rows->first) {
        return rows->saved + y % rows->slots * rows->line;
    }
    return rows->image + y * rows->line;
}

/* A band: rows y, y + dilation, ... of the image, and padding on both sides. Up to 60 bytes too many are
 * written. */
static TVM_NOINLINE int8_t *pack_band_mve(const struct rows_mve *rows, const struct tvm_padded_row_mve *row,
                                          int32_t channels, int32_t y, int32_t dilation, int8_t *to)
{
    const int32_t zero = rows->zeros[0];
    const int8_t *a = row_mve(rows, y);
    const int8_t *b = row_mve(rows, y + dilation);
    const int8_t *c = row_mve(rows, y + 2 * dilation);
    const int8_t *d = row_mve(rows, y + 3 * dilation);
    int32_t count = row->inside * channels;

    to = tvm_fill_mve(to, zero, 4 * row->left * channels);
    for (; count >= 16; count -= 16) {
        tvm_store_fours(to, tvm_load_16(a), tvm_load_16(b), tvm_load_16(c), tvm_load_16(d));
        a += 16;
        b += 16;
        c += 16;
        d += 16;
        to += 64;
    }
    if (count > 0) {
        tvm_store_fours(to, tvm_load_first(a, count), tvm_load_first(b, count), tvm_load_first(c, count),
                        tvm_load_first(d, count));
    }
    return tvm_fill_mve(to + 4 * count, zero, 4 * row->right * channels);
}

void tvm_depthwise_s8_mve(const struct tvm_window *window, const struct tvm_depthwise_mve *depthwise,
                          int32_t zero, const int8_t *input, void *output, void *TVM_RESTRICT scratch)
{
    const int32_t channels = window->input_channels;
    const int32_t line = window->input_width * channels;
    const struct tvm_padded_row_mve row = tvm_pad_row_mve(window, depthwise->columns);
    int8_t *const bands = scratch;
    int8_t *const zeros = bands + 4 * depthwise->bands * depthwise->columns * channels + 64;
    struct rows_mve rows = {input, zeros, NULL, window->pad_top, 0, window->input_height, line};
    int8_t *to = output;

    tvm_fill_mve(zeros, zero, line);
    if (input == output && window->pad_top > 0) {
        rows.saved = zeros + line;
    }
    for (int32_t image = 0; image < window->batch; image++) {
        for (int32_t out_y = 0; out_y < window->output_height; out_y += depthwise->together) {
            const int32_t left = window->output_height - out_y;
            const int32_t count = left < depthwise->together ? left : depthwise->together;
            int32_t y = out_y * window->stride_height - window->pad_top;
            int8_t *band = bands;
            rows.first = out_y;
            for (int32_t i = 0; i < depthwise->bands; i++) {
                band = pack_band_mve(&rows, &row, channels, y, window->dilation_height, band);
                y += 4 * window->dilation_height;
            }
            for (y = out_y; rows.saved && y < out_y + count; y++) {
                tvm_copy_mve(rows.saved + y % rows.slots * line, rows.image + y * line, line);
            }
            depthwise->rows(depthwise, bands, count, to);
            to += count * depthwise->width * channels;
        }
        rows.image += window->input_height * line;
    }
}
