/* SPDX-License-Identifier: Apache-2.0 */
    .syntax unified
    .cpu cortex-m0
    .thumb

    .section .vectors, "ax"
    .word __StackTop
    .word _reset_handler
    .rept 14
    .word hang
    .endr

    .section .text._reset_handler, "ax"
    .global _reset_handler
    .thumb_func
_reset_handler:
    ldr r0, =__data_start__
    ldr r1, =__data_end__
    ldr r2, =__etext
1:  cmp r0, r1
    bhs 2f
    ldmia r2!, {r3}
    stmia r0!, {r3}
    b 1b
2:  ldr r0, =__bss_start__
    ldr r1, =__bss_end__
    movs r3, #0
3:  cmp r0, r1
    bhs 4f
    stmia r0!, {r3}
    b 3b
4:  bl main
    bl sdk_exit
    .thumb_func
hang:
    b hang
