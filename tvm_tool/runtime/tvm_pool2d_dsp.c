/* SPDX-License-Identifier: Apache-2.0
 *
 * Maximum and average of a window, four channels at a time; the last four overlap the ones before.
 */
#include "tvm_kernels_dsp.h"
#include "tvm_simd_dsp.h"

/* As many 8-bit numbers as add up in 16 bits. */
enum { MOST_IN_HALF = 255 };

/* The part of a window inside the image, from its first element on; `flip` makes bytes into int8_t. */
struct inside_dsp {
    int32_t rows, columns, line, step, flip;
};

/* Adds up pairs of 16-bit numbers; where they stand among the four. */
TVM_INLINE void add_halves(int32_t *sums, int32_t even, int32_t odd)
{
    sums[0] += (int16_t)((uint32_t)even & 0xffffu);
    sums[1] += (int16_t)((uint32_t)odd & 0xffffu);
    sums[2] += tvm_shift_right(even, 16);
    sums[3] += tvm_shift_right(odd, 16);
}

static TVM_NOINLINE void sum_four(const struct inside_dsp *inside, const int8_t *from, int32_t *sums)
{
    int32_t even = 0;
    int32_t odd = 0;
    int32_t room = MOST_IN_HALF;

    sums[0] = sums[1] = sums[2] = sums[3] = 0;
    for (int32_t y = inside->rows; y > 0; y--) {
        const int8_t *at = from;
        for (int32_t left = inside->columns; left > 0;) {
            const int32_t count = left < room ? left : room;
            for (int32_t x = count; x > 0; x--) {
                const int32_t bytes = tvm_load_bytes(at) ^ inside->flip;
                even = TVM_SXTAB16(even, bytes);
                odd = tvm_add_odd_bytes(odd, bytes);
                at += inside->step;
            }
            left -= count;
            room -= count;
            if (room == 0) {
                add_halves(sums, even, odd);
                even = 0;
                odd = 0;
                room = MOST_IN_HALF;
            }
        }
        from += inside->line;
    }
    add_halves(sums, even, odd);
}

static TVM_NOINLINE void largest_four(const struct inside_dsp *inside, const int8_t *from, int32_t *largest)
{
    int32_t most = tvm_load_bytes(from) ^ inside->flip;

    for (int32_t y = inside->rows; y > 0; y--) {
        const int8_t *at = from;
        for (int32_t x = inside->columns; x > 0; x--) {
            most = tvm_larger_bytes(most, tvm_load_bytes(at) ^ inside->flip);
            at += inside->step;
        }
        from += inside->line;
    }
    for (int32_t i = 0; i < 4; i++) {
        largest[i] = (int8_t)((uint32_t)most >> (8 * i) & 0xffu);
    }
}

void tvm_pool2d_s8_dsp(const struct tvm_window *window, const struct tvm_pool_s8 *how, bool average,
                       const void *TVM_RESTRICT input, void *TVM_RESTRICT output)
{
    const int32_t channels = window->input_channels;
    const int8_t *data = input;
    int8_t *to = output;
    const int32_t flip = (int32_t)((uint32_t)(how->flip ^ 0x80) * UINT32_C(0x01010101));
    struct inside_dsp inside = {0, 0, window->input_width * channels, channels, flip};

    for (int32_t image = 0; image < window->batch; image++) {
        for (int32_t out_y = 0; out_y < window->output_height; out_y++) {
            const int32_t y = out_y * window->stride_height - window->pad_top;
            const struct tvm_span rows = tvm_span_inside(y, window->kernel_height, 1, window->input_height);
            inside.rows = rows.end - rows.first;
            for (int32_t out_x = 0; out_x < window->output_width; out_x++) {
                const int32_t x = out_x * window->stride_width - window->pad_left;
                const struct tvm_span columns =
                    tvm_span_inside(x, window->kernel_width, 1, window->input_width);
                const int8_t *from = data + (y + rows.first) * inside.line + (x + columns.first) * channels;
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
        data += window->input_height * inside.line;
    }
}
