/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution of any shape and any number of groups, one group after the other: the inputs under the window are
 * gathered for two positions at a time. Outputs may lie apart, as those of a part of a transposed convolution.
 */
#include "tvm_expand_dsp.h"
#include "tvm_kernels_dsp.h"

/* Behind the inputs of a column, words that lie two apart: the sums of each `piece` of them, in pairs. */
static int32_t *append_sums(const int32_t *column, int32_t words, int32_t piece, int32_t *to)
{
    int32_t first = 0;
    bool half = false;

    while (words > 0) {
        int32_t sum = 0;
        for (int32_t count = words < piece ? words : piece; count > 0; count--) {
            sum = TVM_SMLAD(*column, 0x00010001, sum);
            column += 2;
        }
        words -= piece;
        if (half) {
            *to = tvm_pack_low(first, sum);
            to += 2;
        }
        first = sum;
        half = !half;
    }
    if (half) {
        *to = tvm_pack_low(first, 0);
        to += 2;
    }
    return to;
}

static int32_t number_at(const int32_t *column, int32_t place)
{
    return tvm_shift_right(column[place & ~1], 16 * (place & 1));
}

/* All that stands in a column behind its inputs. */
static TVM_NOINLINE void append(const struct tvm_columns_dsp *columns, int32_t *column)
{
    int32_t *to = column + 2 * columns->inputs;

    if (columns->piece) {
        to = append_sums(column, columns->inputs, columns->piece, to);
    }
    for (int32_t i = 0; i < columns->again_count; i += 2) {
        const int32_t first = number_at(column, columns->again[i]);
        *to = tvm_pack_low(first, number_at(column, columns->again[i + 1]));
        to += 2;
    }
}

static int8_t *repeat_byte(int8_t *to, int32_t number, int32_t count)
{
    for (; count > 0; count--) {
        *to++ = (int8_t)number;
        TVM_KEEP_LOOP();
    }
    return to;
}

static int8_t *copy_piece(int8_t *to, const int8_t *from, int32_t count)
{
    for (; count >= 4; count -= 4) {
        tvm_store_bytes(to, tvm_load_bytes(from));
        from += 4;
        to += 4;
    }
    for (; count > 0; count--) {
        *to++ = *from++;
        TVM_KEEP_LOOP();
    }
    return to;
}

/* The channels of a group in a row of the padded image: y counts from the top of the image. */
static TVM_NOINLINE void copy_group(const struct tvm_window *window, const struct tvm_columns_dsp *columns,
                                    int32_t y, const int8_t *group, int8_t *to)
{
    const int32_t left = window->pad_left > 0 ? window->pad_left : 0;
    const int32_t first = left - window->pad_left;
    const int32_t behind = columns->width - left;
    const int32_t room = window->input_width - first;
    const bool outside = y < 0 || y >= window->input_height || behind <= 0 || room <= 0;
    const int32_t inside = outside ? 0 : behind < room ? behind : room;
    const bool whole = columns->depth == window->input_channels;
    const int8_t *from;

    if (inside == 0) {
        (void)repeat_byte(to, columns->zero, columns->width * columns->depth);
        return;
    }
    from = group + (y * window->input_width + first) * window->input_channels;
    to = repeat_byte(to, columns->zero, left * columns->depth);
    for (int32_t x = whole ? 1 : inside; x > 0; x--) {
        to = copy_piece(to, from, whole ? inside * columns->depth : columns->depth);
        from += window->input_channels;
    }
    (void)repeat_byte(to, columns->zero, (behind - inside) * columns->depth);
}

/* What scratch begins with: the products of a group, and its rescaling. */
struct group_dsp {
    struct tvm_gemm_dsp gemm;
    struct tvm_rescaling_s8 how;
};

/* Bytes for it with pointers of any size; what follows keeps its alignment. */
enum { GROUP_BYTES = 128 };

/* All outputs of a group in one image. */
static TVM_NOINLINE void one_group(const struct tvm_window *window, const struct tvm_columns_dsp *columns,
                                   const int8_t *input, int8_t *output, struct group_dsp *part)
{
    const int32_t kernel = window->kernel_height;
    const int32_t slots = (kernel - 1) * window->dilation_height + 1;
    const int32_t depth = columns->ring ? columns->depth : window->input_channels;
    const int32_t ring_line = columns->width * columns->depth;
    const int32_t line = window->input_width * window->input_channels;
    uint8_t *scratch = (uint8_t *)part + GROUP_BYTES;
    const int8_t **rows = (const int8_t **)(void *)scratch;
    int32_t *column = (int32_t *)(void *)(scratch + TVM_POINTER_BYTES(kernel));
    int8_t *ring = (int8_t *)(column + 2 * columns->words);
    const int32_t *segment = column;
    int8_t *pending = NULL;
    int32_t next = 0;

    for (int32_t out_y = 0; out_y < window->output_height; out_y++) {
        const int32_t top = out_y * window->stride_height;
        int8_t *to = output + out_y * columns->line;
        for (next = next < top ? top : next; columns->ring && next < top + slots; next++) {
            copy_group(window, columns, next - window->pad_top, input, ring + next % slots * ring_line);
        }
        for (int32_t ky = 0; ky < kernel; ky++) {
            const int32_t y = top + ky * window->dilation_height;
            rows[ky] = columns->ring ? ring + y % slots * ring_line : input + y * line;
        }
        for (int32_t out_x = 0; out_x < window->output_width; out_x++) {
            const int32_t x = out_x * window->stride_width * depth;
            int32_t *const from = pending ? column + 1 : column;
            columns->gather(rows, x, window->dilation_width * depth, from);
            append(columns, from);
            if (pending) {
                part->gemm.pair(&part->gemm, &segment, 0, pending, to);
                pending = NULL;
            } else {
                pending = to;
            }
            to += columns->step;
        }
    }
    if (pending) {
        for (int32_t i = 0; i < 2 * columns->words; i += 2) {
            column[i + 1] = column[i];
        }
        part->gemm.pair(&part->gemm, &segment, 0, pending, pending);
    }
}

void tvm_conv2d_any_dsp(const struct tvm_window *window, const struct tvm_gemm_dsp *gemm,
                        const struct tvm_columns_dsp *columns, const void *TVM_RESTRICT input,
                        void *TVM_RESTRICT output, void *TVM_RESTRICT scratch)
{
    struct group_dsp *part = scratch;
    const int8_t *image = input;
    int8_t *result = (int8_t *)output + columns->first;

    for (int32_t batch = 0; batch < window->batch; batch++) {
        part->gemm = *gemm;
        for (int32_t group = 0; group < window->groups; group++) {
            const int32_t channel = group * gemm->channels;
            if (gemm->how) {
                part->how = *gemm->how;
                part->how.multipliers = (const int32_t *)gemm->how->multipliers + channel;
                part->how.shifts = gemm->how->shifts ? gemm->how->shifts + channel : NULL;
                part->gemm.how = &part->how;
            }
            one_group(window, columns, image + group * columns->depth, result + channel, part);
            part->gemm.weights += columns->weights;
            part->gemm.parameters += columns->parameters;
        }
        image += window->input_height * window->input_width * window->input_channels;
        result += columns->image;
    }
}
