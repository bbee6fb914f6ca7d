/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums of products, four at a time. Unsigned sums wrap: a total that fits is right whatever came between.
 */
#include "tvm_blocks_s8.h"

#define TVM_DEFINE_DOT(name, type)                                                    \
    static uint32_t name(uint32_t sum, const type *x, const int8_t *w, int32_t count) \
    {                                                                                 \
        for (; count >= 4; count -= 4) {                                              \
            sum += (uint32_t)(x[0] * w[0]);                                           \
            sum += (uint32_t)(x[1] * w[1]);                                           \
            sum += (uint32_t)(x[2] * w[2]);                                           \
            sum += (uint32_t)(x[3] * w[3]);                                           \
            x += 4;                                                                   \
            w += 4;                                                                   \
        }                                                                             \
        for (; count > 0; count--) {                                                  \
            sum += (uint32_t)(*x++ * *w++);                                           \
        }                                                                             \
        return sum;                                                                   \
    }

TVM_DEFINE_DOT(dot_signed, int8_t)
TVM_DEFINE_DOT(dot_unsigned, uint8_t)

uint32_t tvm_dot_s8(uint32_t sum, const void *x, bool x_unsigned, const int8_t *w, int32_t count)
{
    return x_unsigned ? dot_unsigned(sum, x, w, count) : dot_signed(sum, x, w, count);
}

uint32_t tvm_total_s8(uint32_t sum, const void *x, bool x_unsigned, int32_t count)
{
    const uint8_t *byte = x;

    for (int32_t i = 0; i < count; i++) {
        sum += x_unsigned ? (uint32_t)byte[i] : (uint32_t)(int8_t)byte[i];
    }
    return sum;
}
