/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_depthwise_dsp.h - convolutions of each channel by itself on cores with the DSP extension. Not for use
 * by a firmware.
 *
 * Rows are taken in pairs: a word holds the inputs of two rows, one above the other, at one column. Four
 * channels of a band of rows are packed so, padding included, [pairs][columns][4]; then the weights of one
 * channel stay in registers while it is computed.
 */
#ifndef TVM_DEPTHWISE_DSP_H
#define TVM_DEPTHWISE_DSP_H

#include "tvm_expand_dsp.h"

struct tvm_depthwise_dsp;

/* Computes `rows` rows of one channel: from `pairs` to every channels-th element of `output`. `parameters` are
 * those of the channel. */
typedef void (*tvm_depthwise_plane_dsp)(const struct tvm_depthwise_dsp *depthwise, const int32_t *pairs,
                                        const int32_t *parameters, int32_t rows, int8_t *output);

struct tvm_depthwise_dsp {
    tvm_depthwise_plane_dsp plane;
    const int32_t *parameters;
    int32_t words;     /* of parameters of a channel */
    int32_t columns;   /* of a padded row */
    int32_t width;     /* of the output */
    int32_t channels;  /* of input and output */
    int32_t band;      /* rows of the output that are packed together */
    int32_t taps;      /* pairs of rows under a window */
    int32_t low, high; /* least and largest output */
};

TVM_INLINE void tvm_depthwise_output(const struct tvm_depthwise_dsp *depthwise,
                                     const struct tvm_form_dsp *how, int32_t sum, const int32_t form,
                                     const bool limited, int8_t *output)
{
    const int32_t factor = form == TVM_DOUBLE ? 2 : 1;

    *output = (int8_t)tvm_output_dsp(how, sum * factor, form, limited, depthwise->low, depthwise->high);
}

/* One column of a 3x3 window whose rows are the pairs p and q: sums of the upper and the lower output. w
 * holds (w0, w1), v (w1, w2). */
#define TVM_COLUMN_UPPER(sum, p, q, w, v) TVM_SMLABT(q, v, TVM_SMLAD(p, w, sum))
#define TVM_COLUMN_LOWER(sum, p, q, w, v) TVM_SMLAD(q, v, TVM_SMLATB(p, w, sum))

/* Two columns of two rows at a time, as far as there are two: 36 products in 52 instructions and 61 cycles. In
 * one piece, because GCC keeps only some of the weights in registers otherwise and spreads loads, which take
 * fewer cycles side by side. For known shapes whose distances fit the instructions, and a common shift. */
#if TVM_GEMM_ASM
#define TVM_KNOWN_3X3(columns, channels, form) \
    (__builtin_constant_p(columns) && (columns) <= 250 && (channels) <= 2047 && (form) > 0)
/* clang-format off */
#define TVM_COLUMN_PRODUCTS(upper, lower, from_upper, from_lower, w, v) \
    "smlatb " lower ", r11, " w ", " from_lower "\n\t"                  \
    "smlad " upper ", r11, " w ", " from_upper "\n\t"                   \
    "smlabt " upper ", r12, " v ", " upper "\n\t"                       \
    "smlad " lower ", r12, " v ", " lower "\n\t"
#define TVM_WINDOWS_3X3()                                                                      \
    do {                                                                                       \
        register int32_t w0_ __asm__("r4") = w0;                                               \
        register int32_t w1_ __asm__("r5") = w1;                                               \
        register int32_t w2_ __asm__("r6") = w2;                                               \
        register int32_t v0_ __asm__("r7") = v0;                                               \
        register int32_t v1_ __asm__("r8") = v1;                                               \
        register int32_t v2_ __asm__("r9") = v2;                                               \
        register const int32_t *pairs_ __asm__("r10") = pairs;                                 \
        register int8_t *to_ __asm__("lr") = to;                                               \
        const int32_t *const end = pairs + (width & ~1) * 4;                                   \
        __asm__(                                                                               \
            "1:\n\t"                                                                           \
            "ldr r11, [r10, #48]\n\t"                                                          \
            "ldr r12, [r10, %[line] + 48]\n\t"                                                 \
            "ldr r2, %[bias]\n\t"                                                              \
            TVM_COLUMN_PRODUCTS("r2", "r3", "r2", "r2", "r6", "r9")                            \
            "ldr r11, [r10, #32]\n\t"                                                          \
            "ldr r12, [r10, %[line] + 32]\n\t"                                                 \
            "ldr r0, %[bias]\n\t"                                                              \
            TVM_COLUMN_PRODUCTS("r2", "r3", "r2", "r3", "r5", "r8")                            \
            TVM_COLUMN_PRODUCTS("r0", "r1", "r0", "r0", "r6", "r9")                            \
            "ldr r11, [r10, #16]\n\t"                                                          \
            "ldr r12, [r10, %[line] + 16]\n\t"                                                 \
            TVM_COLUMN_PRODUCTS("r2", "r3", "r2", "r3", "r4", "r7")                            \
            TVM_COLUMN_PRODUCTS("r0", "r1", "r0", "r1", "r5", "r8")                            \
            "ldr r12, [r10, %[line]]\n\t"                                                      \
            "ldr r11, [r10], #32\n\t"                                                          \
            TVM_COLUMN_PRODUCTS("r0", "r1", "r0", "r1", "r4", "r7")                            \
            "ldr r11, %[multiplier]\n\t"                                                       \
            "ldr r12, %[addend]\n\t"                                                           \
            "smmlar r0, r0, r11, r12\n\t"                                                      \
            "smmlar r1, r1, r11, r12\n\t"                                                      \
            "smmlar r2, r2, r11, r12\n\t"                                                      \
            "smmlar r3, r3, r11, r12\n\t"                                                      \
            "ldr r11, %[below]\n\t"                                                            \
            "ldr r12, %[end]\n\t"                                                              \
            "ssat r0, #8, r0, asr %[form]\n\t"                                                 \
            "ssat r1, #8, r1, asr %[form]\n\t"                                                 \
            "ssat r2, #8, r2, asr %[form]\n\t"                                                 \
            "ssat r3, #8, r3, asr %[form]\n\t"                                                 \
            "add r11, lr\n\t"                                                                  \
            "strb r1, [r11]\n\t"                                                               \
            "strb r3, [r11, %[channels]]\n\t"                                                  \
            "strb r0, [lr]\n\t"                                                                \
            "strb r2, [lr, %[channels]]\n\t"                                                   \
            "addw lr, lr, #2 * %c[channels]\n\t"                                               \
            "cmp r10, r12\n\t"                                                                 \
            "bne 1b"                                                                           \
            : "+r"(pairs_), "+r"(to_)                                                          \
            : "r"(w0_), "r"(w1_), "r"(w2_), "r"(v0_), "r"(v1_), "r"(v2_), [bias] "m"(bias),    \
              [multiplier] "m"(how.multiplier), [addend] "m"(how.addend), [below] "m"(below),  \
              [end] "m"(end), [line] "i"(4 * line), [channels] "i"(channels), [form] "i"(form) \
            : "r0", "r1", "r2", "r3", "r11", "r12", "cc", "memory");                           \
        pairs = pairs_;                                                                        \
        to = to_;                                                                              \
    } while (0)
/* clang-format on */
#else
#define TVM_KNOWN_3X3(columns, channels, form) false
#define TVM_WINDOWS_3X3() (void)0
#endif

/* 3x3, stride 1: two rows and two columns at a time. Parameters: for each column of the window the bytes w0,
 * w1, w1, w2; the bias; then as those of tvm_gemm_dsp. */
TVM_INLINE void tvm_depthwise_3x3_dsp(const struct tvm_depthwise_dsp *depthwise, const int32_t *pairs,
                                      const int32_t *parameters, int32_t rows, int8_t *output,
                                      const int32_t columns, const int32_t width, const int32_t channels,
                                      const int32_t form, const bool limited)
{
    const int32_t line = 4 * columns;
    const int32_t w0 = TVM_SXTB16(parameters[0]);
    const int32_t v0 = tvm_odd_bytes(parameters[0]);
    const int32_t w1 = TVM_SXTB16(parameters[1]);
    const int32_t v1 = tvm_odd_bytes(parameters[1]);
    const int32_t w2 = TVM_SXTB16(parameters[2]);
    const int32_t v2 = tvm_odd_bytes(parameters[2]);
    const int32_t bias = parameters[3];
    const int32_t *rest = parameters + 4;
    const struct tvm_form_dsp how = tvm_next_form_dsp(&rest, form);

    for (; rows > 0; rows -= 2) {
        /* A lower row too many is overwritten by the upper one. */
        const int32_t below = rows > 1 ? width * channels : 0;
        int8_t *to = output;
        int32_t x = width;
        if (TVM_KNOWN_3X3(columns, channels, form) && !limited && x > 1) {
            TVM_WINDOWS_3X3();
            x &= 1;
        }
        for (; x > 1; x -= 2) {
            int32_t p = pairs[0];
            int32_t q = pairs[line];
            int32_t upper0 = TVM_COLUMN_UPPER(bias, p, q, w0, v0);
            int32_t lower0 = TVM_COLUMN_LOWER(bias, p, q, w0, v0);
            int32_t upper1, lower1;
            p = pairs[4];
            q = pairs[line + 4];
            upper0 = TVM_COLUMN_UPPER(upper0, p, q, w1, v1);
            lower0 = TVM_COLUMN_LOWER(lower0, p, q, w1, v1);
            upper1 = TVM_COLUMN_UPPER(bias, p, q, w0, v0);
            lower1 = TVM_COLUMN_LOWER(bias, p, q, w0, v0);
            p = pairs[8];
            q = pairs[line + 8];
            upper0 = TVM_COLUMN_UPPER(upper0, p, q, w2, v2);
            lower0 = TVM_COLUMN_LOWER(lower0, p, q, w2, v2);
            upper1 = TVM_COLUMN_UPPER(upper1, p, q, w1, v1);
            lower1 = TVM_COLUMN_LOWER(lower1, p, q, w1, v1);
            p = pairs[12];
            q = pairs[line + 12];
            upper1 = TVM_COLUMN_UPPER(upper1, p, q, w2, v2);
            lower1 = TVM_COLUMN_LOWER(lower1, p, q, w2, v2);
            tvm_depthwise_output(depthwise, &how, lower0, form, limited, to + below);
            tvm_depthwise_output(depthwise, &how, lower1, form, limited, to + below + channels);
            tvm_depthwise_output(depthwise, &how, upper0, form, limited, to);
            tvm_depthwise_output(depthwise, &how, upper1, form, limited, to + channels);
            to += 2 * channels;
            pairs += 8;
        }
        if (x > 0) {
            int32_t p = pairs[0];
            int32_t q = pairs[line];
            int32_t upper = TVM_COLUMN_UPPER(bias, p, q, w0, v0);
            int32_t lower = TVM_COLUMN_LOWER(bias, p, q, w0, v0);
            p = pairs[4];
            q = pairs[line + 4];
            upper = TVM_COLUMN_UPPER(upper, p, q, w1, v1);
            lower = TVM_COLUMN_LOWER(lower, p, q, w1, v1);
            p = pairs[8];
            q = pairs[line + 8];
            upper = TVM_COLUMN_UPPER(upper, p, q, w2, v2);
            lower = TVM_COLUMN_LOWER(lower, p, q, w2, v2);
            tvm_depthwise_output(depthwise, &how, lower, form, limited, to + below);
            tvm_depthwise_output(depthwise, &how, upper, form, limited, to);
            pairs += 4;
        }
        pairs += 4 * (columns - width);
        output += 2 * width * channels;
    }
}

/* 3x3, stride 2: one output at a time. Parameters as above. */
TVM_INLINE void tvm_depthwise_3x3_stride_2_dsp(const struct tvm_depthwise_dsp *depthwise,
                                               const int32_t *pairs, const int32_t *parameters, int32_t rows,
                                               int8_t *output, const int32_t columns, const int32_t width,
                                               const int32_t channels, const int32_t form, const bool limited)
{
    const int32_t line = 4 * columns;
    const int32_t w0 = TVM_SXTB16(parameters[0]);
    const int32_t v0 = tvm_odd_bytes(parameters[0]);
    const int32_t w1 = TVM_SXTB16(parameters[1]);
    const int32_t v1 = tvm_odd_bytes(parameters[1]);
    const int32_t w2 = TVM_SXTB16(parameters[2]);
    const int32_t v2 = tvm_odd_bytes(parameters[2]);
    const int32_t bias = parameters[3];
    const int32_t *rest = parameters + 4;
    const struct tvm_form_dsp how = tvm_next_form_dsp(&rest, form);

    for (; rows > 0; rows--) {
        int32_t p = pairs[0];
        int32_t q = pairs[line];
        for (int32_t x = width; x > 0; x--) {
            int32_t sum = TVM_COLUMN_UPPER(bias, p, q, w0, v0);
            sum = TVM_COLUMN_UPPER(sum, pairs[4], pairs[line + 4], w1, v1);
            p = pairs[8];
            q = pairs[line + 8];
            sum = TVM_COLUMN_UPPER(sum, p, q, w2, v2);
            tvm_depthwise_output(depthwise, &how, sum, form, limited, output);
            output += channels;
            pairs += 8;
        }
        pairs += 4 * (columns - 2 * width);
    }
}

/* Any size. Parameters: [pairs under the window][kernel width] words of the bytes w[2i - 1], w[2i], w[2i],
 * w[2i + 1] of a column of weights, zeros outside: bytes 1 and 3 for a window that begins in the upper row of
 * a pair, bytes 0 and 2 for one that begins in the lower row; the bias; then as those of tvm_gemm_dsp. */
TVM_INLINE void tvm_depthwise_any_dsp(const struct tvm_depthwise_dsp *depthwise, const int32_t *pairs,
                                      const int32_t *parameters, int32_t rows, int8_t *output,
                                      const int32_t columns, const int32_t width, const int32_t channels,
                                      const int32_t stride_height, const int32_t stride_width,
                                      const int32_t dilation_width, const int32_t taps,
                                      const int32_t kernel_width, const int32_t form, const bool limited)
{
    const int32_t line = 4 * columns;
    const int32_t bias = parameters[taps * kernel_width];
    const int32_t next_row = width * channels;
    const int32_t *rest = parameters + taps * kernel_width + 1;
    const struct tvm_form_dsp how = tvm_next_form_dsp(&rest, form);

    /* With stride 1 two rows at a time; a lower row too many is overwritten by the upper one. */
    for (int32_t row = 0; row < rows; row += stride_height == 1 ? 2 : 1) {
        const int32_t top = row * stride_height;
        const int32_t *from = pairs + (top >> 1) * line;
        const bool begins_below = stride_height > 1 && (top & 1);
        const int32_t below = row + 1 < rows ? next_row : 0;
        int8_t *to = output;
        for (int32_t x = width; x > 0; x--) {
            int32_t upper = bias;
            int32_t lower = bias;
            TVM_UNROLL
            for (int32_t tap = 0; tap < taps; tap++) {
                TVM_UNROLL
                for (int32_t kx = 0; kx < kernel_width; kx++) {
                    const int32_t input = from[tap * line + 4 * dilation_width * kx];
                    const int32_t bytes = parameters[tap * kernel_width + kx];
                    upper = TVM_SMLAD(input, begins_below ? TVM_SXTB16(bytes) : tvm_odd_bytes(bytes), upper);
                    if (stride_height == 1) {
                        lower = TVM_SMLAD(input, TVM_SXTB16(bytes), lower);
                    }
                }
            }
            if (stride_height == 1) {
                tvm_depthwise_output(depthwise, &how, lower, form, limited, to + below);
            }
            tvm_depthwise_output(depthwise, &how, upper, form, limited, to);
            to += channels;
            from += 4 * stride_width;
        }
        output += stride_height == 1 ? 2 * next_row : next_row;
    }
}

#endif
