/* SPDX-License-Identifier: Apache-2.0
 *
 * Pooling as a network with dequantised inputs computes it. Averages half way between two numbers are not
 * rare, and the order of the additions decides them: it is onnxruntime's.
 */
#include "tvm_blocks_s8.h"

static int32_t quantized_average(const struct tvm_pool_s8 *how, float sum, int32_t count)
{
    const float average = sum / (float)count;

    return how->zero + tvm_round_limited(average / how->output_scale, how->low, how->high);
}

static float real_number(const struct tvm_pool_s8 *how, int32_t number)
{
    float value = (float)number * how->input_scale;

    TVM_COMPLETE(value);
    return value;
}

int32_t tvm_pool_float_s8(const struct tvm_pool_s8 *how, int32_t sum, int32_t count)
{
    return quantized_average(how, real_number(how, sum), count);
}

/* sum + data[0] + data[step] + ..., `count` of them. */
static float sum_of_numbers(const struct tvm_pool_s8 *how, float sum, const uint8_t *data, int32_t count,
                            int32_t step)
{
    for (int32_t i = 0; i < count; i++) {
        sum += real_number(how, (data[i * step] ^ how->flip) - how->offset);
    }
    return sum;
}

/* One row after the other. */
static float sum_of_rows(const struct tvm_pool_s8 *how, const uint8_t *data, int32_t rows, int32_t row,
                         int32_t columns, int32_t column)
{
    float sum = 0.0f;

    for (int32_t y = 0; y < rows; y++) {
        sum = sum_of_numbers(how, sum, data + y * row, columns, column);
    }
    return sum;
}

/* Each column from the top, then one column after the other. */
static float sum_of_columns(const struct tvm_pool_s8 *how, const uint8_t *data, int32_t rows, int32_t row,
                            int32_t columns, int32_t column)
{
    float sum = 0.0f;

    for (int32_t x = 0; x < columns; x++) {
        sum += sum_of_numbers(how, 0.0f, data + x * column, rows, row);
    }
    return sum;
}

/* All of it: four sums of every fourth element, and what is left. */
static float sum_of_image(const struct tvm_pool_s8 *how, const uint8_t *data, int32_t count, int32_t step)
{
    const int32_t fours = count / 4;
    const float even = sum_of_numbers(how, 0.0f, data, fours, 4 * step) +
                       sum_of_numbers(how, 0.0f, data + 2 * step, fours, 4 * step);
    const float odd = sum_of_numbers(how, 0.0f, data + step, fours, 4 * step) +
                      sum_of_numbers(how, 0.0f, data + 3 * step, fours, 4 * step);

    return sum_of_numbers(how, even + odd, data + 4 * fours * step, count % 4, step);
}

void tvm_average_pool_float_s8(const struct tvm_window *window, const struct tvm_pool_s8 *how,
                               const void *TVM_RESTRICT input, void *TVM_RESTRICT output)
{
    const int32_t channels = window->input_channels;
    const int32_t line = window->input_width * channels;
    const int32_t pads = window->pad_top | window->pad_left | window->pad_bottom | window->pad_right;
    const bool image_at_once = window->kernel_height == window->input_height &&
                               window->kernel_width == window->input_width && window->stride_height == 1 &&
                               window->stride_width == 1 && pads == 0;
    const bool by_columns =
        window->stride_width <= 2 && window->kernel_height <= 32 && window->kernel_width <= 32;
    const uint8_t *image = input;
    uint8_t *to = output;

    for (int32_t batch = 0; batch < window->batch; batch++) {
        for (int32_t out_y = 0; out_y < window->output_height; out_y++) {
            const int32_t y = out_y * window->stride_height - window->pad_top;
            const struct tvm_span span_y = tvm_span_inside(y, window->kernel_height, 1, window->input_height);
            const int32_t rows = span_y.end - span_y.first;
            for (int32_t out_x = 0; out_x < window->output_width; out_x++) {
                const int32_t x = out_x * window->stride_width - window->pad_left;
                const struct tvm_span span_x =
                    tvm_span_inside(x, window->kernel_width, 1, window->input_width);
                const int32_t columns = span_x.end - span_x.first;
                const uint8_t *data = image + ((y + span_y.first) * line + (x + span_x.first) * channels);
                for (int32_t channel = 0; channel < channels; channel++) {
                    const uint8_t *from = data + channel;
                    const float sum = image_at_once ? sum_of_image(how, from, rows * columns, channels)
                                      : by_columns  ? sum_of_columns(how, from, rows, line, columns, channels)
                                                    : sum_of_rows(how, from, rows, line, columns, channels);
                    *to++ = (uint8_t)quantized_average(how, sum, rows * columns);
                }
            }
        }
        image += window->input_height * line;
    }
}
