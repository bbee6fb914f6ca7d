/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of two tensors, element by element.
 */
#include "tvm_gemm_dsp.h"
#include "tvm_kernels_dsp.h"

TVM_INLINE int8_t output_of_product(const struct tvm_multiply_dsp *how, int32_t product, const bool twice,
                                    const bool limited)
{
    const struct tvm_form_dsp form = {how->multiplier, how->addend, how->shift};
    int32_t value;

    if (twice) {
        return (int8_t)tvm_output_dsp(&form, 2 * product, TVM_DOUBLE, true, how->low, how->high);
    }
    value = tvm_shift_right(tvm_scale(product + how->correction, how->multiplier, how->addend), how->shift);
    return (int8_t)(limited ? tvm_limit_s8(value, how->low, how->high) : tvm_saturate_shifted(value, 0));
}

TVM_INLINE void multiply_all(const struct tvm_multiply_dsp *how, int32_t count, const int8_t *a,
                             const int8_t *b, int32_t b_step, int8_t *output, const bool twice,
                             const bool limited)
{
    for (; count > 0; count--) {
        const int32_t product = (*a++ - how->a_zero) * (*b - how->b_zero);
        *output++ = output_of_product(how, product, twice, limited);
        b += b_step;
    }
}

void tvm_multiply_s8_dsp(const struct tvm_multiply_dsp *how, int32_t count, const int8_t *a, int32_t a_step,
                         const int8_t *b, int32_t b_step, int8_t *output)
{
    struct tvm_multiply_dsp local = *how;
    const int32_t step = a_step & b_step;

    if (a_step == 0) {
        const int8_t *still = a;
        a = b;
        b = still;
        local.a_zero = how->b_zero;
        local.b_zero = how->a_zero;
    }
    if (local.twice) {
        multiply_all(&local, count, a, b, step, output, true, true);
    } else if (local.limited) {
        multiply_all(&local, count, a, b, step, output, false, true);
    } else {
        multiply_all(&local, count, a, b, step, output, false, false);
    }
}
