/* SPDX-License-Identifier: Apache-2.0
 *
 * Product of two inputs, one output at a time.
 */
#include "tvm_blocks_s8.h"

void tvm_matmul_s8(const struct tvm_product_s8 *product, const struct tvm_rescaling_s8 *how,
                   const void *TVM_RESTRICT a, const void *TVM_RESTRICT b, void *TVM_RESTRICT output)
{
    const uint8_t *row = a;
    const uint8_t *matrix = b;
    uint8_t *to = output;

    for (int32_t batch = 0; batch < product->batch; batch++) {
        for (int32_t m = 0; m < product->m; m++) {
            for (int32_t n = 0; n < product->n; n++) {
                const uint8_t *column = matrix + n;
                uint32_t sum = product->bias ? (uint32_t)product->bias[n] : 0u;
                for (int32_t k = 0; k < product->k; k++) {
                    const int32_t x = (row[k] ^ product->a_flip) - product->a_offset;
                    const int32_t y = (column[k * product->n] ^ product->b_flip) - product->b_offset;
                    sum += (uint32_t)(x * y);
                }
                *to++ = (uint8_t)how->rescale(how, (int32_t)sum, 0);
            }
            row += product->k;
        }
        matrix += product->k * product->n;
    }
}
