/* SPDX-License-Identifier: Apache-2.0 */
/* Is memory ready when main begins? Prints "ready" and returns 0, or the number of the first wrong thing. */
#include <stdint.h>

#include "tvm_semihosting.h"

#define SCB_VTOR (*(volatile uint32_t *)0xE000ED08u)

extern uint32_t __stack_start[], __stack_top[], __heap_start[];

static volatile uint32_t initialised[3] = {11, 22, 33};
static volatile uint8_t odd = 5;
static volatile uint32_t cleared[257];
static volatile float half = 0.5f;
static volatile uint32_t order;

#ifdef FURTHER_REGION
__attribute__((section(".tvm." FURTHER_REGION ".weights"))) static const uint32_t copied[2] = {77, 88};
#else
static const uint32_t copied[2] = {77, 88};
#endif

__attribute__((constructor(101))) static void first(void)
{
    order = order * 10 + 1;
}

__attribute__((constructor(102))) static void second(void)
{
    order = order * 10 + 2;
}

__attribute__((constructor)) static void last(void)
{
    order = order * 10 + 3 + (uint32_t)(half * 2.0f) * 100;
}

int main(void)
{
    const volatile uint32_t *weights = copied;
    uint32_t sp;
#ifdef __riscv
    __asm__ volatile("mv %0, sp" : "=r"(sp));
#else
    __asm__ volatile("mov %0, sp" : "=r"(sp));
#endif
#ifdef DIRTY
    if (((volatile uint32_t *)__heap_start)[16] != 0x55555555u)
        return 10; /* The memory was not dirty: the next two checks would say nothing. */
#endif
    for (int i = 0; i < 257; ++i) {
        if (cleared[i] != 0)
            return 1;
    }
    if (initialised[0] != 11 || initialised[1] != 22 || initialised[2] != 33 || odd != 5)
        return 2;
    if (order != 223)
        return 3; /* 12 by the first two, then 120 + 3 + 100. */
    if (half + 0.25f != 0.75f)
        return 4;
    if (weights[0] != 77 || weights[1] != 88)
        return 5;
    if (sp % 4 != 0 || sp <= (uint32_t)__stack_start || sp > (uint32_t)__stack_top)
        return 6;
#if defined(__ARM_ARCH) && __ARM_ARCH >= 7
    if (SCB_VTOR != VECTORS)
        return 7;
#endif
    tvm_semihosting_write("ready\n");
    return 0;
}
