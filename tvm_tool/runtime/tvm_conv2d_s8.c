/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution of any shape, one output at a time, without scratch. Padding counts as the input's zero point,
 * because the bias is made for whole windows.
 */
#include "tvm_blocks_s8.h"

/* The part of a window inside the image: `rows` rows of `pieces` pieces of `length` neighbouring elements,
 * and the distances between them. */
struct inside_s8 {
    int32_t rows, pieces, length;
    int32_t data_row, data_piece;
    int32_t weight_row;
    bool input_unsigned;
};

static uint32_t products_inside(const struct inside_s8 *part, uint32_t sum, const uint8_t *data,
                                const int8_t *weights)
{
    for (int32_t rows = part->rows; rows > 0; rows--) {
        const uint8_t *piece = data;
        const int8_t *weight = weights;
        for (int32_t pieces = part->pieces; pieces > 0; pieces--) {
            sum = tvm_dot_s8(sum, piece, part->input_unsigned, weight, part->length);
            piece += part->data_piece;
            weight += part->length;
        }
        data += part->data_row;
        weights += part->weight_row;
    }
    return sum;
}

static uint32_t inputs_inside(const struct inside_s8 *part, const uint8_t *data)
{
    uint32_t sum = 0;

    for (int32_t rows = part->rows; rows > 0; rows--) {
        const uint8_t *piece = data;
        for (int32_t pieces = part->pieces; pieces > 0; pieces--) {
            sum = tvm_total_s8(sum, piece, part->input_unsigned, part->length);
            piece += part->data_piece;
        }
        data += part->data_row;
    }
    return sum;
}

/* Sum of the weights of one channel that lie on padding. */
static uint32_t weights_outside(const struct tvm_window *window, struct tvm_span rows,
                                struct tvm_span columns, const int8_t *weights, int32_t depth)
{
    uint32_t sum = 0;

    for (int32_t ky = 0; ky < window->kernel_height; ky++) {
        for (int32_t kx = 0; kx < window->kernel_width; kx++) {
            if (ky < rows.first || ky >= rows.end || kx < columns.first || kx >= columns.end) {
                sum = tvm_total_s8(sum, weights, false, depth);
            }
            weights += depth;
        }
    }
    return sum;
}

void tvm_conv2d_s8(const struct tvm_window *window, const struct tvm_weights_s8 *weights,
                   const struct tvm_rescaling_s8 *how, const void *TVM_RESTRICT input,
                   void *TVM_RESTRICT output)
{
    const int32_t depth = window->input_channels / window->groups;
    const int32_t group = window->output_channels / window->groups;
    const int32_t taps = window->kernel_height * window->kernel_width;
    const int32_t line = window->input_width * window->input_channels;
    const bool neighbours = window->groups == 1 && window->dilation_width == 1;
    const uint32_t zero = (uint32_t)weights->input_zero;
    const uint8_t *image = input;
    uint8_t *to = output;
    struct inside_s8 part = {0, 0, depth, 0, 0, 0, false};

    part.input_unsigned = weights->input_unsigned;
    part.data_row = window->dilation_height * line;
    part.data_piece = window->dilation_width * window->input_channels;
    part.weight_row = window->kernel_width * depth;
    for (int32_t batch = 0; batch < window->batch; batch++) {
        for (int32_t out_y = 0; out_y < window->output_height; out_y++) {
            const int32_t y = out_y * window->stride_height - window->pad_top;
            const struct tvm_span rows =
                tvm_span_inside(y, window->kernel_height, window->dilation_height, window->input_height);
            part.rows = rows.end - rows.first;
            for (int32_t out_x = 0; out_x < window->output_width; out_x++) {
                const int32_t x = out_x * window->stride_width - window->pad_left;
                const struct tvm_span columns =
                    tvm_span_inside(x, window->kernel_width, window->dilation_width, window->input_width);
                const int32_t width = columns.end - columns.first;
                const int32_t outside = taps - (part.rows > 0 && width > 0 ? part.rows * width : 0);
                const uint8_t *data = image;
                const int8_t *weight = weights->weights;
                int32_t first = 0;
                if (outside < taps) {
                    first = rows.first * part.weight_row + columns.first * depth;
                    data += y * line + x * window->input_channels + rows.first * part.data_row +
                            columns.first * part.data_piece;
                }
                part.pieces = neighbours && width > 0 ? 1 : width;
                part.length = neighbours && width > 0 ? width * depth : depth;
                for (int32_t channel = 0; channel < window->output_channels; channel++) {
                    const uint8_t *from = data + channel / group * depth;
                    uint32_t sum = (uint32_t)weights->bias[channel];
                    sum = products_inside(&part, sum, from, weight + first);
                    if (outside > 0) {
                        sum += zero * weights_outside(window, rows, columns, weight, depth);
                    }
                    if (weights->zeros) {
                        const uint32_t padding = zero * (uint32_t)(outside * depth);
                        sum -= (uint32_t)weights->zeros[channel] * (inputs_inside(&part, from) + padding);
                    }
                    *to++ = (uint8_t)how->rescale(how, (int32_t)sum, channel);
                    weight += taps * depth;
                }
            }
        }
        image += window->input_height * line;
    }
}
