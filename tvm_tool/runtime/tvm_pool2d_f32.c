/* SPDX-License-Identifier: Apache-2.0
 *
 * Maximum and average of a window, all channels of one tap after another.
 */
#include "tvm_blocks_f32.h"

static void raise(float *output, const float *data, int32_t channels)
{
    for (; channels > 0; channels--) {
        *output = tvm_at_least_f32(*data++, *output);
        output++;
    }
}

static void add(float *output, const float *data, int32_t channels)
{
    for (; channels > 0; channels--) {
        *output++ += *data++;
    }
}

static void fill(float *output, float value, int32_t channels)
{
    for (; channels > 0; channels--) {
        *output++ = value;
        TVM_KEEP_LOOP();
    }
}

static void scale(float *output, float factor, int32_t channels)
{
    for (; channels > 0; channels--) {
        *output++ *= factor;
    }
}

/* One over the number of elements that an average counts; (y, x) is the top left corner of the window. */
static float weight_of_average(const struct tvm_window *window, bool include_pad, int32_t y, int32_t x)
{
    const int32_t top = include_pad ? window->pad_top : 0;
    const int32_t left = include_pad ? window->pad_left : 0;
    const int32_t bottom = include_pad ? window->pad_bottom : 0;
    const int32_t right = include_pad ? window->pad_right : 0;
    const struct tvm_span rows = tvm_span_inside(y + top, window->kernel_height, window->dilation_height,
                                                 top + window->input_height + bottom);
    const struct tvm_span columns = tvm_span_inside(x + left, window->kernel_width, window->dilation_width,
                                                    left + window->input_width + right);

    return 1.0f / (float)((rows.end - rows.first) * (columns.end - columns.first));
}

static void pool(const struct tvm_window *window, bool average, bool include_pad, const float *input,
                 float *output)
{
    const int32_t channels = window->input_channels;
    const int32_t line = window->input_width * channels;

    for (int32_t image = 0; image < window->batch; image++) {
        for (int32_t out_y = 0; out_y < window->output_height; out_y++) {
            const int32_t y = out_y * window->stride_height - window->pad_top;
            const struct tvm_span rows =
                tvm_span_inside(y, window->kernel_height, window->dilation_height, window->input_height);
            for (int32_t out_x = 0; out_x < window->output_width; out_x++) {
                const int32_t x = out_x * window->stride_width - window->pad_left;
                const struct tvm_span columns =
                    tvm_span_inside(x, window->kernel_width, window->dilation_width, window->input_width);
                fill(output, average ? 0.0f : -TVM_INFINITY, channels);
                for (int32_t ky = rows.first; ky < rows.end; ky++) {
                    for (int32_t kx = columns.first; kx < columns.end; kx++) {
                        const float *data = input + (y + ky * window->dilation_height) * line +
                                            (x + kx * window->dilation_width) * channels;
                        if (average) {
                            add(output, data, channels);
                        } else {
                            raise(output, data, channels);
                        }
                    }
                }
                if (average) {
                    scale(output, weight_of_average(window, include_pad, y, x), channels);
                }
                output += channels;
            }
        }
        input += window->input_height * line;
    }
}

void tvm_max_pool_f32(const struct tvm_window *window, const float *TVM_RESTRICT input,
                      float *TVM_RESTRICT output)
{
    pool(window, false, false, input, output);
}

void tvm_average_pool_f32(const struct tvm_window *window, bool include_pad, const float *TVM_RESTRICT input,
                          float *TVM_RESTRICT output)
{
    pool(window, true, include_pad, input, output);
}
