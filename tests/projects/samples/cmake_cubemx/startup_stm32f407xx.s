/* SPDX-License-Identifier: Apache-2.0 */
    .syntax unified
    .cpu cortex-m4
    .fpu softvfp
    .thumb

    .section .text.Reset_Handler
    .weak Reset_Handler
    .type Reset_Handler, %function
Reset_Handler:
    ldr sp, =_estack
    bl SystemInit
    ldr r0, =_sdata
    ldr r1, =_edata
    ldr r2, =_sidata
copy:
    cmp r0, r1
    bhs clear
    ldr r3, [r2], #4
    str r3, [r0], #4
    b copy
clear:
    ldr r0, =_sbss
    ldr r1, =_ebss
    movs r3, #0
fill:
    cmp r0, r1
    bhs ready
    str r3, [r0], #4
    b fill
ready:
    bl main
stop:
    b stop
    .size Reset_Handler, . - Reset_Handler

    .section .text.Default_Handler, "ax", %progbits
    .type Default_Handler, %function
Default_Handler:
    b Default_Handler
    .size Default_Handler, . - Default_Handler

    .section .isr_vector, "a", %progbits
    .type g_pfnVectors, %object
g_pfnVectors:
    .word _estack
    .word Reset_Handler
    .rept 14
    .word Default_Handler
    .endr
    .size g_pfnVectors, . - g_pfnVectors
