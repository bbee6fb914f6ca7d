/* SPDX-License-Identifier: Apache-2.0
 *
 * Maximum and average of a window, one output at a time.
 */
#include "tvm_blocks_s8.h"

int32_t tvm_pool_same_s8(const struct tvm_pool_s8 *how, int32_t sum, int32_t count)
{
    const int32_t average = (sum > 0 ? sum + count / 2 : sum - count / 2) / count;

    return how->zero + tvm_limit_s8(average, how->low, how->high);
}

int32_t tvm_pool_rescaled_s8(const struct tvm_pool_s8 *how, int32_t sum, int32_t count)
{
    const int32_t index = count - how->first;
    const int32_t value = tvm_rescale_twice(sum, how->multipliers[index], how->shifts[index]);

    return how->zero + tvm_limit_s8(value, how->low, how->high);
}

/* Sum or maximum of one channel of the rows and columns of an image. */
static int32_t window_of_pool(const uint8_t *data, int32_t flip, bool average, int32_t rows, int32_t row,
                              int32_t columns, int32_t column)
{
    int32_t result = 0;

    for (; rows > 0; rows--) {
        for (int32_t x = 0; x < columns; x++) {
            const int32_t number = data[x * column] ^ flip;
            if (average) {
                result += number;
            } else if (number > result) {
                result = number;
            }
        }
        data += row;
    }
    return result;
}

static void pool_s8(const struct tvm_window *window, const struct tvm_pool_s8 *how, bool average,
                    const uint8_t *input, uint8_t *output)
{
    const int32_t channels = window->input_channels;
    const int32_t line = window->input_width * channels;

    for (int32_t image = 0; image < window->batch; image++) {
        for (int32_t out_y = 0; out_y < window->output_height; out_y++) {
            const int32_t y = out_y * window->stride_height - window->pad_top;
            const struct tvm_span span_y = tvm_span_inside(y, window->kernel_height, 1, window->input_height);
            const int32_t rows = span_y.end - span_y.first;
            for (int32_t out_x = 0; out_x < window->output_width; out_x++) {
                const int32_t x = out_x * window->stride_width - window->pad_left;
                const struct tvm_span span_x =
                    tvm_span_inside(x, window->kernel_width, 1, window->input_width);
                const int32_t columns = span_x.end - span_x.first;
                const uint8_t *data = input + ((y + span_y.first) * line + (x + span_x.first) * channels);
                const int32_t count = average ? rows * columns : 1;
                for (int32_t channel = 0; channel < channels; channel++) {
                    const int32_t number =
                        window_of_pool(data + channel, how->flip, average, rows, line, columns, channels);
                    *output++ = (uint8_t)how->finish(how, number - count * how->offset, count);
                }
            }
        }
        input += window->input_height * line;
    }
}

void tvm_average_pool_s8(const struct tvm_window *window, const struct tvm_pool_s8 *how,
                         const void *TVM_RESTRICT input, void *TVM_RESTRICT output)
{
    pool_s8(window, how, true, input, output);
}

void tvm_max_pool_s8(const struct tvm_window *window, const struct tvm_pool_s8 *how,
                     const void *TVM_RESTRICT input, void *TVM_RESTRICT output)
{
    pool_s8(window, how, false, input, output);
}
