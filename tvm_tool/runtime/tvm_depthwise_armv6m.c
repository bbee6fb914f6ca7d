/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution of each channel by itself, a channel and a band of rows at a time: the upper half of the band and
 * the lower one share words.
 */
#include "tvm_depthwise_armv6m.h"
#include "tvm_kernels_armv6m.h"

/* A band of the padded image of one channel. */
struct band_of_rows {
    int32_t first; /* row of the image, which may be outside */
    int32_t count; /* of rows of words */
    int32_t down;  /* from the upper row in a word to the lower one */
    int32_t columns;
};

static uint32_t *fill_words(uint32_t *to, uint32_t word, int32_t count)
{
    for (; count > 0; count--) {
        *to++ = word;
        TVM_KEEP_LOOP();
    }
    return to;
}

/* Words of a row of the image, and of the one below it with which it shares them. */
static uint32_t *pack_row(uint32_t *to, const int8_t *upper, int32_t upper_step, const int8_t *lower,
                          int32_t lower_step, int32_t count)
{
    for (; count > 0; count--) {
        *to++ = (uint32_t)*upper + ((uint32_t)*lower << 16);
        upper += upper_step;
        lower += lower_step;
    }
    return to;
}

static TVM_NOINLINE void pack_band(const struct tvm_window *window, const struct band_of_rows *band,
                                   int32_t zero, const int8_t *image, uint32_t *to)
{
    const int8_t outside = (int8_t)zero;
    const uint32_t word = (uint32_t)zero + ((uint32_t)zero << 16);
    const int32_t channels = window->input_channels;
    const int32_t line = window->input_width * channels;
    const int32_t columns = band->columns;
    const int32_t left = window->pad_left < columns ? window->pad_left : columns;
    const int32_t inside = columns - left < window->input_width ? columns - left : window->input_width;
    const uint32_t height = (uint32_t)window->input_height;
    int32_t row = 0;

    while (row < band->count) {
        const int32_t y = band->first + row;
        const bool upper_inside = (uint32_t)y < height;
        const bool lower_inside = (uint32_t)(y + band->down) < height;
        const int8_t *upper = upper_inside ? image + y * line : &outside;
        const int8_t *lower = lower_inside ? image + (y + band->down) * line : &outside;
        if (columns == 1 && inside == 1 && upper_inside && lower_inside) {
            /* One column: as many rows as lie inside, as if they were a row. */
            int32_t count = (int32_t)height - (y + band->down);
            count = count < band->count - row ? count : band->count - row;
            to = pack_row(to, upper, line, lower, line, count);
            row += count;
        } else {
            to = fill_words(to, word, left);
            to = pack_row(to, upper, upper_inside ? channels : 0, lower, lower_inside ? channels : 0, inside);
            to = fill_words(to, word, columns - left - inside);
            row++;
        }
    }
    /* A block takes three columns at a time. */
    to[0] = 0;
    to[1] = 0;
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

void tvm_depthwise_armv6m(const struct tvm_window *window, const struct tvm_depthwise_armv6m *depthwise,
                          int32_t zero, const int8_t *input, void *output, void *TVM_RESTRICT scratch)
{
    const int32_t channels = window->input_channels;
    const int32_t height = window->output_height;
    const int32_t width = window->output_width * channels;
    const int32_t columns = (window->output_width - 1) * window->stride_width + window->kernel_width;
    uint32_t *words = (uint32_t *)scratch;
    struct tvm_plane_armv6m *plane = (struct tvm_plane_armv6m *)(void *)(words + depthwise->taps);
    uint32_t *inputs = words + depthwise->taps + TVM_PLANE_WORDS_ARMV6M;
    /* The first two words of the plane are for one form alone. */
    uint32_t *taps = depthwise->words == tvm_words_armv6m(TVM_SIDED) ? words : words + 2;
    uint8_t *to = (uint8_t *)output;

    plane->step = channels;
    plane->row_outputs = width;
    plane->row_inputs = window->stride_height * columns;
    for (int32_t image = 0; image < window->batch; image++) {
        const int32_t *parameters = depthwise->parameters;
        const int8_t *weights = depthwise->weights;
        for (int32_t channel = 0; channel < channels; channel++) {
            const uint32_t low = (uint32_t)parameters[0];
            plane->low = low & 0xffffu;
            plane->channel = channel;
            plane->apart = low >> 16 == 2;
            plane->bias = (uint32_t)parameters[1];
            if (depthwise->words > 2) {
                plane->limit = (uint32_t)parameters[2];
                plane->high = (uint32_t)parameters[3];
                plane->addend = (uint32_t)parameters[4];
            }
            if (depthwise->words > 5) {
                plane->below = (uint32_t)parameters[5];
                plane->zero = (uint32_t)parameters[6];
            }
            for (int32_t i = 0; i < depthwise->taps; i++) {
                taps[i] = (uint32_t)*weights++;
            }
            for (int32_t first = 0; first < height; first += depthwise->band) {
                const int32_t rows = height - first < depthwise->band ? height - first : depthwise->band;
                const int32_t half = (rows + 1) / 2;
                const struct band_of_rows band = {
                    first * window->stride_height - window->pad_top,
                    (half - 1) * window->stride_height +
                        (window->kernel_height - 1) * window->dilation_height + 1,
                    half * window->stride_height,
                    columns,
                };
                pack_band(window, &band, zero, input + channel, inputs);
                compute_band(window, depthwise, plane, taps, rows, inputs, to + first * width + channel);
            }
            parameters += depthwise->words;
        }
        input += window->input_height * window->input_width * channels;
        to += height * width;
    }
}
