/* SPDX-License-Identifier: Apache-2.0
 *
 * Dense layer of any number of rows, one output at a time.
 */
#include "tvm_blocks_f32.h"

void tvm_dense_small_f32(int32_t rows, int32_t depth, int32_t channels, const float *TVM_RESTRICT input,
                         const float *TVM_RESTRICT weights, const float *TVM_RESTRICT bias, float low,
                         float high, float *TVM_RESTRICT output)
{
    for (; rows > 0; rows--) {
        const float *weight = weights;
        for (int32_t channel = 0; channel < channels; channel++) {
            float sum = tvm_dot_f32(bias[channel], input, weight, depth);
            *output++ = tvm_at_most_f32(tvm_at_least_f32(sum, low), high);
            weight += depth;
        }
        input += depth;
    }
}
