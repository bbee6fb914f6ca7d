/* SPDX-License-Identifier: Apache-2.0 */
/* Start of a bare-metal firmware: what cortex_m.c or riscv.c does at reset, and what a firmware may replace.
 *
 * Reset enables the FPU, copies initialised data, clears the rest, runs constructors and calls main.
 *
 * Cortex-M: handlers have their usual names (SysTick_Handler, HardFault_Handler, ...) and are weak: a function of
 * that name replaces one. Handlers of the device's own interrupts are one more table, first entry
 * interrupt 0:
 *
 *     __attribute__((section(".vectors.device"), used))
 *     static void (*const interrupts[])(void) = { watchdog_handler, ... };
 *
 * RISC-V: all exceptions and interrupts end in trap_handler, which is weak too. One that returns is a
 * function with __attribute__((interrupt)).
 */
#ifndef TVM_STARTUP_H
#define TVM_STARTUP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where exceptions end that nobody handles: an endless loop for a debugger to find, by this name. It does
 * not use the stack, which may be what is broken. Do not replace it, but the handlers that end here. */
#ifdef __riscv
__attribute__((aligned(4)))
#endif
void tvm_fault(void);

#ifdef __riscv
/* The register that holds its address keeps the lowest two bits for itself. */
__attribute__((aligned(4))) void trap_handler(void);
#endif

/* Where main ends; `status` is what it returned. Weak: loops, or ends the emulator with tvm_semihosting.c. */
void tvm_exit(int status);

/* What the startup file fills the stack with if it is compiled with TVM_PAINT_STACK. */
#define TVM_STACK_PAINT 0xA5A5A5A5u

/* Bytes of the stack that have been in use at some time since reset (tvm_stack_usage.c). Without
 * TVM_PAINT_STACK it returns the whole stack. */
size_t tvm_stack_used(void);

#ifdef __cplusplus
}
#endif

#endif
