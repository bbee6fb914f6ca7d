/* SPDX-License-Identifier: Apache-2.0
 *
 * From sums to outputs in any way that the scalar kernels know.
 */
#include "tvm_gemm_dsp.h"

void tvm_finish_any_dsp(const struct tvm_rescaling_s8 *how, const int32_t *sums, int32_t channel,
                        int32_t count, int8_t *output)
{
    for (int32_t i = 0; i < count; i++) {
        output[i] = (int8_t)how->rescale(how, sums[i], channel + i);
    }
}
