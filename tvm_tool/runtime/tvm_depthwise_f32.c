/* SPDX-License-Identifier: Apache-2.0
 *
 * Depthwise convolution, four positions by four channels at a time.
 */
#include "tvm_blocks_f32.h"

/* Four channels of `count` positions. All four positions are computed, which costs less than a choice. */
static void depthwise_block(const struct tvm_gemm_f32 *gemm, const float *const *rows, int32_t channel,
                  const float *weights, const float *bias, float *output, int32_t count)
{
    struct tvm_f32x4 sum0 = tvm_next_weights(&bias);
    struct tvm_f32x4 sum1 = sum0, sum2 = sum0, sum3 = sum0;

    for (int32_t tap = gemm->pieces; tap > 0; tap--) {
        struct tvm_f32x4 w = tvm_next_weights(&weights);
        const float *x0 = rows[0] + channel;
        const float *x1 = rows[1] + channel;
        const float *x2 = rows[2] + channel;
        const float *x3 = rows[3] + channel;
        rows += 4;
        tvm_add_products_f32x4(&sum0, tvm_next_inputs(&x0), w);
        TVM_SETTLE(&sum0);
        tvm_add_products_f32x4(&sum1, tvm_next_inputs(&x1), w);
        TVM_SETTLE(&sum1);
        tvm_add_products_f32x4(&sum2, tvm_next_inputs(&x2), w);
        TVM_SETTLE(&sum2);
        tvm_add_products_f32x4(&sum3, tvm_next_inputs(&x3), w);
        TVM_SETTLE(&sum3);
    }
    tvm_clamp_f32x4x4(&sum0, &sum1, &sum2, &sum3, gemm->low, gemm->high);
    tvm_store_f32x4(output, sum0);
    if (count > 1) {
        tvm_store_f32x4(output + gemm->stride, sum1);
    }
    if (count > 2) {
        tvm_store_f32x4(output + 2 * gemm->stride, sum2);
    }
    if (count > 3) {
        tvm_store_f32x4(output + 3 * gemm->stride, sum3);
    }
}

void tvm_depthwise_f32(const struct tvm_window *window, const float *TVM_RESTRICT input,
                       const float *TVM_RESTRICT weights, const float *TVM_RESTRICT bias, float low,
                       float high, float *TVM_RESTRICT output, void *TVM_RESTRICT scratch)
{
    const int32_t taps = window->kernel_height * window->kernel_width;
    const int32_t positions = window->output_height * window->output_width;
    const int32_t channels = window->input_channels;
    const struct tvm_gemm_f32 gemm = {taps, 1, 1, channels, low, high};
    const float **rows = (const float **)scratch;
    float *zeros = (float *)(rows + 4 * taps);

    tvm_zero_f32(zeros, channels);
    for (int32_t image = 0; image < window->batch; image++) {
        for (int32_t position = 0; position < positions; position += 4) {
            int32_t count = positions - position < 4 ? positions - position : 4;
            int32_t channel = 0;
            tvm_taps_f32(window, input, zeros, position, rows);
            for (; channel + 4 <= channels; channel += 4) {
                depthwise_block(&gemm, rows, channel, weights + channel * taps, bias + channel, output + channel,
                      count);
            }
            for (; channel < channels; channel++) {
                for (int32_t row = 0; row < count; row++) {
                    tvm_gemv_f32(&gemm, rows + row, channel, weights + channel * taps, bias + channel,
                                 output + row * channels + channel);
                }
            }
            output += count * channels;
        }
        input += window->input_height * window->input_width * channels;
    }
}
