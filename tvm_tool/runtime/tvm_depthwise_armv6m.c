/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution of each channel by itself, a channel and a band of rows at a time: the upper half of the band and
 * the lower one share words.
 */
#include "tvm_depthwise_armv6m.h"
#include "tvm_kernels_armv6m.h"

/* A band of rows of the padded image, as words. */
struct band_of_rows {
    int32_t first; /* row of the image, which may be outside */
    int32_t count; /* of rows of words */
    int32_t down;  /* from the upper row in a word to the lower one */
    int32_t columns;
    int32_t left, inside; /* columns of padding, and those of the image */
};

static void fill_plane(uint32_t *to, uint32_t word, int32_t count)
{
    for (; count > 0; count--) {
        *to++ = word;
        TVM_KEEP_LOOP();
    }
}

/* Words of two rows of the image. */
static void pack_both(uint32_t *to, const int8_t *upper, int32_t down, int32_t step, int32_t count)
{
    for (uint32_t *end = to + count; to != end; to++) {
        *to = (uint32_t)*upper + ((uint32_t)upper[down] << 16);
        upper += step;
    }
}

/* Words of a row of the image and of padding, of which `other` is what it adds. */
static void pack_one(uint32_t *to, const int8_t *row, int32_t shift, uint32_t other, int32_t step,
                     int32_t count)
{
    for (uint32_t *end = to + count; to != end; to++) {
        *to = ((uint32_t)*row << shift) + other;
        row += step;
    }
}

/* One channel of a band whose padding stands there already. */
static TVM_NOINLINE void pack_plane(const struct tvm_window *window, const struct band_of_rows *band,
                                    int32_t zero, const int8_t *image, uint32_t *to)
{
    const int32_t channels = window->input_channels;
    const int32_t line = window->input_width * channels;
    const int32_t down = band->down * line;
    int32_t upper = band->first * line;
    int32_t y = band->first;
    int32_t lower = y + band->down;

    to += band->left;
    for (int32_t left = band->count; left > 0; left--) {
        const bool inside = (uint32_t)lower < (uint32_t)window->input_height;
        if ((uint32_t)y >= (uint32_t)window->input_height) {
            if (inside) {
                pack_one(to, image + (upper + down), 16, (uint32_t)zero, channels, band->inside);
            }
        } else if (!inside) {
            pack_one(to, image + upper, 0, (uint32_t)zero << 16, channels, band->inside);
        } else if (band->columns == 1) {
            /* As many rows as lie inside, as if they were one. */
            int32_t more = window->input_height - lower;
            more = (more < left ? more : left) - 1;
            pack_both(to, image + upper, down, line, more + 1);
            to += more;
            y += more;
            lower += more;
            upper += more * line;
            left -= more;
        } else {
            pack_both(to, image + upper, down, channels, band->inside);
        }
        to += band->columns;
        upper += line;
        y++;
        lower++;
    }
}

/* `rows` rows of outputs of a band that is packed. */
static void compute_band(const struct tvm_window *window, const struct tvm_depthwise_armv6m *depthwise,
                         struct tvm_plane_armv6m *plane, uint32_t *taps, int32_t rows, const uint32_t *inputs,
                         uint8_t *output)
{
    const int32_t both = rows / 2;
    const int32_t width = plane->row_outputs;

    plane->other = (rows - both) * width;
    plane->rows = depthwise->flat ? 1 : both;
    plane->count = depthwise->flat ? both : window->output_width;
    if (both > 0) {
        depthwise->block(depthwise, inputs, taps, output);
    }
    if (rows & 1) {
        /* The last row of the upper half has no other one. */
        plane->other = 0;
        plane->rows = 1;
        plane->count = depthwise->flat ? 1 : plane->count;
        depthwise->block(depthwise, inputs + both * plane->row_inputs, taps, output + both * width);
    }
}

/* What a block reads of one channel. */
static void take_channel(const struct tvm_depthwise_armv6m *depthwise, int32_t channel, uint32_t *taps,
                         struct tvm_plane_armv6m *plane)
{
    const int32_t *parameters = depthwise->parameters + channel * depthwise->words;
    const int8_t *weights = depthwise->weights + channel * depthwise->taps;

    plane->channel = channel;
    plane->apart = (parameters[2] & 3) == 0;
    plane->bias = (uint32_t)parameters[0];
    plane->limit = (uint32_t)parameters[1] >> 12;
    plane->low = (uint32_t)parameters[1] & 0xfffu;
    plane->high = (uint32_t)parameters[2] >> 2;
    if (depthwise->words > tvm_words_armv6m(TVM_EXACT)) {
        plane->addend = (uint32_t)parameters[3];
    }
    if (depthwise->words > tvm_words_armv6m(TVM_SPLIT)) {
        plane->below = (uint32_t)parameters[4];
        plane->zero = (uint32_t)parameters[5];
    }
    for (int32_t i = 0; i < depthwise->taps; i++) {
        taps[i] = (uint32_t)weights[i];
    }
}

void tvm_depthwise_armv6m(const struct tvm_window *window, const struct tvm_depthwise_armv6m *depthwise,
                          int32_t zero, const int8_t *input, void *output, void *TVM_RESTRICT scratch)
{
    const int32_t channels = window->input_channels;
    const int32_t height = window->output_height;
    uint32_t *words = (uint32_t *)scratch;
    struct tvm_plane_armv6m *plane = (struct tvm_plane_armv6m *)(void *)(words + depthwise->taps);
    uint32_t *inputs = words + depthwise->taps + TVM_PLANE_WORDS_ARMV6M;
    /* The first two words of the plane are for one form alone. */
    uint32_t *taps = depthwise->words == tvm_words_armv6m(TVM_SIDED) ? words : words + 2;
    uint8_t *to = (uint8_t *)output;
    struct band_of_rows band;

    band.columns = (window->output_width - 1) * window->stride_width + window->kernel_width;
    band.left = window->pad_left < band.columns ? window->pad_left : band.columns;
    band.inside =
        band.columns - band.left < window->input_width ? band.columns - band.left : window->input_width;
    plane->step = channels;
    plane->row_outputs = window->output_width * channels;
    plane->row_inputs = window->stride_height * band.columns;
    for (int32_t image = 0; image < window->batch; image++) {
        for (int32_t first = 0; first < height; first += depthwise->band) {
            const int32_t rows = height - first < depthwise->band ? height - first : depthwise->band;
            const int32_t half = (rows + 1) / 2;
            band.first = first * window->stride_height - window->pad_top;
            band.down = half * window->stride_height;
            band.count = (half - 1) * window->stride_height +
                         (window->kernel_height - 1) * window->dilation_height + 1;
            /* Two words more: a block takes three columns at a time. */
            fill_plane(inputs, (uint32_t)zero + ((uint32_t)zero << 16), band.count * band.columns + 2);
            for (int32_t channel = 0; channel < channels; channel++) {
                take_channel(depthwise, channel, taps, plane);
                pack_plane(window, &band, zero, input + channel, inputs);
                compute_band(window, depthwise, plane, taps, rows, inputs, to + channel);
            }
            to += rows * plane->row_outputs;
        }
        input += window->input_height * window->input_width * channels;
    }
}
