/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution of one group, any shape, and matrix products of several rows: the inputs under the windows of
 * four positions are packed, two positions to a word. Padded images pass through a ring of padded rows.
 */
#include "tvm_gemm_pair.h"
#include "tvm_kernels_pair.h"

/* Of scratch, before the inputs. */
#define TVM_FOUR_BYTES_PAIR 80

/* Four positions, and where the next one is; it stands in scratch. */
struct four_positions {
    int32_t tops[4];   /* rows of the padded image in which their windows begin */
    int32_t starts[4]; /* where they begin in these rows, in bytes */
    int32_t places[4]; /* of their outputs */
    int32_t x, top;    /* of the next position */
    int32_t next;      /* row of the padded image that the ring lacks */
};

/* The rows of the padded image: in a ring, or those of the image itself if there are no slots. */
struct padded_rows {
    const int8_t *base;
    int32_t bytes, slots;
};

/* `count` neighbours of each position. */
static TVM_NOINLINE uint32_t *pack_four(uint32_t *to, const int8_t *from0, const int8_t *from1,
                                        const int8_t *from2, const int8_t *from3, int32_t count)
{
    for (; count >= 4; count -= 4) {
        to[0] = (uint32_t)from0[0] + ((uint32_t)from1[0] << 16);
        to[1] = (uint32_t)from2[0] + ((uint32_t)from3[0] << 16);
        to[2] = (uint32_t)from0[1] + ((uint32_t)from1[1] << 16);
        to[3] = (uint32_t)from2[1] + ((uint32_t)from3[1] << 16);
        to[4] = (uint32_t)from0[2] + ((uint32_t)from1[2] << 16);
        to[5] = (uint32_t)from2[2] + ((uint32_t)from3[2] << 16);
        to[6] = (uint32_t)from0[3] + ((uint32_t)from1[3] << 16);
        to[7] = (uint32_t)from2[3] + ((uint32_t)from3[3] << 16);
        from0 += 4;
        from1 += 4;
        from2 += 4;
        from3 += 4;
        to += 8;
    }
    for (; count > 0; count--) {
        to[0] = (uint32_t)*from0++ + ((uint32_t)*from1++ << 16);
        to[1] = (uint32_t)*from2++ + ((uint32_t)*from3++ << 16);
        to += 2;
    }
    return to;
}

static int8_t *fill_bytes_pair(int8_t *to, int32_t number, int32_t count)
{
    for (; count > 0; count--) {
        *to++ = (int8_t)number;
        TVM_KEEP_LOOP();
    }
    return to;
}

/* A row of the padded image: y counts from the top of the image. */
static TVM_NOINLINE void pad_row_pair(const struct tvm_window *window, int32_t zero, int32_t columns,
                                      int32_t y, const int8_t *image, int8_t *to)
{
    const int32_t channels = window->input_channels;
    int32_t left = window->pad_left < columns ? window->pad_left : columns;
    int32_t inside = columns - left < window->input_width ? columns - left : window->input_width;

    if (y < 0 || y >= window->input_height) {
        left = columns;
        inside = 0;
    }
    to = fill_bytes_pair(to, zero, left * channels);
    if (inside > 0) {
        const int8_t *from = image + y * window->input_width * channels;
        for (int32_t count = inside * channels; count > 0; count--) {
            *to++ = *from++;
            TVM_KEEP_LOOP();
        }
    }
    fill_bytes_pair(to, zero, (columns - left - inside) * channels);
}

/* The next four of `left` positions, of which the last one is repeated; returns the last row that they need. */
static TVM_NOINLINE int32_t take_positions(const struct tvm_window *window, int32_t left,
                                           struct four_positions *four)
{
    const int32_t move = window->stride_width * window->input_channels;
    int32_t last = 0;

    for (int32_t i = 0; i < 4; i++) {
        last = left - 1 < i ? left - 1 : i;
        four->places[i] = last * window->output_channels;
        four->tops[i] = four->top;
        four->starts[i] = four->x * move;
        if (i < left - 1) {
            four->x++;
            if (four->x == window->output_width) {
                four->x = 0;
                four->top += window->stride_height;
            }
        }
    }
    return four->tops[3] + (window->kernel_height - 1) * window->dilation_height;
}

static const int8_t *row_at(const struct padded_rows *rows, int32_t y)
{
    return rows->base + (rows->slots > 0 ? y % rows->slots : y) * rows->bytes;
}

/* All inputs of four positions. */
static TVM_NOINLINE void pack_windows(const struct tvm_window *window, const struct padded_rows *rows,
                                      const struct four_positions *four, uint32_t *columns)
{
    const bool neighbours = window->dilation_width == 1;
    const int32_t pieces = neighbours ? 1 : window->kernel_width;
    const int32_t length = window->input_channels * (neighbours ? window->kernel_width : 1);
    const int32_t step = window->dilation_width * length;

    for (int32_t ky = 0; ky < window->kernel_height; ky++) {
        const int32_t down = ky * window->dilation_height;
        const int8_t *from0 = row_at(rows, four->tops[0] + down) + four->starts[0];
        const int8_t *from1 = row_at(rows, four->tops[1] + down) + four->starts[1];
        const int8_t *from2 = row_at(rows, four->tops[2] + down) + four->starts[2];
        const int8_t *from3 = row_at(rows, four->tops[3] + down) + four->starts[3];
        for (int32_t kx = 0; kx < pieces; kx++) {
            const int32_t at = kx * step;
            columns = pack_four(columns, from0 + at, from1 + at, from2 + at, from3 + at, length);
        }
    }
}

void tvm_conv2d_pair(const struct tvm_window *window, const struct tvm_gemm_pair *gemm, int32_t slots,
                     int32_t zero, const int8_t *input, void *output, void *TVM_RESTRICT scratch)
{
    const int32_t columns = (window->output_width - 1) * window->stride_width +
                            (window->kernel_width - 1) * window->dilation_width + 1;
    struct four_positions *four = (struct four_positions *)scratch;
    uint32_t *inputs = (uint32_t *)(void *)((uint8_t *)scratch + TVM_FOUR_BYTES_PAIR);
    int8_t *ring = (int8_t *)(inputs + 2 * gemm->length);
    struct padded_rows rows = {ring, (slots > 0 ? columns : window->input_width) * window->input_channels,
                               slots};
    int8_t *to = (int8_t *)output;

    for (int32_t i = 2 * window->kernel_height * window->kernel_width * window->input_channels;
         i < 2 * gemm->length; i++) {
        inputs[i] = 0;
    }
    for (int32_t image = 0; image < window->batch; image++) {
        four->x = 0;
        four->top = 0;
        four->next = 0;
        if (slots == 0) {
            rows.base = input;
        }
        for (int32_t left = window->output_height * window->output_width; left > 0; left -= 4) {
            const int32_t top = four->top;
            const int32_t bottom = take_positions(window, left, four);
            four->next = four->next < top ? top : four->next;
            for (; slots > 0 && four->next <= bottom; four->next++) {
                pad_row_pair(window, zero, columns, four->next - window->pad_top, input,
                             ring + four->next % slots * rows.bytes);
            }
            pack_windows(window, &rows, four, inputs);
            gemm->four(gemm, inputs, to, four->places);
            to += (left < 4 ? left : 4) * gemm->channels;
        }
        input += window->input_height * window->input_width * window->input_channels;
    }
}
