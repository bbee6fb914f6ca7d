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

    for (int32_t row = 0; row < band->count; row++) {
        const int32_t y = band->first + row;
        const bool upper_inside = (uint32_t)y < (uint32_t)window->input_height;
        const bool lower_inside = (uint32_t)(y + band->down) < (uint32_t)window->input_height;
        const int8_t *upper = upper_inside ? image + y * line : &outside;
        const int8_t *lower = lower_inside ? image + (y + band->down) * line : &outside;
        const int32_t upper_step = upper_inside ? channels : 0;
        const int32_t lower_step = lower_inside ? channels : 0;
        to = fill_words(to, word, left);
        for (int32_t x = inside; x > 0; x--) {
            *to++ = (uint32_t)*upper + ((uint32_t)*lower << 16);
            upper += upper_step;
            lower += lower_step;
        }
        to = fill_words(to, word, columns - left - inside);
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
    const int32_t half = (rows + 1) / 2;
    const int32_t width = window->output_width * window->input_channels;
    const int32_t columns = (window->output_width - 1) * window->stride_width + window->kernel_width;
    const int32_t move = window->stride_height * columns;

    for (int32_t row = 0; row < half;) {
        /* All rows that have another one, or one row. */
        const int32_t count = depthwise->flat && row < rows - half ? rows - half : 1;
        plane->other = row + half < rows ? half * width : 0;
        plane->count = depthwise->flat ? count : window->output_width;
        depthwise->block(depthwise, inputs, taps, output);
        output += count * width;
        inputs += depthwise->flat ? count * depthwise->move : move;
        row += count;
    }
}

void tvm_depthwise_armv6m(const struct tvm_window *window, const struct tvm_depthwise_armv6m *depthwise,
                          int32_t zero, const int8_t *input, void *output, void *TVM_RESTRICT scratch)
{
    const int32_t channels = window->input_channels;
    const int32_t height = window->output_height;
    const int32_t width = window->output_width * channels;
    uint32_t *words = (uint32_t *)scratch;
    struct tvm_plane_armv6m *plane = (struct tvm_plane_armv6m *)(void *)(words + depthwise->taps);
    uint32_t *inputs = words + depthwise->taps + TVM_PLANE_WORDS_ARMV6M;
    /* The first two words of the plane are for one form alone. */
    uint32_t *taps = depthwise->words == tvm_words_armv6m(TVM_SIDED) ? words : words + 2;
    uint8_t *to = (uint8_t *)output;

    plane->step = channels;
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
                    (window->output_width - 1) * window->stride_width + window->kernel_width,
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
