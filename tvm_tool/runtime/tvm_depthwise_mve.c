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

/* A band: rows y, y + dilation, and two more of the image, and padding on both sides. Up to 60 bytes too many
 * are written. */
static TVM_NOINLINE int8_t *pack_band_mve(const struct tvm_window *window, const struct rows_mve *rows,
                                          int32_t columns, int32_t y, int8_t *to)
{
    const int32_t channels = window->input_channels;
    const int32_t dilation = window->dilation_height;
    const struct tvm_padded_row_mve row = tvm_pad_row_mve(window, columns);
    const int32_t zero = rows->zeros[0];
    const int8_t *a = row_mve(rows, y);
    const int8_t *b = row_mve(rows, y + dilation);
    const int8_t *c = row_mve(rows, y + 2 * dilation);
    const int8_t *d = row_mve(rows, y + 3 * dilation);
    int32_t count = row.inside * channels;

    to = tvm_fill_mve(to, zero, 4 * row.left * channels);
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
    return tvm_fill_mve(to + 4 * count, zero, 4 * row.right * channels);
}

/* The bands under the outputs from row `out_y` on; before `count` rows are overwritten, they are saved. */
static TVM_NOINLINE void prepare_rows_mve(const struct tvm_window *window,
                                          const struct tvm_depthwise_mve *depthwise, struct rows_mve *rows,
                                          int32_t out_y, int32_t count, int8_t *bands)
{
    int32_t y = out_y * window->stride_height - window->pad_top;

    rows->first = out_y;
    for (int32_t i = depthwise->bands; i > 0; i--) {
        bands = pack_band_mve(window, rows, depthwise->columns, y, bands);
        y += 4 * window->dilation_height;
    }
    for (y = out_y; rows->saved && y < out_y + count; y++) {
        (void)tvm_copy_mve(rows->saved + y % rows->slots * rows->line, rows->image + y * rows->line,
                           rows->line);
    }
}

/* Where four outputs are, of `count` rows that are computed together. */
static TVM_NOINLINE void find_places_mve(const struct tvm_depthwise_mve *depthwise, int32_t count,
                                         int32_t *places)
{
    const int32_t width = depthwise->width;
    const int32_t channels = depthwise->channels;
    const int32_t line = width * channels;

    for (int32_t i = 0; i < 4; i++) {
        const int32_t x = depthwise->kind == TVM_FLAT_MVE ? i : depthwise->kind == TVM_PATCH_MVE ? i & 1 : 0;
        const int32_t y = depthwise->kind == TVM_TALL_MVE ? i : depthwise->kind == TVM_PATCH_MVE ? i >> 1 : 0;
        places[i] = (x < width ? x * channels : 0) + (y < count ? y * line : 0);
    }
}

void tvm_depthwise_s8_mve(const struct tvm_window *window, const struct tvm_depthwise_mve *depthwise,
                          int32_t zero, const int8_t *input, void *output, void *TVM_RESTRICT scratch)
{
    int32_t *const places = scratch;
    int8_t *const bands = (int8_t *)(places + 4);
    int8_t *const zeros = bands + 4 * depthwise->bands * depthwise->columns * window->input_channels + 64;
    int8_t *to = output;
    struct rows_mve rows;

    rows.image = input;
    rows.zeros = zeros;
    rows.slots = window->pad_top;
    rows.height = window->input_height;
    rows.line = window->input_width * window->input_channels;
    rows.saved = input == to && rows.slots > 0 ? zeros + rows.line : NULL;
    (void)tvm_fill_mve(zeros, zero, rows.line);
    for (int32_t image = window->batch; image > 0; image--) {
        for (int32_t out_y = 0; out_y < window->output_height; out_y += depthwise->together) {
            const int32_t left = window->output_height - out_y;
            const int32_t count = left < depthwise->together ? left : depthwise->together;
            prepare_rows_mve(window, depthwise, &rows, out_y, count, bands);
            if (out_y == 0 || count < depthwise->together) {
                find_places_mve(depthwise, count, places);
            }
            depthwise->rows(depthwise, places, bands, count, to);
            to += count * depthwise->width * depthwise->channels;
        }
        rows.image += rows.height * rows.line;
    }
}
