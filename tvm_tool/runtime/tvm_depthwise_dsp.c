/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution of each channel by itself, four channels and a band of rows at a time.
 */
#include "tvm_depthwise_dsp.h"
#include "tvm_kernels_dsp.h"

/* One column of two rows. */
TVM_INLINE int32_t *pack(int32_t *to, int32_t upper, int32_t lower)
{
    const int32_t front = tvm_pack_low(upper, lower);
    const int32_t back = tvm_pack_high(upper, lower);

    tvm_put(to, TVM_SXTB16(front));
    tvm_put(to + 1, tvm_odd_bytes(front));
    tvm_put(to + 2, TVM_SXTB16(back));
    tvm_put(to + 3, tvm_odd_bytes(back));
    return to + 4;
}

TVM_INLINE int32_t *fill_columns(int32_t *to, int32_t zero, int32_t count)
{
    const int32_t word = tvm_pack_low(zero, zero);

    for (; count > 0; count--) {
        tvm_put(to, word);
        tvm_put(to + 1, word);
        tvm_put(to + 2, word);
        tvm_put(to + 3, word);
        to += 4;
    }
    return to;
}

/* What is the same for all rows of an image. */
struct rows_dsp {
    struct tvm_padded_row row;
    int32_t height, channels, line, zero;
    int8_t zeros[4];
};

/* A pair of rows, the upper one `y` rows below the top of the image, padding included. */
TVM_INLINE int32_t *pack_rows(const struct rows_dsp *rows, int32_t y, int32_t count, const int8_t *image,
                              int32_t *to)
{
    const int8_t *upper = rows->zeros;
    const int8_t *lower = rows->zeros;
    int32_t upper_step = 0;
    int32_t lower_step = 0;

    if ((uint32_t)y < (uint32_t)rows->height) {
        upper = image + y * rows->line;
        upper_step = rows->channels;
    }
    if ((uint32_t)(y + 1) < (uint32_t)rows->height) {
        lower = image + (y + 1) * rows->line;
        lower_step = rows->channels;
    }
    to = fill_columns(to, rows->zero, rows->row.left);
    if (count == 4) {
        for (int32_t x = rows->row.inside; x > 0; x--) {
            const int32_t upper_bytes = tvm_load_bytes(upper);
            const int32_t lower_bytes = tvm_load_bytes(lower);
            upper += upper_step;
            lower += lower_step;
            to = pack(to, upper_bytes, lower_bytes);
        }
    } else {
        for (int32_t x = rows->row.inside; x > 0; x--) {
            to = pack(to, tvm_load_tail(upper, count), tvm_load_tail(lower, count));
            upper += upper_step;
            lower += lower_step;
        }
    }
    return fill_columns(to, rows->zero, rows->row.right);
}

/* A function of its own, so that its stack is free again when a channel is computed. */
static TVM_NOINLINE void pack_band(const struct rows_dsp *rows, int32_t y, int32_t pairs, int32_t count,
                                   const int8_t *image, int32_t *to)
{
    for (; pairs > 0; pairs--) {
        to = pack_rows(rows, y, count, image, to);
        y += 2;
    }
}

void tvm_depthwise_s8_dsp(const struct tvm_window *window, const struct tvm_depthwise_dsp *depthwise,
                          int32_t zero, const int8_t *input, void *output, void *TVM_RESTRICT scratch)
{
    const int32_t channels = window->input_channels;
    const int32_t height = window->output_height;
    const int8_t byte = (int8_t)zero;
    const struct rows_dsp image_rows = {
        tvm_pad_row(window, depthwise->columns),
        window->input_height,
        channels,
        window->input_width * channels,
        zero,
        {byte, byte, byte, byte},
    };
    int8_t *result = output;

    for (int32_t image = 0; image < window->batch; image++) {
        const int32_t *parameters = depthwise->parameters;
        for (int32_t channel = 0; channel < channels; channel += 4) {
            const int32_t count = channels - channel < 4 ? channels - channel : 4;
            for (int32_t first = 0; first < height; first += depthwise->band) {
                const int32_t rows = height - first < depthwise->band ? height - first : depthwise->band;
                const int32_t pairs = (rows - 1) * window->stride_height / 2 + depthwise->taps;
                const int32_t *p = parameters;
                pack_band(&image_rows, first * window->stride_height - window->pad_top, pairs, count,
                          input + channel, scratch);
                for (int32_t i = 0; i < count; i++) {
                    depthwise->plane(depthwise, (const int32_t *)scratch + i, p, rows,
                                     result + first * depthwise->width * channels + channel + i);
                    p += depthwise->words;
                }
            }
            parameters += 4 * depthwise->words;
        }
        input += image_rows.height * image_rows.line;
        result += height * depthwise->width * channels;
    }
}
