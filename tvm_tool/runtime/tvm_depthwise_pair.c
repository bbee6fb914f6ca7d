/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution of each channel by itself, a band of rows at a time: a row of its upper half and one of its lower
 * half together.
 */
#include "tvm_depthwise_pair.h"
#include "tvm_kernels_pair.h"

/* The rows of a band, and what is the same for all of them. */
struct band_pair {
    int32_t columns, left, inside; /* padded columns; those before and those of the image */
    int32_t first, down, count;    /* row of the image above all; from it to that of the lower half; rows */
};

static uint32_t *fill_words_pair(uint32_t *to, uint32_t word, int32_t count)
{
    for (; count > 0; count--) {
        *to++ = word;
        TVM_KEEP_LOOP();
    }
    return to;
}

/* All inputs of a channel. */
static TVM_NOINLINE void pack_plane_pair(const struct tvm_window *window, const struct band_pair *band,
                                         int32_t zero, const int8_t *image, uint32_t *to)
{
    const int32_t channels = window->input_channels;
    const int32_t line = window->input_width * channels;
    const int8_t byte = (int8_t)zero;
    const uint32_t word = (uint32_t)zero + ((uint32_t)zero << 16);

    for (int32_t row = 0; row < band->count; row++) {
        const int32_t y = band->first + row;
        const int32_t lower_y = y + band->down;
        const bool has_upper = y >= 0 && y < window->input_height;
        const bool has_lower = lower_y >= 0 && lower_y < window->input_height;
        const int8_t *upper = has_upper ? image + y * line : &byte;
        const int8_t *lower = has_lower ? image + lower_y * line : &byte;
        const int32_t upper_step = has_upper ? channels : 0;
        const int32_t lower_step = has_lower ? channels : 0;
        int32_t left = band->inside;
        to = fill_words_pair(to, word, band->left);
        for (; left >= 2; left -= 2) {
            const uint32_t next = (uint32_t)*upper + ((uint32_t)*lower << 16);
            upper += upper_step;
            lower += lower_step;
            to[0] = next;
            to[1] = (uint32_t)*upper + ((uint32_t)*lower << 16);
            upper += upper_step;
            lower += lower_step;
            to += 2;
        }
        if (left > 0) {
            *to++ = (uint32_t)*upper + ((uint32_t)*lower << 16);
        }
        to = fill_words_pair(to, word, band->columns - band->left - band->inside);
    }
}

void tvm_depthwise_s8_pair(const struct tvm_window *window, const struct tvm_depthwise_pair *depthwise,
                           int32_t zero, const int8_t *input, void *output, void *TVM_RESTRICT scratch)
{
    const int32_t channels = window->input_channels;
    const int32_t height = window->output_height;
    const int32_t line = window->output_width * channels;
    uint32_t *inputs = (uint32_t *)scratch;
    int8_t *to = (int8_t *)output;
    struct band_pair band;

    band.columns = depthwise->columns;
    band.left = window->pad_left < band.columns ? window->pad_left : band.columns;
    band.inside =
        band.columns - band.left < window->input_width ? band.columns - band.left : window->input_width;
    for (int32_t image = 0; image < window->batch; image++) {
        for (int32_t first = 0; first < height; first += depthwise->band) {
            const int32_t rows = height - first < depthwise->band ? height - first : depthwise->band;
            /* Of an odd number of rows the middle one is in both halves. */
            const int32_t half = (rows + 1) / 2;
            band.first = first * window->stride_height - window->pad_top;
            band.down = (rows - half) * window->stride_height;
            band.count = (half - 1) * window->stride_height +
                         (window->kernel_height - 1) * window->dilation_height + 1;
            for (int32_t channel = 0; channel < channels; channel++) {
                pack_plane_pair(window, &band, zero, input + channel, inputs);
                depthwise->plane(depthwise, inputs, channel, half, (rows - half) * line, to + channel);
            }
            to += rows * line;
        }
        input += window->input_height * window->input_width * channels;
    }
}
