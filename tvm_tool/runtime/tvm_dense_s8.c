/* SPDX-License-Identifier: Apache-2.0
 *
 * Dense layer, one output at a time.
 */
#include "tvm_blocks_s8.h"

void tvm_dense_s8(int32_t rows, int32_t depth, int32_t channels, const struct tvm_weights_s8 *weights,
                  const struct tvm_rescaling_s8 *how, const void *TVM_RESTRICT input,
                  void *TVM_RESTRICT output)
{
    const uint8_t *row = input;
    uint8_t *to = output;

    for (; rows > 0; rows--) {
        const int8_t *weight = weights->weights;
        const uint32_t inputs = weights->zeros ? tvm_total_s8(0, row, weights->input_unsigned, depth) : 0;
        for (int32_t channel = 0; channel < channels; channel++) {
            uint32_t sum = (uint32_t)weights->bias[channel];
            sum = tvm_dot_s8(sum, row, weights->input_unsigned, weight, depth);
            if (weights->zeros) {
                sum -= (uint32_t)weights->zeros[channel] * inputs;
            }
            *to++ = (uint8_t)how->rescale(how, (int32_t)sum, channel);
            weight += depth;
        }
        row += depth;
    }
}
