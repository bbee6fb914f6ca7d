/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums and largest numbers along an axis.
 */
#include "tvm_blocks_s8.h"

void tvm_sum_s8(const struct tvm_axis_s8 *axis, const struct tvm_pool_s8 *how, int32_t divisor,
                const void *TVM_RESTRICT input, void *TVM_RESTRICT output)
{
    const uint8_t *data = input;
    uint8_t *to = output;

    for (int32_t outer = 0; outer < axis->outer; outer++) {
        for (int32_t inner = 0; inner < axis->inner; inner++) {
            const uint8_t *from = data + inner;
            int32_t sum = 0;
            for (int32_t count = axis->count; count > 0; count--) {
                sum += (*from ^ how->flip) - how->offset;
                from += axis->inner;
            }
            *to++ = (uint8_t)how->finish(how, sum, divisor);
        }
        data += axis->count * axis->inner;
    }
}

void tvm_most_s8(const struct tvm_axis_s8 *axis, int32_t mask, const void *TVM_RESTRICT input,
                 void *TVM_RESTRICT output)
{
    const uint8_t *data = input;
    uint8_t *to = output;

    for (int32_t outer = 0; outer < axis->outer; outer++) {
        for (int32_t inner = 0; inner < axis->inner; inner++) {
            const uint8_t *from = data + inner;
            int32_t most = 0;
            for (int32_t count = axis->count; count > 0; count--) {
                const int32_t number = *from ^ mask;
                most = number > most ? number : most;
                from += axis->inner;
            }
            *to++ = (uint8_t)(most ^ mask);
        }
        data += axis->count * axis->inner;
    }
}
