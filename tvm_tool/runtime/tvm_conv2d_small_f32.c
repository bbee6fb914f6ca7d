/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution of any shape, one output at a time.
 */
#include "tvm_blocks_f32.h"

/* The part of a window inside the image: `rows` rows of `pieces` pieces of `length` neighbouring floats,
 * and the distances between them. */
struct part {
    int32_t rows, pieces, length;
    int32_t data_row, data_piece;
    int32_t weight_row;
};

static float weighted_sum(const struct part *part, float sum, const float *data, const float *weights)
{
    for (int32_t rows = part->rows; rows > 0; rows--) {
        const float *piece = data;
        const float *weight = weights;
        for (int32_t pieces = part->pieces; pieces > 0; pieces--) {
            sum = tvm_dot_f32(sum, piece, weight, part->length);
            piece += part->data_piece;
            weight += part->length;
        }
        data += part->data_row;
        weights += part->weight_row;
    }
    return sum;
}

void tvm_conv2d_small_f32(const struct tvm_window *window, const float *TVM_RESTRICT input,
                          const float *TVM_RESTRICT weights, const float *TVM_RESTRICT bias, float low,
                          float high, float *TVM_RESTRICT output)
{
    const int32_t depth = window->input_channels / window->groups;
    const int32_t group = window->output_channels / window->groups;
    const int32_t kernel = window->kernel_height * window->kernel_width * depth;
    const int32_t line = window->input_width * window->input_channels;
    const bool dense = window->groups == 1 && window->dilation_width == 1;
    struct part part = {0, 0, depth, 0, 0, 0};

    part.data_row = window->dilation_height * line;
    part.data_piece = window->dilation_width * window->input_channels;
    part.weight_row = window->kernel_width * depth;
    for (int32_t image = 0; image < window->batch; image++) {
        for (int32_t out_y = 0; out_y < window->output_height; out_y++) {
            const int32_t y = out_y * window->stride_height - window->pad_top;
            const struct tvm_span rows =
                tvm_span_inside(y, window->kernel_height, window->dilation_height, window->input_height);
            part.rows = rows.end - rows.first;
            for (int32_t out_x = 0; out_x < window->output_width; out_x++) {
                const int32_t x = out_x * window->stride_width - window->pad_left;
                const struct tvm_span columns =
                    tvm_span_inside(x, window->kernel_width, window->dilation_width, window->input_width);
                const float *data = input + (y * line + x * window->input_channels) +
                                    (rows.first * part.data_row + columns.first * part.data_piece);
                const float *weight = weights + rows.first * part.weight_row + columns.first * depth;
                part.pieces = dense ? 1 : columns.end - columns.first;
                part.length = dense ? (columns.end - columns.first) * depth : depth;
                for (int32_t channel = 0; channel < window->output_channels; channel++) {
                    const float sum =
                        weighted_sum(&part, bias[channel], data + channel / group * depth, weight);
                    *output++ = tvm_at_most_f32(tvm_at_least_f32(sum, low), high);
                    weight += kernel;
                }
            }
        }
        input += window->input_height * line;
    }
}
