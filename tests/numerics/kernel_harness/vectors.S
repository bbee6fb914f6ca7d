/* SPDX-License-Identifier: Apache-2.0 */
    .section .vectors, "a"
    .word stack_top, reset, fault, fault, fault, fault, fault

    .section .rodata
    .balign 16
    .global cases_data
cases_data:
    .incbin "in.bin"
