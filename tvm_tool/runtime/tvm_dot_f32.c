/* SPDX-License-Identifier: Apache-2.0
 *
 * Dot product.
 */
#include "tvm_blocks_f32.h"

float tvm_dot_f32(float sum, const float *x, const float *w, int32_t count)
{
    struct tvm_f32x4 sums = {sum, 0.0f, 0.0f, 0.0f};

    for (; count >= 4; count -= 4) {
        tvm_add_products_f32x4(&sums, tvm_next_inputs(&x), tvm_next_weights(&w));
    }
    for (; count > 0; count--) {
        sums.a += tvm_multiply_f32(*x++, *w++);
    }
    return (sums.a + sums.b) + (sums.c + sums.d);
}
