/* SPDX-License-Identifier: Apache-2.0
 *
 * 1x1 convolution, and dense layers of several rows: two positions at a time, read where they are or, where
 * the output may be the input, from a copy.
 */
#include "tvm_kernels_mve.h"

void tvm_pointwise_mve(const struct tvm_gemm_mve *gemm, int32_t rows, const int8_t *TVM_RESTRICT input,
                       void *TVM_RESTRICT output)
{
    int8_t *to = output;

    for (; rows > 0; rows -= 2) {
        const int32_t second = rows > 1 ? 1 : 0;
        gemm->pair(gemm, input, input + second * gemm->depth, to, to + second * gemm->channels);
        input += 2 * gemm->depth;
        to += 2 * gemm->channels;
    }
}

void tvm_pointwise_copied_mve(const struct tvm_gemm_mve *gemm, int32_t rows, int32_t depth,
                              const int8_t *input, void *output, void *TVM_RESTRICT scratch)
{
    int8_t *copy0 = scratch;
    int8_t *copy1 = copy0 + gemm->depth;
    int8_t *to = output;

    for (; rows > 0; rows -= 2) {
        const int32_t second = rows > 1 ? 1 : 0;
        tvm_copy_mve(copy0, input, depth);
        tvm_copy_mve(copy1, input + second * depth, depth);
        gemm->pair(gemm, copy0, copy1, to, to + second * gemm->channels);
        input += 2 * depth;
        to += 2 * gemm->channels;
    }
}
