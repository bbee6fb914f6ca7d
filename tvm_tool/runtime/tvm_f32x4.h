/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_f32x4.h - four floats at a time, for the float32 kernels. Not for use by a firmware.
 *
 * Plain C for every compiler. For the single-precision FPU of Cortex-M4 and M33, a little assembly says
 * what C cannot:
 *   - a product is rounded before it is added, at every optimisation level. VMUL and VADD take one cycle
 *     each, VMLA and VFMA three; and the results are those of a host without fused instructions;
 *   - four consecutive floats are loaded by one VLDM (5 cycles) instead of four VLDR (8 cycles);
 *   - instructions stay in an order in which none waits for the one before.
 */
#ifndef TVM_F32X4_H
#define TVM_F32X4_H

#include "tvm_kernels.h"

#ifdef __GNUC__
#define TVM_INLINE static inline __attribute__((always_inline))
#define TVM_NOINLINE __attribute__((noinline))
#else
#define TVM_INLINE static inline
#define TVM_NOINLINE
#endif

/* Four neighbours: channels of one position, or weights of four channels. */
struct tvm_f32x4 {
    float a, b, c, d;
};

/* Bit 3 of __ARM_FP: double precision. */
#if defined(__GNUC__) && defined(__arm__) && defined(__ARM_FP)
#define TVM_SINGLE_FPU (!(__ARM_FP & 8))
#else
#define TVM_SINGLE_FPU 0
#endif

#if TVM_SINGLE_FPU

/* `product` is complete. */
#define TVM_ROUND(product) __asm__("" : "+t"(product))

/* `later` is not used before `sooner` is there. */
#define TVM_AFTER(later, sooner) __asm__("" : "+t"(later) : "t"(sooner))

/* All four are complete before another load starts. */
#define TVM_SETTLE(x) __asm__ volatile("" : "+t"((x)->a), "+t"((x)->b), "+t"((x)->c), "+t"((x)->d))

#define TVM_DEFINE_NEXT(name, r0, r1, r2, r3)                              \
    TVM_INLINE struct tvm_f32x4 name(const float **from)                   \
    {                                                                      \
        register float a __asm__(r0);                                      \
        register float b __asm__(r1);                                      \
        register float c __asm__(r2);                                      \
        register float d __asm__(r3);                                      \
        __asm__ volatile("vldmia %0!, {%1, %2, %3, %4}"                    \
                         : "+r"(*from), "=t"(a), "=t"(b), "=t"(c), "=t"(d) \
                         : "m"(*(const float(*)[4])(*from)));              \
        struct tvm_f32x4 four = {a, b, c, d};                              \
        return four;                                                       \
    }

#else

#define TVM_ROUND(product) ((void)0)
#define TVM_AFTER(later, sooner) ((void)0)
#define TVM_SETTLE(x) ((void)0)

#define TVM_DEFINE_NEXT(name, r0, r1, r2, r3)             \
    TVM_INLINE struct tvm_f32x4 name(const float **from)  \
    {                                                     \
        const float *p = *from;                           \
        struct tvm_f32x4 four = {p[0], p[1], p[2], p[3]}; \
        *from = p + 4;                                    \
        return four;                                      \
    }

#endif

/* The next four floats; `*from` moves on. VLDM wants neighbouring registers, and two sets of them, because
 * inputs and weights live at the same time. */
TVM_DEFINE_NEXT(tvm_next_inputs, "s8", "s9", "s10", "s11")
TVM_DEFINE_NEXT(tvm_next_weights, "s12", "s13", "s14", "s15")

TVM_INLINE float tvm_multiply_f32(float x, float y)
{
    float product = x * y;
    TVM_ROUND(product);
    return product;
}

/* sum += x * w. All products come first: an addition right behind its product would wait a cycle. The last
 * one is held back, because its register is wanted soonest. */
TVM_INLINE void tvm_add_scaled_f32x4(struct tvm_f32x4 *sum, float x, struct tvm_f32x4 w)
{
    float a = tvm_multiply_f32(x, w.a);
    float b = tvm_multiply_f32(x, w.b);
    float c = tvm_multiply_f32(x, w.c);
    float d = tvm_multiply_f32(x, w.d);
    sum->a += a;
    TVM_AFTER(d, sum->a);
    sum->b += b;
    sum->c += c;
    sum->d += d;
}

/* sum += x * w, element by element. */
TVM_INLINE void tvm_add_products_f32x4(struct tvm_f32x4 *sum, struct tvm_f32x4 x, struct tvm_f32x4 w)
{
    float a = tvm_multiply_f32(x.a, w.a);
    float b = tvm_multiply_f32(x.b, w.b);
    float c = tvm_multiply_f32(x.c, w.c);
    float d = tvm_multiply_f32(x.d, w.d);
    sum->a += a;
    sum->b += b;
    sum->c += c;
    sum->d += d;
}

TVM_INLINE float tvm_at_least_f32(float x, float low)
{
    return x < low ? low : x;
}

TVM_INLINE float tvm_at_most_f32(float x, float high)
{
    return x > high ? high : x;
}

TVM_INLINE void tvm_at_least_f32x4(struct tvm_f32x4 *x, float low)
{
    x->a = tvm_at_least_f32(x->a, low);
    x->b = tvm_at_least_f32(x->b, low);
    x->c = tvm_at_least_f32(x->c, low);
    x->d = tvm_at_least_f32(x->d, low);
}

TVM_INLINE void tvm_at_most_f32x4(struct tvm_f32x4 *x, float high)
{
    x->a = tvm_at_most_f32(x->a, high);
    x->b = tvm_at_most_f32(x->b, high);
    x->c = tvm_at_most_f32(x->c, high);
    x->d = tvm_at_most_f32(x->d, high);
}

/* Limits that do not limit cost one test for all four. */
TVM_INLINE void tvm_clamp_f32x4x4(struct tvm_f32x4 *x0, struct tvm_f32x4 *x1, struct tvm_f32x4 *x2,
                                  struct tvm_f32x4 *x3, float low, float high)
{
    if (low > -TVM_INFINITY) {
        tvm_at_least_f32x4(x0, low);
        tvm_at_least_f32x4(x1, low);
        tvm_at_least_f32x4(x2, low);
        tvm_at_least_f32x4(x3, low);
    }
    if (high < TVM_INFINITY) {
        tvm_at_most_f32x4(x0, high);
        tvm_at_most_f32x4(x1, high);
        tvm_at_most_f32x4(x2, high);
        tvm_at_most_f32x4(x3, high);
    }
}

TVM_INLINE void tvm_store_f32x4(float *to, struct tvm_f32x4 x)
{
    to[0] = x.a;
    to[1] = x.b;
    to[2] = x.c;
    to[3] = x.d;
}

#endif
