/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators of two inputs that are a sum of two functions, each of them a table.
 */
#include "tvm_kernels_dsp.h"
#include "tvm_simd_dsp.h"

TVM_INLINE uint8_t output_of_tables(const struct tvm_tables_dsp *how, int32_t sum, const bool limited)
{
    if (limited) {
        return (uint8_t)(tvm_limit_s8(tvm_shift_right(sum, how->shift), how->low, how->high) ^ how->flip);
    }
    return (uint8_t)(tvm_saturate_shifted(tvm_shift_right(sum, how->shift), 0) ^ how->flip);
}

TVM_INLINE void add_tables(const struct tvm_tables_dsp *how, int32_t count, const uint8_t *a,
                           const uint8_t *b, int32_t b_step, uint8_t *output, const bool limited)
{
    const int32_t *x = how->a;
    const int32_t *y = how->b;

    if (b_step == 0) {
        const int32_t same = y[*b];
        for (; count > 0; count--) {
            *output++ = output_of_tables(how, x[*a++] + same, limited);
        }
        return;
    }
    for (; count >= 4; count -= 4) {
        TVM_UNROLL
        for (int32_t i = 0; i < 4; i++) {
            output[i] = output_of_tables(how, x[a[i]] + y[b[i]], limited);
        }
        a += 4;
        b += 4;
        output += 4;
    }
    for (; count > 0; count--) {
        *output++ = output_of_tables(how, x[*a++] + y[*b++], limited);
    }
}

void tvm_tables_s8_dsp(const struct tvm_tables_dsp *how, int32_t count, const void *a, int32_t a_step,
                       const void *b, int32_t b_step, void *output)
{
    struct tvm_tables_dsp local = *how;
    const int32_t step = a_step & b_step;

    if (a_step == 0) {
        const void *still = a;
        a = b;
        b = still;
        local.a = how->b;
        local.b = how->a;
    }
    if (local.limited) {
        add_tables(&local, count, a, b, step, output, true);
    } else {
        add_tables(&local, count, a, b, step, output, false);
    }
}
