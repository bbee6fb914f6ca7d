/* SPDX-License-Identifier: Apache-2.0
 *
 * Products of two tensors in single precision, dequantised by tables: for cores with an FPU.
 */
#include "tvm_kernels_dsp.h"
#include "tvm_simd_dsp.h"

/* `value` rounded half to even, then limited. */
TVM_INLINE int32_t round_number(float value, int32_t low, int32_t high)
{
#if TVM_DSP && defined(__ARM_FP)
    int32_t number;

    __asm__("vcvtr.s32.f32 %1, %1\n\tvmov %0, %1" : "=r"(number), "+t"(value));
    return tvm_limit_s8(number, low, high);
#else
    return tvm_round_limited(value, low, high);
#endif
}

void tvm_multiply_float_dsp(const struct tvm_multiply_float_dsp *how, int32_t count, const void *a,
                            int32_t a_step, const void *b, int32_t b_step, void *output)
{
    const struct tvm_multiply_float_dsp local = *how;
    const uint8_t *x = a;
    const uint8_t *y = b;
    uint8_t *to = output;

    for (; count > 0; count--) {
        float value = local.a[*x] * local.b[*y];
        TVM_COMPLETE(value);
        *to++ = (uint8_t)(local.zero + round_number(value / local.scale, local.low, local.high));
        x += a_step;
        y += b_step;
    }
}
