/* SPDX-License-Identifier: Apache-2.0
 *
 * Floats and the bits that they are stored as. Half precision (f16, bf16) is storage only: its bits in a
 * uint16_t, widened exactly and narrowed to the nearest, ties to even.
 */
#include "tvm_kernels.h"

union bits_of_f32 {
    float value;
    uint32_t bits;
};

union bits_of_f64 {
    double value;
    uint64_t bits;
};

uint32_t tvm_bits_from_f32(float x)
{
    const union bits_of_f32 u = {x};
    return u.bits;
}

float tvm_f32_from_bits(uint32_t bits)
{
    union bits_of_f32 u;
    u.bits = bits;
    return u.value;
}

uint64_t tvm_bits_from_f64(double x)
{
    const union bits_of_f64 u = {x};
    return u.bits;
}

double tvm_f64_from_bits(uint64_t bits)
{
    union bits_of_f64 u;
    u.bits = bits;
    return u.value;
}

float tvm_f32_from_f16(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t exponent = (half >> 10) & 31u;
    const uint32_t fraction = half & 1023u;

    if (exponent == 0) {
        const float small = (float)fraction * 0x1p-24f;
        return sign ? -small : small;
    }
    /* The bias is 127 instead of 15; the last exponent stands for infinity and NaN in both. */
    return tvm_f32_from_bits(sign | ((exponent == 31 ? 255 : exponent + 112) << 23) | fraction << 13);
}

/* bits / 2^shift to the nearest integer, ties to even; 1 <= shift <= 31. */
static uint32_t bits_rounded(uint32_t bits, uint32_t shift)
{
    const uint32_t whole = bits >> shift;
    const uint32_t rest = bits & ((1u << shift) - 1u);
    const uint32_t half = 1u << (shift - 1u);
    return whole + (rest > half || (rest == half && (whole & 1u)));
}

uint16_t tvm_f16_from_f32(float x)
{
    const uint32_t bits = tvm_bits_from_f32(x);
    const uint32_t sign = bits >> 16 & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t half = 0;

    if (magnitude > 0x7f800000u) {
        half = 0x7e00u; /* NaN */
    } else if (magnitude >= 0x47800000u) {
        half = 0x7c00u; /* 2^16 and more: infinity */
    } else if (magnitude >= 0x38800000u) {
        half = bits_rounded(magnitude - 0x38000000u, 13); /* 2^-14 and more: the bias changes */
    } else if (magnitude >= 0x33000000u) {
        half = bits_rounded((magnitude & 0x7fffffu) | 0x800000u, 126u - (magnitude >> 23)); /* subnormal */
    }
    return (uint16_t)(sign | half);
}

float tvm_f32_from_bf16(uint16_t half)
{
    return tvm_f32_from_bits((uint32_t)half << 16);
}

uint16_t tvm_bf16_from_f32(float x)
{
    const uint32_t bits = tvm_bits_from_f32(x);
    const int nan = (bits & 0x7fffffffu) > 0x7f800000u;
    return (uint16_t)(nan ? (bits >> 16 | 0x40u) : bits_rounded(bits, 16));
}
