/* SPDX-License-Identifier: Apache-2.0
 *
 * From sums to outputs in any way that the scalar kernels know.
 */
#include "tvm_gemm_mve.h"

void tvm_finish_any_mve(const struct tvm_rescaling_s8 *how, tvm_s32x4 sums, int32_t channel, int32_t count,
                        int8_t *output)
{
    int32_t numbers[4];

    tvm_store_words(numbers, sums);
    for (int32_t i = 0; i < count; i++) {
        output[i] = (int8_t)how->rescale(how, numbers[i], channel + i);
    }
}
