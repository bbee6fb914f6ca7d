/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution of one group, any shape, and matrix products of several rows: the inputs under the window are
 * gathered for four positions at a time. Padded images pass through a ring of padded rows.
 */
#include "tvm_gemm_armv6m.h"
#include "tvm_kernels_armv6m.h"

/* Of scratch, before the inputs. */
#define TVM_FOUR_BYTES_ARMV6M 80

/* Fills the columns of four positions with `count` neighbours each, from base + offsets[i] on; returns their
 * end. */
#if TVM_ASM_ARMV6M
TVM_INLINE uint32_t *expand_four(uint32_t *columns, const int8_t *base, const int32_t *offsets, int32_t count)
{
    register uint32_t *to __asm__("r0") = columns;
    register const int8_t *from __asm__("r1") = base + offsets[0];
    register int32_t second __asm__("r2") = offsets[1] - offsets[0];
    register int32_t third __asm__("r3") = offsets[2] - offsets[0];
    register int32_t fourth __asm__("r4") = offsets[3] - offsets[0];
    register const int8_t *end __asm__("r5") = base + offsets[0] + count;

    __asm__ volatile(
        ".syntax unified\n\t"
        "mov r12, r5\n\t"
        "1:\n\t"
        "ldrb r5, [r1]\n\t"
        "sxtb r5, r5\n\t"
        "ldrsb r6, [r1, r2]\n\t"
        "lsls r6, r6, #16\n\t"
        "adds r5, r5, r6\n\t"
        "ldrsb r6, [r1, r3]\n\t"
        "ldrsb r7, [r1, r4]\n\t"
        "lsls r7, r7, #16\n\t"
        "adds r6, r6, r7\n\t"
        "stmia r0!, {r5, r6}\n\t"
        "adds r1, #1\n\t"
        "cmp r1, r12\n\t"
        "bne 1b"
        : "+r"(to), "+r"(from), "+r"(second), "+r"(third), "+r"(fourth), "+r"(end)
        :
        : "r6", "r7", "r12", "cc", "memory");
    return to;
}
#else
TVM_INLINE uint32_t *expand_four(uint32_t *columns, const int8_t *base, const int32_t *offsets, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        columns[0] = (uint32_t)base[offsets[0] + i] + ((uint32_t)base[offsets[1] + i] << 16);
        columns[1] = (uint32_t)base[offsets[2] + i] + ((uint32_t)base[offsets[3] + i] << 16);
        columns += 2;
    }
    return columns;
}
#endif

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
    int32_t left = window->pad_left < columns ? window->pad_left : columns;
    int32_t inside = columns - left < window->input_width ? columns - left : window->input_width;

    if (y < 0 || y >= window->input_height) {
        left = columns;
        inside = 0;
    }
    to = fill_row(to, zero, left * channels);
    if (inside > 0) {
        const int8_t *from = image + y * window->input_width * channels;
        for (int32_t count = inside * channels; count > 0; count--) {
            *to++ = *from++;
            TVM_KEEP_LOOP();
        }
    }
    fill_row(to, zero, (columns - left - inside) * channels);
}

/* Four positions, and where the next one is; it stands in scratch. */
struct four_windows {
    int32_t rows[4], columns[4]; /* where their windows begin, row and column apart, in bytes */
    int32_t offsets[4];          /* of the inputs that come next */
    int32_t places[4];           /* of their outputs */
    int32_t top, row, column;    /* where the next one begins: row of the padded image; both in bytes */
    int32_t next;                /* row of the padded image that the ring lacks */
};

/* What is the same for all positions: bytes of a row, and of all rows in the ring or the image. */
struct rows_of_bytes {
    int32_t row, size;
};

/* The next four of `left` positions, of which the last one is repeated; returns the last row that they need. */
static TVM_NOINLINE int32_t take_four(const struct tvm_window *window, const struct rows_of_bytes *bytes,
                                      int32_t left, struct four_windows *four)
{
    const int32_t move = window->stride_width * window->input_channels;
    const int32_t end = window->output_width * move;
    int32_t place = 0;
    int32_t top = 0;

    for (int32_t i = 0; i < 4; i++) {
        four->places[i] = place;
        four->rows[i] = four->row;
        four->columns[i] = four->column;
        top = four->top;
        if (i < left - 1) {
            place += window->output_channels;
            four->column += move;
            if (four->column == end) {
                four->column = 0;
                four->top = top + window->stride_height;
                four->row += window->stride_height * bytes->row;
                if (four->row >= bytes->size) {
                    four->row -= bytes->size;
                }
            }
        }
    }
    return top + (window->kernel_height - 1) * window->dilation_height;
}

/* All inputs of four positions. */
TVM_BLOCK_ARMV6M void gather_four(const struct tvm_window *window, const struct rows_of_bytes *bytes,
                                  const int8_t *base, struct four_windows *four, uint32_t *columns)
{
    const bool neighbours = window->dilation_width == 1;
    const int32_t pieces = neighbours ? 1 : window->kernel_width;
    const int32_t length = window->input_channels * (neighbours ? window->kernel_width : 1);
    const int32_t step = window->dilation_width * length;
    const int32_t down = window->dilation_height * bytes->row;

    for (int32_t ky = window->kernel_height; ky > 0; ky--) {
        const int8_t *from = base;
        for (int32_t i = 0; i < 4; i++) {
            const int32_t row = four->rows[i];
            four->offsets[i] = row + four->columns[i];
            four->rows[i] = row + down < bytes->size ? row + down : row + down - bytes->size;
        }
        for (int32_t kx = pieces; kx > 0; kx--) {
            columns = expand_four(columns, from, four->offsets, length);
            from += step;
        }
    }
}

void tvm_conv2d_armv6m(const struct tvm_window *window, const struct tvm_gemm_armv6m *gemm, int32_t slots,
                       int32_t zero, const int8_t *input, void *output, void *TVM_RESTRICT scratch)
{
    const int32_t columns = (window->output_width - 1) * window->stride_width +
                            (window->kernel_width - 1) * window->dilation_width + 1;
    const int32_t row = (slots > 0 ? columns : window->input_width) * window->input_channels;
    const struct rows_of_bytes bytes = {row, (slots > 0 ? slots : window->input_height) * row};
    struct four_windows *four = (struct four_windows *)scratch;
    uint32_t *inputs = (uint32_t *)(void *)((uint8_t *)scratch + TVM_FOUR_BYTES_ARMV6M);
    int8_t *ring = (int8_t *)(inputs + 2 * gemm->length);
    uint8_t *to = (uint8_t *)output;

    for (int32_t i = 2 * window->kernel_height * window->kernel_width * window->input_channels;
         i < 2 * gemm->length; i++) {
        inputs[i] = 0;
    }
    for (int32_t image = 0; image < window->batch; image++) {
        int32_t left = window->output_height * window->output_width;
        four->column = 0;
        four->top = 0;
        four->row = 0;
        four->next = 0;
        for (; left > 0; left -= 4) {
            const int32_t top = four->top;
            const int32_t bottom = take_four(window, &bytes, left, four);
            for (four->next = four->next < top ? top : four->next; slots > 0 && four->next <= bottom;
                 four->next++) {
                pad_row(window, zero, columns, four->next - window->pad_top, input,
                        ring + four->next % slots * row);
            }
            gather_four(window, &bytes, slots > 0 ? ring : input, four, inputs);
            gemm->block(gemm, inputs, to, four->places);
            to += (left < 4 ? left : 4) * gemm->channels;
        }
        input += window->input_height * window->input_width * window->input_channels;
    }
}
