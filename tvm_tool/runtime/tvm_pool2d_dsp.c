/* SPDX-License-Identifier: Apache-2.0
 *
 * Maximum and average of a window, four channels at a time; the last four overlap the ones before.
 */
#include "tvm_kernels_dsp.h"
#include "tvm_simd_dsp.h"

/* The part of a window inside the image, from its first element on. */
struct inside_dsp {
    int32_t rows, columns, line, step;
};

static void sum_four(const struct inside_dsp *inside, const int8_t *from, int32_t *sums)
{
    int32_t even = 0;
    int32_t odd = 0;

    for (int32_t y = inside->rows; y > 0; y--) {
        const int8_t *at = from;
        for (int32_t x = inside->columns; x > 0; x--) {
            const int32_t bytes = tvm_load_bytes(at);
            even = TVM_SXTAB16(even, bytes);
            odd = tvm_add_odd_bytes(odd, bytes);
            at += inside->step;
        }
        from += inside->line;
    }
    sums[0] = (int16_t)((uint32_t)even & 0xffffu);
    sums[1] = (int16_t)((uint32_t)odd & 0xffffu);
    sums[2] = tvm_shift_right(even, 16);
    sums[3] = tvm_shift_right(odd, 16);
}

static void largest_four(const struct inside_dsp *inside, const int8_t *from, int32_t *largest)
{
    int32_t most = tvm_load_bytes(from);

    for (int32_t y = inside->rows; y > 0; y--) {
        const int8_t *at = from;
        for (int32_t x = inside->columns; x > 0; x--) {
            most = tvm_larger_bytes(most, tvm_load_bytes(at));
            at += inside->step;
        }
        from += inside->line;
    }
    for (int32_t i = 0; i < 4; i++) {
        largest[i] = (int8_t)((uint32_t)most >> (8 * i) & 0xffu);
    }
}

void tvm_pool2d_s8_dsp(const struct tvm_window *window, const struct tvm_pool_s8 *how, bool average,
                       const int8_t *TVM_RESTRICT input, void *TVM_RESTRICT output)
{
    const int32_t channels = window->input_channels;
    int8_t *to = output;
    struct inside_dsp inside = {0, 0, window->input_width * channels, channels};

    for (int32_t image = 0; image < window->batch; image++) {
        for (int32_t out_y = 0; out_y < window->output_height; out_y++) {
            const int32_t y = out_y * window->stride_height - window->pad_top;
            const struct tvm_span rows = tvm_span_inside(y, window->kernel_height, 1, window->input_height);
            inside.rows = rows.end - rows.first;
            for (int32_t out_x = 0; out_x < window->output_width; out_x++) {
                const int32_t x = out_x * window->stride_width - window->pad_left;
                const struct tvm_span columns =
                    tvm_span_inside(x, window->kernel_width, 1, window->input_width);
                const int8_t *from = input + (y + rows.first) * inside.line + (x + columns.first) * channels;
                inside.columns = columns.end - columns.first;
                for (int32_t next = 0; next < channels; next += 4) {
                    const int32_t channel = next + 4 <= channels ? next : channels - 4;
                    const int32_t count = average ? inside.rows * inside.columns : 1;
                    int32_t numbers[4];
                    if (average) {
                        sum_four(&inside, from + channel, numbers);
                    } else {
                        largest_four(&inside, from + channel, numbers);
                    }
                    for (int32_t i = 0; i < 4; i++) {
                        const int32_t number = numbers[i] + count * (128 - how->offset);
                        to[channel + i] = (int8_t)how->finish(how, number, count);
                    }
                }
                to += channels;
            }
        }
        input += window->input_height * inside.line;
    }
}
