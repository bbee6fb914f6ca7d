/* SPDX-License-Identifier: Apache-2.0
 *
 * 1x1 convolution, and dense layers of several rows: two positions at a time.
 */
#include "tvm_expand_dsp.h"
#include "tvm_kernels_dsp.h"

void tvm_pointwise_dsp(const struct tvm_gemm_dsp *gemm, int32_t rows, int32_t depth, const int8_t *input,
                       void *output, void *TVM_RESTRICT scratch)
{
    int32_t few[TVM_STACK_SCRATCH_DSP / 4];
    int32_t *columns = scratch ? scratch : few;
    const int32_t *segment = columns;
    int8_t *to = output;

    for (; rows > 1; rows -= 2) {
        tvm_expand_2(columns, input, input + depth, depth);
        gemm->pair(gemm, &segment, 0, to, to + gemm->channels);
        input += 2 * depth;
        to += 2 * gemm->channels;
    }
    if (rows > 0) {
        tvm_expand_2(columns, input, input, depth);
        gemm->pair(gemm, &segment, 0, to, to);
    }
}
