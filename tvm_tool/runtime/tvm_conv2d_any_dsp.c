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

/* What scratch begins with: the group that is computed, and where the rest of scratch lies. */
struct group_dsp {
    struct tvm_gemm_dsp gemm;
    struct tvm_rescaling_s8 how;
    const int8_t **rows; /* under the window */
    int32_t *column;
    int32_t *sums;    /* of two positions, for TVM_ANY */
    int8_t *ring;     /* NULL if none is needed */
    int8_t *pending;  /* output of a position whose column is full */
    int32_t next_row; /* of the padded image, to be copied into the ring */
};

/* Bytes for it with pointers of any size; what follows keeps its alignment. */
enum { GROUP_BYTES = 192 };

/* Points to the rows under the windows of row `out_y` of the output. */
static TVM_NOINLINE void find_rows(const struct tvm_window *window, const struct tvm_columns_dsp *columns,
                                   int32_t out_y, const int8_t *input, struct group_dsp *group)
{
    const int32_t slots = (window->kernel_height - 1) * window->dilation_height + 1;
    const int32_t ring_line = columns->width * columns->depth;
    const int32_t top = out_y * window->stride_height;

    if (group->ring) {
        int32_t next = group->next_row < top ? top : group->next_row;
        for (; next < top + slots; next++) {
            copy_group(window, columns, next - window->pad_top, input,
                       group->ring + next % slots * ring_line);
        }
        group->next_row = next;
    }
    for (int32_t ky = 0; ky < window->kernel_height; ky++) {
        const int32_t y = top + ky * window->dilation_height;
        group->rows[ky] = group->ring ? group->ring + y % slots * ring_line
                                      : input + y * window->input_width * window->input_channels;
    }
}

/* The outputs of two positions from their sums, one by one. */
static TVM_NOINLINE void finish_sums(const struct group_dsp *group, int8_t *output0, int8_t *output1)
{
    const int32_t channels = group->gemm.channels;

    for (int32_t i = 0; i < channels; i++) {
        output0[i] = (int8_t)group->how.rescale(&group->how, group->sums[i], i);
        output1[i] = (int8_t)group->how.rescale(&group->how, group->sums[channels + i], i);
    }
}

static void two_positions(const struct group_dsp *group, int8_t *output0, int8_t *output1)
{
    const int32_t *segment = group->column;
    int8_t *sums = (int8_t *)(void *)group->sums;
    int8_t *more_sums = (int8_t *)(void *)(group->sums + group->gemm.channels);
    const bool apart = group->gemm.how != NULL;

    group->gemm.pair(&group->gemm, &segment, 0, apart ? sums : output0, apart ? more_sums : output1);
    if (apart) {
        finish_sums(group, output0, output1);
    }
}

/* All outputs of a group in one image. */
static TVM_NOINLINE void one_group(const struct tvm_window *window, const struct tvm_columns_dsp *columns,
                                   const int8_t *input, int8_t *output, struct group_dsp *group)
{
    const int32_t depth = group->ring ? columns->depth : window->input_channels;
    int32_t left = window->output_height * window->output_width;

    group->pending = NULL;
    group->next_row = 0;
    for (int32_t out_y = 0; out_y < window->output_height; out_y++) {
        int8_t *to = output + out_y * columns->line;
        find_rows(window, columns, out_y, input, group);
        for (int32_t out_x = 0; out_x < window->output_width; out_x++) {
            int32_t *const column = group->column + (group->pending ? 1 : 0);
            columns->gather(group->rows, out_x * window->stride_width * depth, window->dilation_width * depth,
                            column);
            append(columns, column);
            left--;
            if (group->pending == NULL && left > 0) {
                group->pending = to;
            } else {
                /* A last position without another one is computed twice. */
                for (int32_t i = 0; group->pending == NULL && i < 2 * columns->words; i += 2) {
                    column[i + 1] = column[i];
                }
                two_positions(group, group->pending ? group->pending : to, to);
                group->pending = NULL;
            }
            to += columns->step;
        }
    }
}

void tvm_conv2d_any_dsp(const struct tvm_window *window, const struct tvm_gemm_dsp *gemm,
                        const struct tvm_columns_dsp *columns, const void *TVM_RESTRICT input,
                        void *TVM_RESTRICT output, void *TVM_RESTRICT scratch)
{
    struct group_dsp *group = scratch;
    uint8_t *rest = (uint8_t *)scratch + GROUP_BYTES;
    const int8_t *image = input;
    int8_t *result = (int8_t *)output + columns->first;

    group->rows = (const int8_t **)(void *)rest;
    group->column = (int32_t *)(void *)(rest + TVM_POINTER_BYTES(window->kernel_height));
    group->sums = group->column + 2 * columns->words;
    group->ring = columns->ring ? (int8_t *)(group->sums + (gemm->how ? 2 * gemm->channels : 0)) : NULL;
    for (int32_t batch = 0; batch < window->batch; batch++) {
        group->gemm = *gemm;
        if (gemm->how) {
            group->how = *gemm->how;
        }
        for (int32_t channel = 0; channel < window->output_channels; channel += gemm->channels) {
            one_group(window, columns, image + channel / gemm->channels * columns->depth, result + channel,
                      group);
            group->gemm.weights += columns->weights;
            group->gemm.parameters += columns->parameters;
            if (gemm->how) {
                group->how.multipliers = (const int32_t *)group->how.multipliers + gemm->channels;
                group->how.shifts = group->how.shifts ? group->how.shifts + gemm->channels : NULL;
            }
        }
        image += window->input_height * window->input_width * window->input_channels;
        result += columns->image;
    }
}
