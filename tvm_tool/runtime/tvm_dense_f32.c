/* SPDX-License-Identifier: Apache-2.0
 *
 * Dense layer of one row.
 */
#include "tvm_blocks_f32.h"

void tvm_dense_f32(int32_t depth, int32_t channels, const float *TVM_RESTRICT input,
                   const float *TVM_RESTRICT weights, const float *TVM_RESTRICT bias, float low, float high,
                   float *TVM_RESTRICT output)
{
    const struct tvm_gemm_f32 gemm = {1, depth, channels, channels, low, high};
    const float *const row = input;

    tvm_gemv_f32(&gemm, &row, 0, weights, bias, output);
}
