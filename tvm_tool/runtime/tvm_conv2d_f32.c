/* SPDX-License-Identifier: Apache-2.0
 *
 * Convolution: the inputs under each tap of the window are one piece of a row of a matrix product.
 */
#include "tvm_blocks_f32.h"

void tvm_conv2d_f32(const struct tvm_window *window, const float *TVM_RESTRICT input,
                    const float *TVM_RESTRICT weights, const float *TVM_RESTRICT bias, float low, float high,
                    float *TVM_RESTRICT output, void *TVM_RESTRICT scratch)
{
    const int32_t taps = window->kernel_height * window->kernel_width;
    const int32_t positions = window->output_height * window->output_width;
    const int32_t depth = window->input_channels / window->groups;
    const int32_t channels = window->output_channels / window->groups;
    const struct tvm_gemm_f32 gemm = {taps, depth, channels, window->output_channels, low, high};
    const float **rows = (const float **)scratch;
    float *zeros = (float *)(rows + 4 * taps);

    tvm_zero_f32(zeros, window->input_channels);
    for (int32_t image = 0; image < window->batch; image++) {
        for (int32_t position = 0; position < positions; position += 4) {
            int32_t count = positions - position < 4 ? positions - position : 4;
            tvm_taps_f32(window, input, zeros, position, rows);
            for (int32_t group = 0; group < window->groups; group++) {
                tvm_gemm_f32(&gemm, rows, group * depth, weights + group * channels * taps * depth,
                             bias + group * channels, output + group * channels, count);
            }
            output += count * window->output_channels;
        }
        input += window->input_height * window->input_width * window->input_channels;
    }
}
