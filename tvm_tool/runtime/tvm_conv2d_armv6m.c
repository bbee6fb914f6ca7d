/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution of one group, any shape, and matrix products of several rows: the inputs under the window are
 * gathered for four positions at a time. Padded images pass through a ring of padded rows.
 */
#include "tvm_gemm_armv6m.h"
#include "tvm_kernels_armv6m.h"

static uint32_t *expand_four(uint32_t *columns, const int8_t *base, const int32_t *offsets, int32_t count)
{
    const int8_t *from0 = base + offsets[0];
    const int8_t *from1 = base + offsets[1];
    const int8_t *from2 = base + offsets[2];
    const int8_t *from3 = base + offsets[3];

    for (int32_t i = 0; i < count; i++) {
        columns[0] = (uint32_t)from0[i] + ((uint32_t)from1[i] << 16);
        columns[1] = (uint32_t)from2[i] + ((uint32_t)from3[i] << 16);
        columns += 2;
    }
    return columns;
}

static int8_t *fill_row(int8_t *to, int32_t number, int32_t count)
{
    for (; count > 0; count--) {
        *to++ = (int8_t)number;
        TVM_KEEP_LOOP();
    }
    return to;
}

/* A row of the padded image: y counts from the top of the image. */
static TVM_NOINLINE void pad_row(const struct tvm_window *window, int32_t zero, int32_t columns, int32_t y,
                                 const int8_t *image, int8_t *to)
{
    const int32_t channels = window->input_channels;
    const int8_t *from = image + y * window->input_width * channels;
    int32_t left = window->pad_left < columns ? window->pad_left : columns;
    int32_t inside = columns - left < window->input_width ? columns - left : window->input_width;

    if (y < 0 || y >= window->input_height) {
        left = columns;
        inside = 0;
    }
    to = fill_row(to, zero, left * channels);
    for (int32_t count = inside * channels; count > 0; count--) {
        *to++ = *from++;
        TVM_KEEP_LOOP();
    }
    fill_row(to, zero, (columns - left - inside) * channels);
}

/* Four positions: where their windows begin, row and column apart, in bytes. */
struct four_windows {
    int32_t rows[4], columns[4];
};

static void gather_four(const struct tvm_window *window, const int8_t *base, int32_t row, int32_t size,
                        struct four_windows *four, uint32_t *columns)
{
    const bool neighbours = window->dilation_width == 1;
    const int32_t pieces = neighbours ? 1 : window->kernel_width;
    const int32_t length = window->input_channels * (neighbours ? window->kernel_width : 1);

    for (int32_t ky = window->kernel_height; ky > 0; ky--) {
        int32_t offsets[4];
        for (int32_t i = 0; i < 4; i++) {
            offsets[i] = four->rows[i] + four->columns[i];
            four->rows[i] += window->dilation_height * row;
            if (four->rows[i] >= size) {
                four->rows[i] -= size;
            }
        }
        for (int32_t kx = 0; kx < pieces; kx++) {
            columns = expand_four(columns, base + kx * window->dilation_width * length, offsets, length);
        }
    }
}

void tvm_conv2d_armv6m(const struct tvm_window *window, const struct tvm_gemm_armv6m *gemm, int32_t slots,
                       int32_t zero, const int8_t *input, void *output, void *TVM_RESTRICT scratch)
{
    const int32_t channels = window->input_channels;
    const int32_t width = window->output_width;
    const int32_t count = window->output_height * width;
    const int32_t columns =
        (width - 1) * window->stride_width + (window->kernel_width - 1) * window->dilation_width + 1;
    const int32_t under = (window->kernel_height - 1) * window->dilation_height + 1;
    const int32_t row = (slots > 0 ? columns : window->input_width) * channels;
    const int32_t size = (slots > 0 ? slots : window->input_height) * row;
    const int32_t move_down = window->stride_height * row;
    uint32_t *inputs = (uint32_t *)scratch;
    int8_t *ring = (int8_t *)(inputs + 2 * gemm->length);
    uint8_t *to = (uint8_t *)output;

    for (int32_t i = 2 * window->kernel_height * window->kernel_width * channels; i < 2 * gemm->length; i++) {
        inputs[i] = 0;
    }
    for (int32_t image = 0; image < window->batch; image++) {
        int32_t next = 0; /* row of the padded image that the ring lacks */
        int32_t top = 0;  /* row where the window of the next position begins */
        int32_t place = 0;
        int32_t x = 0;
        for (int32_t position = 0; position < count; position += 4) {
            const int32_t first = top;
            struct four_windows four;
            int32_t places[4];
            int32_t bottom = 0;
            for (int32_t i = 0; i < 4; i++) {
                /* The last position is repeated. */
                const bool more = position + i < count - 1;
                places[i] = (more ? i : count - 1 - position) * gemm->channels;
                four.rows[i] = place;
                four.columns[i] = x * window->stride_width * channels;
                bottom = top + under;
                if (more && ++x == width) {
                    x = 0;
                    top += window->stride_height;
                    place += move_down;
                    if (place >= size) {
                        place -= size;
                    }
                }
            }
            for (next = next < first ? first : next; slots > 0 && next < bottom; next++) {
                pad_row(window, zero, columns, next - window->pad_top, input, ring + next % slots * row);
            }
            gather_four(window, slots > 0 ? ring : input, row, size, &four, inputs);
            gemm->block(gemm, inputs, to, places);
            to += 4 * gemm->channels;
        }
        to -= (-count & 3) * gemm->channels;
        input += window->input_height * window->input_width * channels;
    }
}
