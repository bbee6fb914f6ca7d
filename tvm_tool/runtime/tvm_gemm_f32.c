/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix product, four rows by four channels at a time: 16 sums in registers, 8 loads for 16 products.
 */
#include "tvm_blocks_f32.h"

/* Four rows by four channels. A function of its own, so that the loop has all registers to itself. */
static TVM_NOINLINE void block(const struct tvm_gemm_f32 *gemm, const float *const *rows, int32_t offset,
                               const float *weights, const float *bias, float *output)
{
    struct tvm_f32x4 sum0 = tvm_next_weights(&bias);
    struct tvm_f32x4 sum1 = sum0, sum2 = sum0, sum3 = sum0;

    for (int32_t piece = gemm->pieces; piece > 0; piece--) {
        const float *x0 = rows[0] + offset;
        const float *x1 = rows[1] + offset;
        const float *x2 = rows[2] + offset;
        const float *x3 = rows[3] + offset;
        const float *end = x0 + gemm->length;
        rows += 4;
        do {
            struct tvm_f32x4 w = tvm_next_weights(&weights);
            tvm_add_scaled_f32x4(&sum0, *x0++, w);
            tvm_add_scaled_f32x4(&sum1, *x1++, w);
            tvm_add_scaled_f32x4(&sum2, *x2++, w);
            tvm_add_scaled_f32x4(&sum3, *x3++, w);
        } while (x0 != end);
    }
    tvm_clamp_f32x4x4(&sum0, &sum1, &sum2, &sum3, gemm->low, gemm->high);
    tvm_store_f32x4(output, sum0);
    tvm_store_f32x4(output += gemm->stride, sum1);
    tvm_store_f32x4(output += gemm->stride, sum2);
    tvm_store_f32x4(output += gemm->stride, sum3);
}

void tvm_gemm_f32(const struct tvm_gemm_f32 *gemm, const float *const *rows, int32_t offset,
                  const float *weights, const float *bias, float *output, int32_t count)
{
    struct tvm_gemm_f32 rest = *gemm;

    if (count == 4) {
        int32_t depth = gemm->pieces * gemm->length;
        for (; rest.channels >= 4; rest.channels -= 4) {
            block(gemm, rows, offset, weights, bias, output);
            weights += 4 * depth;
            bias += 4;
            output += 4;
        }
    }
    if (rest.channels > 0) {
        for (int32_t row = 0; row < count; row++) {
            tvm_gemv_f32(&rest, rows + row, offset, weights, bias, output + row * gemm->stride);
        }
    }
}
