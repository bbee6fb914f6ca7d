/* SPDX-License-Identifier: Apache-2.0
 *
 * The larger of two numbers, four at a time.
 */
#include "tvm_kernels_dsp.h"
#include "tvm_simd_dsp.h"

/* One byte in all four places. */
TVM_INLINE int32_t four_times(uint8_t byte)
{
    return (int32_t)(byte * UINT32_C(0x01010101));
}

void tvm_larger_s8_dsp(const int32_t *mask, int32_t count, const void *a, int32_t a_step, const void *b,
                       int32_t b_step, void *output)
{
    const int32_t flip = four_times((uint8_t)*mask);
    const int32_t step = a_step & b_step;
    const int8_t *moving = a_step ? a : b;
    const int8_t *still = a_step ? b : a;
    int8_t *to = output;
    int32_t other = four_times((uint8_t)*still) ^ flip;

    for (; count >= 4; count -= 4) {
        if (step) {
            other = tvm_load_bytes(still) ^ flip;
            still += 4;
        }
        tvm_store_bytes(to, tvm_larger_bytes(tvm_load_bytes(moving) ^ flip, other) ^ flip);
        moving += 4;
        to += 4;
    }
    for (; count > 0; count--) {
        other = four_times((uint8_t)*still) ^ flip;
        other = tvm_larger_bytes(four_times((uint8_t)*moving++) ^ flip, other) ^ flip;
        *to++ = (int8_t)((uint32_t)other & 0xffu);
        still += step;
    }
}
