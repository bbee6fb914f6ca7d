/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_asm_armv6m.h - the inner loops of tvm_gemm_armv6m.h in assembly: compilers keep little in high registers.
 * Not for use by a firmware.
 */
#ifndef TVM_ASM_ARMV6M_H
#define TVM_ASM_ARMV6M_H

#include "tvm_blocks_s8.h"

#if defined(__GNUC__) && !defined(__clang__) && defined(__thumb__) && !defined(__thumb2__) && \
    defined(__OPTIMIZE__) && !defined(__PIC__) && !defined(TVM_NO_ASM)
#define TVM_ASM_ARMV6M 1
#define TVM_BLOCK_ARMV6M static __attribute__((noinline, optimize("omit-frame-pointer")))
#else
#define TVM_ASM_ARMV6M 0
#define TVM_BLOCK_ARMV6M static TVM_NOINLINE
#endif

#if TVM_ASM_ARMV6M

/* r0: inputs; r1: how far behind them their weights are; r5, r6: both sums of a run. */
#define TVM_FIRST_ARMV6M      \
    "ldmia r0!, {r5, r6}\n\t" \
    "ldrsb r4, [r0, r1]\n\t"  \
    "muls r5, r4, r5\n\t"     \
    "muls r6, r4, r6\n\t"
#define TVM_NEXT_ARMV6M       \
    "ldmia r0!, {r2, r3}\n\t" \
    "ldrsb r4, [r0, r1]\n\t"  \
    "muls r2, r4, r2\n\t"     \
    "muls r3, r4, r3\n\t"     \
    "adds r5, r5, r2\n\t"     \
    "adds r6, r6, r3\n\t"
/* To r8 and r7, r9 and r10. The upper half is one too low where the lower one is negative: ASRS shifts out its
 * sign last, ADCS adds it. */
#define TVM_APART_ARMV6M   \
    "sxth r2, r5\n\t"      \
    "add r8, r8, r2\n\t"   \
    "asrs r5, r5, #16\n\t" \
    "adcs r7, r7, r5\n\t"  \
    "sxth r3, r6\n\t"      \
    "add r9, r9, r3\n\t"   \
    "subs r6, r6, r3\n\t"  \
    "asrs r6, r6, #16\n\t" \
    "add r10, r10, r6\n\t"
#define TVM_RUN_2_ARMV6M TVM_FIRST_ARMV6M TVM_NEXT_ARMV6M TVM_APART_ARMV6M
#define TVM_RUN_3_ARMV6M TVM_FIRST_ARMV6M TVM_NEXT_ARMV6M TVM_NEXT_ARMV6M TVM_APART_ARMV6M
#define TVM_RUN_4_ARMV6M TVM_FIRST_ARMV6M TVM_NEXT_ARMV6M TVM_NEXT_ARMV6M TVM_NEXT_ARMV6M TVM_APART_ARMV6M
#define TVM_MORE_4_ARMV6M TVM_NEXT_ARMV6M TVM_NEXT_ARMV6M TVM_NEXT_ARMV6M TVM_NEXT_ARMV6M
#define TVM_RUN_8_ARMV6M \
    TVM_FIRST_ARMV6M TVM_NEXT_ARMV6M TVM_NEXT_ARMV6M TVM_NEXT_ARMV6M TVM_MORE_4_ARMV6M TVM_APART_ARMV6M
#define TVM_PASS_ARMV6M(label, runs) \
    label ":\n\t" runs               \
          "cmp r0, lr\n\t"           \
          "bne " label "b\n\t"
#define TVM_SHORT_ARMV6M \
    TVM_PASS_ARMV6M("2", TVM_RUN_2_ARMV6M TVM_RUN_2_ARMV6M TVM_RUN_2_ARMV6M TVM_RUN_2_ARMV6M)
/* The run is in the two highest bits of r3, as flags N and Z say. */
#define TVM_LONG_ARMV6M \
    "bpl 6f\n\t" \
    "b 4f\n\t" \
    "6:\n\t" \
    "bne 3f\n\t" TVM_SHORT_ARMV6M \
    "b 9f\n\t" TVM_PASS_ARMV6M("3", TVM_RUN_3_ARMV6M TVM_RUN_3_ARMV6M TVM_RUN_2_ARMV6M) \
    "b 9f\n\t" \
    "4:\n\t" \
    "lsls r3, r3, #1\n\t" \
    "bmi 8f\n\t" TVM_PASS_ARMV6M("5", TVM_RUN_4_ARMV6M TVM_RUN_4_ARMV6M) \
    "b 9f\n\t" TVM_PASS_ARMV6M("8", TVM_RUN_8_ARMV6M) \
    "9:\n\t"

/* One of the sums, in a low register: limited, multiplied, shifted. r1 is free. */
#define TVM_SCALE_ARMV6M(sum, side) \
    ".irp sum, " sum                \
    "\n\t"                          \
    "cmp \\sum, r4\n\t"             \
    "bls 1f\n\t"                    \
    "asrs \\sum, \\sum, #31\n\t"    \
    "mvns \\sum, \\sum\n\t"         \
    "ands \\sum, r4\n\t"            \
    "1:\n\t"                        \
    "movs r1, \\sum\n\t"            \
    "muls r1, r3, r1\n\t"           \
    "lsrs r1, r1, #12\n\t" side     \
    "muls \\sum, r5, \\sum\n\t"     \
    "adds \\sum, \\sum, r1\n\t"     \
    "adds \\sum, \\sum, r6\n\t"     \
    "lsrs \\sum, \\sum, #24\n\t"    \
    ".endr\n\t"
#define TVM_SIDE_ARMV6M   \
    "cmp \\sum, lr\n\t"   \
    "bhs 1f\n\t"          \
    "add r1, r1, r11\n\t" \
    "1:\n\t"
/* r0: parameters of the channel behind its addend. */
#define TVM_SIDES_ARMV6M      \
    "ldmia r0!, {r1, r2}\n\t" \
    "mov r11, r1\n\t"         \
    "mov lr, r2\n\t"
#define TVM_FINISH_ARMV6M(sides, side) \
    "mov r0, r11\n\t" \
    "ldmia r0!, {r4, r5, r6}\n\t" sides \
    "lsls r3, r4, #20\n\t" \
    "lsrs r3, r3, #20\n\t" \
    "lsrs r4, r4, #12\n\t" \
    "lsrs r5, r5, #2\n\t" \
    "mov r2, r12\n\t" \
    "str r0, [r2, #16]\n\t" \
    TVM_SCALE_ARMV6M("r7", side) \
    "mov r0, r8\n\t" TVM_SCALE_ARMV6M("r0", side) \
    "mov r8, r0\n\t" \
    "mov r2, r9\n\t" TVM_SCALE_ARMV6M("r2", side) \
    "mov r0, r10\n\t" TVM_SCALE_ARMV6M("r0", side) \
    "mov r1, r12\n\t" \
    "ldmia r1!, {r3, r4, r5, r6}\n\t" \
    "strb r7, [r3, r4]\n\t" \
    "strb r2, [r3, r5]\n\t" \
    "strb r0, [r3, r6]\n\t" \
    "mov r0, r8\n\t" \
    "strb r0, [r3]\n\t"
/* Sums instead of outputs. */
#define TVM_KEEP_ARMV6M           \
    "mov r0, r12\n\t"             \
    "ldr r3, [r0]\n\t"            \
    "movs r2, r3\n\t"             \
    "mov r4, r8\n\t"              \
    "mov r5, r7\n\t"              \
    "mov r6, r9\n\t"              \
    "stmia r2!, {r4, r5, r6}\n\t" \
    "mov r4, r10\n\t"             \
    "str r4, [r2]\n\t"

/* The channels of a struct tvm_pass_armv6m, which the loop keeps up to date. */
#define TVM_CHANNELS_ARMV6M(pass, sums, finish)                                                      \
    do {                                                                                             \
        register struct tvm_pass_armv6m *state __asm__("r6") = (pass);                               \
        __asm__ volatile(                                                                            \
            ".syntax unified\n\t"                                                                    \
            "mov r12, r6\n\t"                                                                        \
            "0:\n\t"                                                                                 \
            "mov r6, r12\n\t"                                                                        \
            "ldr r1, [r6]\n\t"                                                                       \
            "adds r6, #16\n\t"                                                                       \
            "ldmia r6!, {r0, r2, r3, r4}\n\t"                                                        \
            "adds r1, r1, r4\n\t"                                                                    \
            "mov lr, r3\n\t"                                                                         \
            "ldmia r0!, {r7}\n\t"                                                                    \
            "mov r11, r0\n\t"                                                                        \
            "ldr r3, [r0, #4]\n\t"                                                                   \
            "movs r0, r2\n\t"                                                                        \
            "mov r8, r7\n\t"                                                                         \
            "mov r9, r7\n\t"                                                                         \
            "mov r10, r7\n\t"                                                                        \
            "lsls r3, r3, #30\n\t" sums finish                                                       \
            "adds r3, #1\n\t"                                                                        \
            "mov r0, r12\n\t"                                                                        \
            "str r3, [r0]\n\t"                                                                       \
            "ldr r4, [r0, #32]\n\t"                                                                  \
            "cmp r3, r4\n\t"                                                                         \
            "beq 1f\n\t"                                                                             \
            "b 0b\n\t"                                                                               \
            "1:"                                                                                     \
            : "+r"(state)                                                                            \
            :                                                                                        \
            : "r0", "r1", "r2", "r3", "r4", "r5", "r7", "r8", "r9", "r10", "r11", "r12", "lr", "cc", \
              "memory");                                                                             \
    } while (0)

#endif

#endif
