/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums of two tensors: one operand scaled by a table, the other one by a shift; eight at a time.
 */
#include "tvm_kernels_dsp.h"
#include "tvm_kernels_mve.h"

/* Up to four sums. */
TVM_INLINE tvm_s32x4 sum_four_mve(const struct tvm_add_dsp *add, const int8_t *shifted,
                                  const int8_t *looked_up, int32_t count, const bool plain)
{
    tvm_s32x4 sums = tvm_look_up_bytes(add->table, looked_up, count);

    sums = tvm_add_words(sums, tvm_shift_up_20(tvm_widen_bytes(shifted, count)));
    sums = tvm_multiply_high_words(sums, tvm_repeat_word(add->multiplier));
    if (!plain) {
        sums = tvm_add_words(sums, tvm_signs(sums));
    }
    return tvm_shift_words_alike(tvm_add_word(sums, add->addend), -add->shift);
}

TVM_INLINE void add_all_mve(const struct tvm_add_dsp *add, int32_t count, const int8_t *shifted,
                            const int8_t *looked_up, int8_t *output, const bool plain)
{
    for (; count >= 8; count -= 8) {
        tvm_s8x16 bytes = tvm_saturate_two(sum_four_mve(add, shifted, looked_up, 4, plain),
                                           sum_four_mve(add, shifted + 4, looked_up + 4, 4, plain), 0);
        if (!plain) {
            bytes = tvm_limit_bytes(bytes, add->low, add->high);
        }
        tvm_store_each_4(output, bytes);
        tvm_store_each_4(output + 4, tvm_two_bytes_down(bytes));
        shifted += 8;
        looked_up += 8;
        output += 8;
    }
    for (; count > 0; count -= 4) {
        tvm_s8x16 bytes = tvm_saturate_one(sum_four_mve(add, shifted, looked_up, count, plain), 0);
        if (!plain) {
            bytes = tvm_limit_bytes(bytes, add->low, add->high);
        }
        tvm_store_first_4(output, bytes, count);
        shifted += 4;
        looked_up += 4;
        output += 4;
    }
}

TVM_BLOCK_MVE void add_plain_mve(const struct tvm_add_dsp *add, int32_t count, const int8_t *shifted,
                                 const int8_t *looked_up, int8_t *output)
{
    add_all_mve(add, count, shifted, looked_up, output, true);
}

TVM_BLOCK_MVE void add_limited_mve(const struct tvm_add_dsp *add, int32_t count, const int8_t *shifted,
                                   const int8_t *looked_up, int8_t *output)
{
    add_all_mve(add, count, shifted, looked_up, output, false);
}

void tvm_add_s8_mve(const struct tvm_add_dsp *add, int32_t count, const int8_t *shifted,
                    const int8_t *looked_up, int8_t *output)
{
    const struct tvm_add_dsp local = *add;

    if (local.plain) {
        add_plain_mve(&local, count, shifted, looked_up, output);
    } else {
        add_limited_mve(&local, count, shifted, looked_up, output);
    }
}
