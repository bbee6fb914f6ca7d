/* SPDX-License-Identifier: Apache-2.0 */
#include "tvm_semihosting.h"

#include <stdint.h>

#include "tvm_startup.h"

/* Operations of Arm's semihosting. */
enum { SYS_WRITE0 = 0x04, SYS_EXIT_EXTENDED = 0x20 };

void HardFault_Handler(void);

static void call(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
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
__attribute__((naked)) void HardFault_Handler(void)
{
    __asm__ volatile(
        "movs r0, #0x04\n"
        "adr r1, 1f\n"
        "bkpt 0xab\n"
        "movs r0, #0x20\n"
        "adr r1, 2f\n"
        "bkpt 0xab\n"
        "b .\n"
        ".balign 4\n"
        "1: .asciz \"hard fault\\n\"\n"
        ".balign 4\n"
        "2: .word 0x20026, " NUMBER(TVM_SEMIHOSTING_FAULT) "\n");
}
