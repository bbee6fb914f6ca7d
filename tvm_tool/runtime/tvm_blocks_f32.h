/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_blocks_f32.h - what the float32 kernels are built of. Not for use by a firmware.
 */
#ifndef TVM_BLOCKS_F32_H
#define TVM_BLOCKS_F32_H

#include "tvm_f32x4.h"

#ifdef __GNUC__
#define TVM_KEEP_LOOP() __asm__ volatile("")
#else
#define TVM_KEEP_LOOP() ((void)0)
#endif

/* Loops that stay loops: a firmware without a C library need not have the memset and memcpy that compilers
 * would put here. Both return the end of what they wrote. */
TVM_INLINE float *tvm_zero_f32(float *to, int32_t count)
{
    for (; count > 0; count--) {
        *to++ = 0.0f;
        TVM_KEEP_LOOP();
    }
    return to;
}

TVM_INLINE float *tvm_copy_f32(float *to, const float *from, int32_t count)
{
    for (; count > 0; count--) {
        *to++ = *from++;
        TVM_KEEP_LOOP();
    }
    return to;
}

/* Taps of a window along one axis that lie inside the input: from `first` up to, not including, `end`. */
struct tvm_span {
    int32_t first, end;
};

TVM_INLINE struct tvm_span tvm_span_inside(int32_t start, int32_t kernel, int32_t dilation, int32_t extent)
{
    struct tvm_span span = {0, kernel};
    if (start < 0) {
        span.first = (dilation - 1 - start) / dilation;
    }
    if (start + (kernel - 1) * dilation >= extent) {
        span.end = (extent + dilation - 1 - start) / dilation;
    }
    return span;
}

/* sum + x[0] * w[0] + ... + x[count - 1] * w[count - 1] */
float tvm_dot_f32(float sum, const float *x, const float *w, int32_t count);

/* What is the same for all rows of a matrix product. A row of inputs comes in `pieces` of `length` floats. */
struct tvm_gemm_f32 {
    int32_t pieces, length;
    int32_t channels; /* of the output; packed weights */
    int32_t stride;   /* from one row of the output to the next */
    float low, high;
};

/* One row: piece i is at rows[4 * i] + offset. */
void tvm_gemv_f32(const struct tvm_gemm_f32 *gemm, const float *const *rows, int32_t offset,
                  const float *weights, const float *bias, float *output);

/* `count` rows, 1 to 4: piece i of row r is at rows[4 * i + r] + offset. */
void tvm_gemm_f32(const struct tvm_gemm_f32 *gemm, const float *const *rows, int32_t offset,
                  const float *weights, const float *bias, float *output, int32_t count);

/* Where the inputs of four output positions of an image are, from `position` on: taps[4 * k + r] points to
 * the channels under tap k for the r-th of them, or to `zeros` where that is padding. Beyond the last
 * position of the image the last one is repeated. */
void tvm_taps_f32(const struct tvm_window *window, const float *image, const float *zeros, int32_t position,
                  const float **taps);

#endif
