/* SPDX-License-Identifier: Apache-2.0
 *
 * The largest number along an axis, four neighbours at a time; the last four overlap the ones before.
 */
#include "tvm_kernels_dsp.h"
#include "tvm_simd_dsp.h"

void tvm_most_s8_dsp(const struct tvm_axis_s8 *axis, int32_t mask, const void *TVM_RESTRICT input,
                     void *TVM_RESTRICT output)
{
    const int32_t flip = (int32_t)((uint32_t)(mask ^ 0x80) * UINT32_C(0x01010101));
    const int8_t *data = input;
    int8_t *to = output;

    for (int32_t outer = 0; outer < axis->outer; outer++) {
        for (int32_t next = 0; next < axis->inner; next += 4) {
            const int32_t inner = next + 4 <= axis->inner ? next : axis->inner - 4;
            const int8_t *from = data + inner;
            int32_t most = tvm_load_bytes(from) ^ flip;
            for (int32_t count = axis->count; count > 1; count--) {
                from += axis->inner;
                most = tvm_larger_bytes(most, tvm_load_bytes(from) ^ flip);
            }
            tvm_store_bytes(to + inner, most ^ flip);
        }
        data += axis->count * axis->inner;
        to += axis->inner;
    }
}
