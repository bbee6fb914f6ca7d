/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums of two tensors: one operand looked up, the other one multiplied.
 */
#include "tvm_kernels_armv6m.h"

void tvm_add_s8_armv6m(const struct tvm_add_armv6m *add, int32_t count, const void *looked_up,
                       const int8_t *multiplied, void *output)
{
    const int32_t *table = add->table;
    const int32_t multiplier = add->multiplier;
    const uint32_t most = add->most;
    const uint32_t low = (uint32_t)add->low;
    const uint8_t *at = (const uint8_t *)looked_up;
    uint8_t *to = (uint8_t *)output;

    for (int32_t i = 0; i < count; i++) {
        const int32_t sum = table[at[i]] + multiplied[i] * multiplier;
        uint32_t value = (uint32_t)(sum >> TVM_ADD_SHIFT_ARMV6M);
        if (value > most) {
            value = sum < 0 ? 0 : most;
        }
        to[i] = (uint8_t)(value + low);
    }
}
