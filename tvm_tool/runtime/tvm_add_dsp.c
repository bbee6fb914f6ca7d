/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums of two tensors: one operand scaled by a table, the other one by a shift.
 */
#include "tvm_kernels_dsp.h"
#include "tvm_simd_dsp.h"

TVM_INLINE int8_t finished_sum(const struct tvm_add_dsp *add, int32_t sum, const bool plain)
{
    int32_t value;

    if (plain) {
        value = tvm_scale(sum, add->multiplier, add->addend);
    } else {
        value = tvm_multiply_high_rounded(sum, add->multiplier);
        value += tvm_shift_right(value, 31) + add->addend;
    }
    value = tvm_shift_right(value, add->shift);
    return (int8_t)(plain ? tvm_saturate_shifted(value, 0) : tvm_limit_s8(value, add->low, add->high));
}

TVM_INLINE void add_all(const struct tvm_add_dsp *add, int32_t count, const int8_t *shifted,
                        const int8_t *looked_up, int8_t *output, const bool plain)
{
    const int32_t *table = add->table;

    for (; count >= 4; count -= 4) {
        TVM_UNROLL
        for (int32_t i = 0; i < 4; i++) {
            output[i] = finished_sum(add, table[(uint8_t)looked_up[i]] + shifted[i] * (1 << 20), plain);
        }
        shifted += 4;
        looked_up += 4;
        output += 4;
    }
    for (; count > 0; count--) {
        *output++ = finished_sum(add, table[(uint8_t)*looked_up++] + *shifted++ * (1 << 20), plain);
    }
}

void tvm_add_s8_dsp(const struct tvm_add_dsp *add, int32_t count, const int8_t *shifted,
                    const int8_t *looked_up, int8_t *output)
{
    const struct tvm_add_dsp local = *add;

    if (local.plain) {
        add_all(&local, count, shifted, looked_up, output, true);
    } else {
        add_all(&local, count, shifted, looked_up, output, false);
    }
}
