/* SPDX-License-Identifier: Apache-2.0
 *
 * One row of a matrix product, four channels at a time, then channel by channel.
 */
#include "tvm_blocks_f32.h"

static struct tvm_f32x4 four_channels(const struct tvm_gemm_f32 *gemm, const float *const *rows,
                                      int32_t offset, const float *weights, const float *bias)
{
    struct tvm_f32x4 sum = {bias[0], bias[1], bias[2], bias[3]};

    for (int32_t piece = gemm->pieces; piece > 0; piece--) {
        const float *x = *rows + offset;
        int32_t left = gemm->length;
        rows += 4;
        for (; left >= 4; left -= 4) {
            struct tvm_f32x4 x4 = tvm_next_inputs(&x);
            tvm_add_scaled_f32x4(&sum, x4.a, tvm_next_weights(&weights));
            tvm_add_scaled_f32x4(&sum, x4.b, tvm_next_weights(&weights));
            tvm_add_scaled_f32x4(&sum, x4.c, tvm_next_weights(&weights));
            tvm_add_scaled_f32x4(&sum, x4.d, tvm_next_weights(&weights));
        }
        for (; left > 0; left--) {
            tvm_add_scaled_f32x4(&sum, *x++, tvm_next_weights(&weights));
        }
    }
    return sum;
}

static float one_channel(const struct tvm_gemm_f32 *gemm, const float *const *rows, int32_t offset,
                         const float *weights, float bias)
{
    float sum = bias;

    for (int32_t piece = gemm->pieces; piece > 0; piece--) {
        sum = tvm_dot_f32(sum, *rows + offset, weights, gemm->length);
        weights += gemm->length;
        rows += 4;
    }
    return sum;
}

void tvm_gemv_f32(const struct tvm_gemm_f32 *gemm, const float *const *rows, int32_t offset,
                  const float *weights, const float *bias, float *output)
{
    int32_t depth = gemm->pieces * gemm->length;
    int32_t left = gemm->channels;

    for (; left >= 4; left -= 4) {
        struct tvm_f32x4 sum = four_channels(gemm, rows, offset, weights, bias);
        tvm_at_least_f32x4(&sum, gemm->low);
        tvm_at_most_f32x4(&sum, gemm->high);
        tvm_store_f32x4(output, sum);
        weights += 4 * depth;
        bias += 4;
        output += 4;
    }
    for (; left > 0; left--) {
        float sum = one_channel(gemm, rows, offset, weights, *bias++);
        *output++ = tvm_at_most_f32(tvm_at_least_f32(sum, gemm->low), gemm->high);
        weights += depth;
    }
}
