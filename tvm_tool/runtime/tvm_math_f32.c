/* SPDX-License-Identifier: Apache-2.0
 *
 * Elementary functions in single precision: no double, no table, no C library.
 */
#include "tvm_kernels.h"

/* 2^n for -126 <= n <= 127. */
static float power_of_two(int32_t n)
{
    union {
        uint32_t bits;
        float value;
    } power;

    power.bits = (uint32_t)(n + 127) << 23;
    return power.value;
}

/* exp(x) = 2^n exp(r), |r| <= ln(2) / 2. */
float tvm_exp_f32(float x)
{
    if (x > 0x1.62e42ep+6f) {
        return TVM_INFINITY; /* the largest x with a finite result */
    }
    if (x < -0x1.9fe36ap+6f) {
        return 0.0f; /* less than half of the smallest number */
    }
    if (x != x) {
        return x;
    }
    /* ln(2) is subtracted in two parts; the first has so few bits that its product with n is exact. */
    const int32_t n = (int32_t)(x * 0x1.715476p+0f + (x < 0.0f ? -0.5f : 0.5f));
    const float r = x - (float)n * 0x1.62e4p-1f - (float)n * 0x1.7f7d1cp-20f;
    float p = 0x1.6a2444p-10f;
    p = p * r + 0x1.1239d6p-7f;
    p = p * r + 0x1.5558f2p-5f;
    p = p * r + 0x1.555492p-3f;
    p = p * r + 0x1.fffffcp-2f;
    p = p * r * r + r + 1.0f;
    /* In two steps, because 2^n itself may be out of range where the result is not. */
    return p * power_of_two(n / 2) * power_of_two(n - n / 2);
}

/* An odd polynomial near zero, the exponential function elsewhere. */
float tvm_tanh_f32(float x)
{
    if (x > -0.625f && x < 0.625f) {
        const float z = x * x;
        float p = -0x1.75e1dcp-8f;
        p = p * z + 0x1.52269ep-6f;
        p = p * z - 0x1.b83c5ap-5f;
        p = p * z + 0x1.110726p-3f;
        p = p * z - 0x1.555532p-2f;
        return p * z * x + x;
    }
    const float e = tvm_exp_f32(x < 0.0f ? -2.0f * x : 2.0f * x);
    const float t = 1.0f - 2.0f / (e + 1.0f);
    return x < 0.0f ? -t : t;
}

/* exp never overflows here, and small results keep their precision. */
float tvm_sigmoid_f32(float x)
{
    const float e = tvm_exp_f32(x < 0.0f ? x : -x);

    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

/* An odd polynomial near zero, 1 - exp(-polynomial) elsewhere. */
float tvm_erf_f32(float x)
{
    const float z = x < 0.0f ? -x : x;

    if (z < 0.9f) {
        const float s = x * x;
        float p = -0x1.3f5112p-11f;
        p = p * s + 0x1.48773ep-8f;
        p = p * s - 0x1.b6befap-6f;
        p = p * s + 0x1.ce1dd4p-4f;
        p = p * s - 0x1.8126fap-2f;
        p = p * s + 0x1.06eba6p-3f;
        return p * x + x;
    }
    float p = -0x1.9fb2eap-13f;
    p = p * z + 0x1.91cd18p-9f;
    p = p * z - 0x1.6d9ceep-6f;
    p = p * z + 0x1.aa732cp-4f;
    p = p * z + 0x1.4621b8p-1f;
    p = p * z + 0x1.20b752p+0f;
    p = p * z + 0x1.5d0c7p-13f;
    /* Beyond 3.95 the result is 1; the polynomial is not meant for more. A NaN passes. */
    const float t = z > 3.95f ? 1.0f : 1.0f - tvm_exp_f32(-p);
    return x < 0.0f ? -t : t;
}

/* The FPU's instruction, which C only reaches through a function that may set errno; else bit by bit. */
float tvm_sqrt_f32(float x)
{
#if defined(__ARM_FP) && (__ARM_FP & 4)
    float root;
    __asm__("vsqrt.f32 %0, %1" : "=t"(root) : "t"(x));
    return root;
#else
    union {
        float value;
        uint32_t bits;
    } number;
    int32_t exponent;
    uint32_t rest, root = 0, sum = 0;

    number.value = x;
    if (!(x > 0.0f) || number.bits >= 0x7f800000u) {
        return x < 0.0f ? __builtin_nanf("") : x; /* zeros, infinity and NaN are their own roots */
    }
    exponent = (int32_t)(number.bits >> 23);
    rest = number.bits & 0x7fffffu;
    if (exponent == 0) {
        for (exponent = 1; rest < 0x800000u; --exponent) {
            rest <<= 1;
        }
    } else {
        rest |= 0x800000u;
    }
    exponent -= 127;
    if (exponent % 2 != 0) {
        rest <<= 1;
        --exponent;
    }
    rest <<= 1;
    /* From the highest down, each bit of the root stays set if the square does not become too large. */
    for (uint32_t bit = 0x1000000u; bit != 0u; bit >>= 1) {
        const uint32_t trial = sum + bit;

        if (trial <= rest) {
            sum = trial + bit;
            rest -= trial;
            root += bit;
        }
        rest <<= 1;
    }
    root += root & 1u; /* the last bit only rounds, and is never a tie */
    number.bits = (root >> 1) + (126u << 23) + ((uint32_t)(exponent / 2) << 23);
    return number.value;
#endif
}
