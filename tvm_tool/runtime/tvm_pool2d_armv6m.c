/* SPDX-License-Identifier: Apache-2.0
 *
 * Maximum and average of a window, four channels at a time; the last four overlap the ones before.
 */
#include "tvm_blocks_s8.h"
#include "tvm_kernels_armv6m.h"

/* The part of a window inside the image. */
struct part_of_window {
    int32_t rows, columns, line, step;
    int32_t flip;
};

static TVM_NOINLINE void add_four(const struct part_of_window *part, const uint8_t *from, int32_t *sums)
{
    const int32_t flip = part->flip;
    const int32_t step = part->step;
    int32_t sum0 = 0;
    int32_t sum1 = 0;
    int32_t sum2 = 0;
    int32_t sum3 = 0;

    for (int32_t y = part->rows; y > 0; y--) {
        const uint8_t *at = from;
        for (int32_t x = part->columns; x > 0; x--) {
            sum0 += at[0] ^ flip;
            sum1 += at[1] ^ flip;
            sum2 += at[2] ^ flip;
            sum3 += at[3] ^ flip;
            at += step;
        }
        from += part->line;
    }
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
}

TVM_INLINE int32_t most_of_two(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static TVM_NOINLINE void most_of_four(const struct part_of_window *part, const uint8_t *from, int32_t *most)
{
    const int32_t flip = part->flip;
    const int32_t step = part->step;
    int32_t most0 = 0;
    int32_t most1 = 0;
    int32_t most2 = 0;
    int32_t most3 = 0;

    for (int32_t y = part->rows; y > 0; y--) {
        const uint8_t *at = from;
        for (int32_t x = part->columns; x > 0; x--) {
            most0 = most_of_two(most0, at[0] ^ flip);
            most1 = most_of_two(most1, at[1] ^ flip);
            most2 = most_of_two(most2, at[2] ^ flip);
            most3 = most_of_two(most3, at[3] ^ flip);
            at += step;
        }
        from += part->line;
    }
    most[0] = most0;
    most[1] = most1;
    most[2] = most2;
    most[3] = most3;
}

void tvm_pool2d_armv6m(const struct tvm_window *window, const struct tvm_pool_s8 *how, bool average,
                       const void *TVM_RESTRICT input, void *TVM_RESTRICT output)
{
    const int32_t channels = window->input_channels;
    const uint8_t *data = (const uint8_t *)input;
    uint8_t *to = (uint8_t *)output;
    struct part_of_window part = {0, 0, window->input_width * channels, channels, how->flip};

    for (int32_t image = 0; image < window->batch; image++) {
        for (int32_t out_y = 0; out_y < window->output_height; out_y++) {
            const int32_t y = out_y * window->stride_height - window->pad_top;
            const struct tvm_span rows = tvm_span_inside(y, window->kernel_height, 1, window->input_height);
            part.rows = rows.end - rows.first;
            for (int32_t out_x = 0; out_x < window->output_width; out_x++) {
                const int32_t x = out_x * window->stride_width - window->pad_left;
                const struct tvm_span columns =
                    tvm_span_inside(x, window->kernel_width, 1, window->input_width);
                const uint8_t *from = data + ((y + rows.first) * part.line + (x + columns.first) * channels);
                part.columns = columns.end - columns.first;
                for (int32_t next = 0; next < channels; next += 4) {
                    const int32_t channel = next + 4 <= channels ? next : channels - 4;
                    const int32_t count = average ? part.rows * part.columns : 1;
                    int32_t numbers[4];
                    if (average) {
                        add_four(&part, from + channel, numbers);
                    } else {
                        most_of_four(&part, from + channel, numbers);
                    }
                    for (int32_t i = 0; i < 4; i++) {
                        to[channel + i] = (uint8_t)how->finish(how, numbers[i] - count * how->offset, count);
                    }
                }
                to += channels;
            }
        }
        data += window->input_height * part.line;
    }
}
