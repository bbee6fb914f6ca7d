/* SPDX-License-Identifier: Apache-2.0 */
#include "tvm_semihosting.h"

#include <stdint.h>

#include "tvm_startup.h"

/* Operations of Arm's semihosting, which RISC-V has taken over. */
enum { SYS_WRITE0 = 0x04, SYS_EXIT_EXTENDED = 0x20 };

#ifdef __riscv
/* Three instructions, none of them compressed, in one page: the outer two say that this is no breakpoint. */
#define SEMIHOSTING       \
    ".balign 16\n"        \
    ".option push\n"      \
    ".option norvc\n"     \
    "slli x0, x0, 0x1f\n" \
    "ebreak\n"            \
    "srai x0, x0, 7\n"    \
    ".option pop\n"
#define FIRST "a0"
#define SECOND "a1"
#else
#define SEMIHOSTING "bkpt 0xab\n"
#define FIRST "r0"
#define SECOND "r1"
#endif

static void call(uint32_t operation, const void *argument)
{
    register uint32_t first __asm__(FIRST) = operation;
    register const void *second __asm__(SECOND) = argument;
    __asm__ volatile(SEMIHOSTING : "+r"(first) : "r"(second) : "memory");
}

void tvm_semihosting_write(const char *text)
{
    call(SYS_WRITE0, text);
}

void tvm_semihosting_exit(int status)
{
    const uint32_t block[2] = {0x20026u /* ADP_Stopped_ApplicationExit */, (uint32_t)status};
    call(SYS_EXIT_EXTENDED, block);
}

void tvm_exit(int status)
{
    for (;;)
        tvm_semihosting_exit(status);
}

#define TEXT(number) #number
#define NUMBER(name) TEXT(name)

/* The same two calls without a stack: its overflow is the likely reason to be here. */
#ifdef __riscv
__attribute__((naked)) void trap_handler(void)
{
    __asm__ volatile(
        "li a0, 0x04\n"
        "la a1, 1f\n" SEMIHOSTING
        "li a0, 0x20\n"
        "la a1, 2f\n" SEMIHOSTING
        "j .\n"
        "1: .asciz \"trap\\n\"\n"
        ".balign 4\n"
        "2: .word 0x20026, " NUMBER(TVM_SEMIHOSTING_FAULT) "\n");
}
#else
void HardFault_Handler(void);

__attribute__((naked)) void HardFault_Handler(void)
{
    __asm__ volatile(
        "movs r0, #0x04\n"
        "adr r1, 1f\n" SEMIHOSTING
        "movs r0, #0x20\n"
        "adr r1, 2f\n" SEMIHOSTING
        "b .\n"
        ".balign 4\n"
        "1: .asciz \"hard fault\\n\"\n"
        ".balign 4\n"
        "2: .word 0x20026, " NUMBER(TVM_SEMIHOSTING_FAULT) "\n");
}
#endif
