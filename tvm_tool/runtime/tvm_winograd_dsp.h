/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_winograd_dsp.h - convolutions by Winograd's F(2, 3) on cores with the DSP extension. Not for use by a
 * firmware.
 *
 * Inputs d0 to d3 of two neighbouring outputs become the four planes d1 + d2, d2 - d1, d0 - d2 and d1 - d3 of
 * 16-bit numbers, channels in the order of tvm_gemm_dsp.h. With the sums M1, M2, M0, M3 of their products, twice
 * the outputs are M1 + M2 + M0 and M1 - M2 + M3.
 */
#ifndef TVM_WINOGRAD_DSP_H
#define TVM_WINOGRAD_DSP_H

#include "tvm_gemm_dsp.h"

/* All rows of a plane: words x of two pairs of outputs in turns, with words w of four channels; 16 products in a
 * step of 13 instructions and 16 cycles, instead of 24. At the end of the plane x goes on at its begin, until w
 * is at its end. */
#if TVM_GEMM_ASM
/* clang-format off */
#define TVM_WINOGRAD_STEP_DSP(index)    \
    ".if %c[unroll] > " #index "\n\t"   \
    "ldr r9, [r12, #4]\n\t"             \
    "ldr r8, [r12], #8\n\t"             \
    "ldr r11, [lr, #4]\n\t"             \
    "ldr r10, [lr], #8\n\t"             \
    "smlad r4, r9, r10, r4\n\t"         \
    "smlad r0, r8, r10, r0\n\t"         \
    "smlad r5, r9, r11, r5\n\t"         \
    "smlad r1, r8, r11, r1\n\t"         \
    "ldmia lr!, {r10, r11}\n\t"         \
    "smlad r2, r8, r10, r2\n\t"         \
    "smlad r6, r9, r10, r6\n\t"         \
    "smlad r3, r8, r11, r3\n\t"         \
    "smlad r7, r9, r11, r7\n\t"         \
    ".endif\n\t"
#define TVM_WINOGRAD_PASSES_DSP()                                                              \
    do {                                                                                       \
        register int32_t sum00_ __asm__("r0") = sum00;                                         \
        register int32_t sum10_ __asm__("r1") = sum10;                                         \
        register int32_t sum20_ __asm__("r2") = sum20;                                         \
        register int32_t sum30_ __asm__("r3") = sum30;                                         \
        register int32_t sum01_ __asm__("r4") = sum01;                                         \
        register int32_t sum11_ __asm__("r5") = sum11;                                         \
        register int32_t sum21_ __asm__("r6") = sum21;                                         \
        register int32_t sum31_ __asm__("r7") = sum31;                                         \
        register const int32_t *x_ __asm__("r12") = x;                                         \
        register const int32_t *w_ __asm__("lr") = w;                                          \
        __asm__(                                                                               \
            "1:\n\t"                                                                           \
            TVM_WINOGRAD_STEP_DSP(15) TVM_WINOGRAD_STEP_DSP(14) TVM_WINOGRAD_STEP_DSP(13)      \
            TVM_WINOGRAD_STEP_DSP(12) TVM_WINOGRAD_STEP_DSP(11) TVM_WINOGRAD_STEP_DSP(10)      \
            TVM_WINOGRAD_STEP_DSP(9) TVM_WINOGRAD_STEP_DSP(8) TVM_WINOGRAD_STEP_DSP(7)         \
            TVM_WINOGRAD_STEP_DSP(6) TVM_WINOGRAD_STEP_DSP(5) TVM_WINOGRAD_STEP_DSP(4)         \
            TVM_WINOGRAD_STEP_DSP(3) TVM_WINOGRAD_STEP_DSP(2) TVM_WINOGRAD_STEP_DSP(1)         \
            TVM_WINOGRAD_STEP_DSP(0)                                                           \
            "ldr r10, %[wrap]\n\t"                                                             \
            "ldr r11, %[end]\n\t"                                                              \
            "cmp r12, r10\n\t"                                                                 \
            "it eq\n\t"                                                                        \
            "ldreq r12, %[plane]\n\t"                                                          \
            "cmp lr, r11\n\t"                                                                  \
            "bne 1b"                                                                           \
            : "+r"(sum00_), "+r"(sum10_), "+r"(sum20_), "+r"(sum30_), "+r"(sum01_),            \
              "+r"(sum11_), "+r"(sum21_), "+r"(sum31_), "+r"(x_), "+r"(w_)                     \
            : [wrap] "m"(wrap), [end] "m"(end), [plane] "m"(plane), [unroll] "i"(unroll)       \
            : "r8", "r9", "r10", "r11", "cc", "memory");                                       \
        sum00 = sum00_;                                                                        \
        sum10 = sum10_;                                                                        \
        sum20 = sum20_;                                                                        \
        sum30 = sum30_;                                                                        \
        sum01 = sum01_;                                                                        \
        sum11 = sum11_;                                                                        \
        sum21 = sum21_;                                                                        \
        sum31 = sum31_;                                                                        \
        w = w_;                                                                                \
    } while (0)
/* clang-format on */
#else
#define TVM_WINOGRAD_PASSES_DSP()                       \
    do {                                                \
        TVM_UNROLL                                      \
        for (int32_t i = 0; i < unroll; i++) {          \
            const int32_t x0 = x[2 * i];                \
            const int32_t x1 = x[2 * i + 1];            \
            sum00 = TVM_SMLAD(x0, w[4 * i], sum00);     \
            sum01 = TVM_SMLAD(x1, w[4 * i], sum01);     \
            sum10 = TVM_SMLAD(x0, w[4 * i + 1], sum10); \
            sum11 = TVM_SMLAD(x1, w[4 * i + 1], sum11); \
            sum20 = TVM_SMLAD(x0, w[4 * i + 2], sum20); \
            sum21 = TVM_SMLAD(x1, w[4 * i + 2], sum21); \
            sum30 = TVM_SMLAD(x0, w[4 * i + 3], sum30); \
            sum31 = TVM_SMLAD(x1, w[4 * i + 3], sum31); \
        }                                               \
        x += 2 * unroll;                                \
        w += 4 * unroll;                                \
        x = x == wrap ? plane : x;                      \
    } while (w != end)
#endif

/* M1 - M2 of M1 and M1 + M2. */
TVM_INLINE int32_t tvm_winograd_other_dsp(int32_t first, int32_t both)
{
    return tvm_wrap_sub(tvm_wrap_add(first, first), both);
}

/* The body of a tvm_gemm_pair_dsp for four positions that begin at `output0`; the second one is at `output1`.
 * Their planes are at segments[0], [4][gemm->segments][gemm->length / 2] words; the first row is `start` behind the
 * begin of each, the other ones follow in a ring. Weights are, by four channels, 4 * gemm->segments * gemm->length
 * words; parameters twice the biases, then those of tvm_gemm_2x4_dsp. Known are how many pairs of words a pass of
 * the loop takes (at most 16, a divisor of gemm->length / 4), whether the channels are a multiple of four, and the
 * form of the outputs, not TVM_ANY. */
TVM_INLINE void tvm_winograd_2x4_dsp(const struct tvm_gemm_dsp *gemm, const int32_t *const *segments,
                                     int32_t start, int8_t *output0, int8_t *output1, const int32_t unroll,
                                     const bool whole, const int32_t form, const bool limited)
{
    const int32_t halve = form == TVM_DOUBLE ? 0 : 1;
    const int32_t length = gemm->segments * gemm->length;
    const int32_t *w = gemm->weights;
    const int32_t *next = gemm->parameters;
    const int8_t *const last = output0 + gemm->channels;
    const ptrdiff_t apart = output1 - output0;
    int8_t *to = output0;
    int8_t spare[8];

    do {
        /* Away while all registers are taken. */
        const int32_t *const volatile parameters = next;
        const int32_t *volatile plane = segments[0];
        int32_t kept00 = 0, kept10 = 0, kept20 = 0, kept30 = 0, kept01 = 0, kept11 = 0, kept21 = 0,
                kept31 = 0;
        int32_t sum00 = next[0];
        int32_t sum10 = next[1];
        int32_t sum20 = next[2];
        int32_t sum30 = next[3];
        int32_t sum01 = sum00;
        int32_t sum11 = sum10;
        int32_t sum21 = sum20;
        int32_t sum31 = sum30;
        const int32_t valid = whole || last - to >= 4 ? 4 : (int32_t)(last - to);

        for (volatile int32_t number = 0; number < 4; number++) {
            const int32_t *x = plane + start;
            const int32_t *const wrap = plane + length / 2;
            const int32_t *const end = w + length;

            TVM_WINOGRAD_PASSES_DSP();
            plane += length / 2;
            if (number == 0) {
                kept00 = sum00;
                kept10 = sum10;
                kept20 = sum20;
                kept30 = sum30;
                kept01 = sum01;
                kept11 = sum11;
                kept21 = sum21;
                kept31 = sum31;
            } else if (number == 1) {
                kept00 = tvm_winograd_other_dsp(kept00, sum00);
                kept10 = tvm_winograd_other_dsp(kept10, sum10);
                kept20 = tvm_winograd_other_dsp(kept20, sum20);
                kept30 = tvm_winograd_other_dsp(kept30, sum30);
                kept01 = tvm_winograd_other_dsp(kept01, sum01);
                kept11 = tvm_winograd_other_dsp(kept11, sum11);
                kept21 = tvm_winograd_other_dsp(kept21, sum21);
                kept31 = tvm_winograd_other_dsp(kept31, sum31);
            } else {
                int8_t *const to0 = number == 2 ? to : to + apart;
                int8_t *const to1 = to0 + 2 * apart;
                int8_t *const four0 = valid < 4 ? spare : to0;
                int8_t *const four1 = valid < 4 ? spare + 4 : to1;
                const int32_t *p = parameters + 4;

                p = tvm_finish_2_dsp(gemm, p, tvm_shift_right(sum00, halve), tvm_shift_right(sum01, halve),
                                     form, limited, four0, four1);
                p = tvm_finish_2_dsp(gemm, p, tvm_shift_right(sum10, halve), tvm_shift_right(sum11, halve),
                                     form, limited, four0 + 1, four1 + 1);
                p = tvm_finish_2_dsp(gemm, p, tvm_shift_right(sum20, halve), tvm_shift_right(sum21, halve),
                                     form, limited, four0 + 2, four1 + 2);
                next = tvm_finish_2_dsp(gemm, p, tvm_shift_right(sum30, halve), tvm_shift_right(sum31, halve),
                                        form, limited, four0 + 3, four1 + 3);
                for (int32_t i = 0; valid < 4 && i < valid; i++) {
                    to0[i] = spare[i];
                    to1[i] = spare[i + 4];
                    TVM_KEEP_LOOP();
                }
                sum00 = kept00;
                sum10 = kept10;
                sum20 = kept20;
                sum30 = kept30;
                sum01 = kept01;
                sum11 = kept11;
                sum21 = kept21;
                sum31 = kept31;
            }
        }
        to += valid;
    } while (to != last);
}

#endif
