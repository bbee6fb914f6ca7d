/* SPDX-License-Identifier: Apache-2.0 */
/* Reset of a 32-bit RISC-V core in machine mode. The linker script names the memory: see tvm_startup.h. */
#include <stdint.h>

#include "tvm_memory.h"

int main(void);

void _start(void);
void tvm_start(void);

__attribute__((weak, alias("tvm_fault"))) void trap_handler(void);

/* The first instructions of an image. Addresses that depend on gp come after it is set. */
__attribute__((naked, used, section(".start"))) void _start(void)
{
    __asm__ volatile(
        ".option push\n"
        ".option norelax\n"
        "la gp, __global_pointer$\n"
        ".option pop\n"
        "la sp, __stack_top\n"
        "andi sp, sp, -16\n"
        "j tvm_start\n");
}

/* Only the assembly above calls it: 'used' keeps it, and keeps its name. */
__attribute__((noinline, used)) void tvm_start(void)
{
    uint32_t *sp;
    /* csrw mtvec, %0: spelled so that no compiler asks for an extension. */
    __asm__ volatile(".insn i 0x73, 1, x0, %0, 0x305" ::"r"(trap_handler) : "memory");
    __asm__ volatile("mv %0, sp" : "=r"(sp));
    tvm_prepare_memory(sp);
    tvm_exit(main());
}

void tvm_fault(void)
{
    for (;;) {
        __asm__ volatile("");
    }
}

__attribute__((weak)) void tvm_exit(int status)
{
    (void)status;
    for (;;) {
        __asm__ volatile("");
    }
}
