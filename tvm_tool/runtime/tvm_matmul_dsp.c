/* SPDX-License-Identifier: Apache-2.0
 *
 * Product of two inputs. Four columns of the second one are packed, then multiplied by all rows of the first one.
 */
#include "tvm_expand_dsp.h"
#include "tvm_kernels_dsp.h"

/* Number `k` of a column less its zero point, 0 behind the last one. */
TVM_INLINE int32_t centred_number(const struct tvm_matmul_dsp *product, const uint8_t *column, int32_t k)
{
    return k < product->k ? (column[k * product->n] ^ product->b_flip) - product->b_offset : 0;
}

/* Packs `count` columns and zeros up to four: by four numbers of each, in the order of expanded inputs. What
 * the zero point of `a` adds to the sums of a column, its bias and the correction go into `start`. */
static TVM_NOINLINE void pack_columns(const struct tvm_matmul_dsp *product, const uint8_t *b, int32_t n,
                                      int32_t *start, int32_t *to)
{
    const int32_t words = 8 * ((product->k + 3) / 4);

    for (int32_t i = 0; i < 4; i++) {
        const uint8_t *column = b + (n + i < product->n ? n + i : product->n - 1);
        int32_t sum = 0;
        for (int32_t k = 0; k < product->k; k += 4) {
            const int32_t first = centred_number(product, column, k);
            const int32_t second = centred_number(product, column, k + 1);
            const int32_t third = centred_number(product, column, k + 2);
            const int32_t fourth = centred_number(product, column, k + 3);
            sum += first + second + third + fourth;
            to[0] = tvm_pack_low(first, third);
            to[1] = tvm_pack_low(second, fourth);
            to += 8;
        }
        start[i] = product->correction - product->a_zero * sum;
        if (product->bias && n + i < product->n) {
            start[i] += product->bias[n + i];
        }
        to -= words - 2;
    }
}

/* The products of one row with four columns. */
TVM_INLINE void four_products(const struct tvm_matmul_dsp *product, const int8_t *row, const int32_t *start,
                              const int32_t *columns, int32_t *sums)
{
    int32_t sum0 = start[0];
    int32_t sum1 = start[1];
    int32_t sum2 = start[2];
    int32_t sum3 = start[3];

    for (int32_t k = product->k; k > 0; k -= 4) {
        const int32_t found = k >= 4 ? tvm_load_bytes(row) : tvm_load_tail(row, k);
        const int32_t bytes = (int32_t)((uint32_t)found ^ product->a_flip);
        const int32_t even = TVM_SXTB16(bytes);
        const int32_t odd = tvm_odd_bytes(bytes);
        sum0 = TVM_SMLAD(even, columns[0], sum0);
        sum0 = TVM_SMLAD(odd, columns[1], sum0);
        sum1 = TVM_SMLAD(even, columns[2], sum1);
        sum1 = TVM_SMLAD(odd, columns[3], sum1);
        sum2 = TVM_SMLAD(even, columns[4], sum2);
        sum2 = TVM_SMLAD(odd, columns[5], sum2);
        sum3 = TVM_SMLAD(even, columns[6], sum3);
        sum3 = TVM_SMLAD(odd, columns[7], sum3);
        columns += 8;
        row += 4;
    }
    sums[0] = sum0;
    sums[1] = sum1;
    sums[2] = sum2;
    sums[3] = sum3;
}

static void finish_products(const struct tvm_matmul_dsp *product, const int32_t *sums, int32_t count,
                            int8_t *output)
{
    const struct tvm_form_dsp form = {product->multiplier, product->addend, product->shift};
    const int32_t factor = product->form == TVM_DOUBLE ? 2 : 1;

    for (int32_t i = 0; i < count; i++) {
        if (product->form == TVM_ANY) {
            output[i] = (int8_t)product->how->rescale(product->how, sums[i], 0);
        } else {
            output[i] = (int8_t)tvm_output_dsp(&form, sums[i] * factor, product->form, true, product->low,
                                               product->high);
        }
    }
}

void tvm_matmul_s8_dsp(const struct tvm_matmul_dsp *product, const void *TVM_RESTRICT a,
                       const void *TVM_RESTRICT b, void *TVM_RESTRICT output, void *TVM_RESTRICT scratch)
{
    const int8_t *rows = a;
    const uint8_t *matrix = b;
    int8_t *to = output;
    int32_t *start = scratch;
    int32_t *columns = start + 4;

    for (int32_t batch = 0; batch < product->batch; batch++) {
        for (int32_t n = 0; n < product->n; n += 4) {
            const int32_t count = product->n - n < 4 ? product->n - n : 4;
            const int8_t *row = rows;
            int8_t *result = to + n;
            pack_columns(product, matrix, n, start, columns);
            for (int32_t m = product->m; m > 0; m--) {
                int32_t sums[4];
                four_products(product, row, start, columns, sums);
                finish_products(product, sums, count, result);
                row += product->k;
                result += product->n;
            }
        }
        rows += product->m * product->k;
        matrix += product->k * product->n;
        to += product->m * product->n;
    }
}
