/* SPDX-License-Identifier: Apache-2.0
 *
 * Softmax. The largest element of a row is subtracted first, so that nothing overflows.
 */
#include "tvm_blocks_f32.h"

void tvm_softmax_f32(int32_t rows, int32_t columns, const float *input, float *output)
{
    for (; rows > 0; rows--) {
        float most = input[0];
        float sum = 0.0f;
        for (int32_t column = 1; column < columns; column++) {
            most = tvm_at_least_f32(input[column], most);
        }
        for (int32_t column = 0; column < columns; column++) {
            output[column] = tvm_exp_f32(input[column] - most);
            sum += output[column];
        }
        const float scale = 1.0f / sum;
        for (int32_t column = 0; column < columns; column++) {
            output[column] *= scale;
        }
        input += columns;
        output += columns;
    }
}
