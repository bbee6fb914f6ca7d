/* SPDX-License-Identifier: Apache-2.0
 *
 * Dense layer of many rows, and 1x1 convolutions: a plain matrix product.
 */
#include "tvm_blocks_f32.h"

void tvm_matmul_f32(int32_t rows, int32_t depth, int32_t channels, const float *input,
                    const float *TVM_RESTRICT weights, const float *TVM_RESTRICT bias, float low, float high,
                    float *output, void *TVM_RESTRICT scratch)
{
    const struct tvm_gemm_f32 gemm = {1, depth, channels, channels, low, high};
    const bool in_place = output == input;
    const float *four[4];

    while (rows > 0) {
        const int32_t count = rows < 4 ? rows : 4;
        const float *from = input;
        if (in_place) {
            tvm_copy_f32((float *)scratch, input, count * depth);
            from = (const float *)scratch;
        }
        for (int32_t row = 0; row < count; row++) {
            four[row] = from + row * depth;
        }
        tvm_gemm_f32(&gemm, four, 0, weights, bias, output, count);
        input += count * depth;
        output += count * channels;
        rows -= count;
    }
}
