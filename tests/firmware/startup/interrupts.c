/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of the firmware: a system exception by its name, a device's interrupt by its table. */
#include <stdint.h>

#include "tvm_semihosting.h"

#define NVIC_ISER0 (*(volatile uint32_t *)0xE000E100u)
#define NVIC_ISPR0 (*(volatile uint32_t *)0xE000E200u)
#define SCB_ICSR (*(volatile uint32_t *)0xE000ED04u)

static volatile int seen;

void PendSV_Handler(void);

void PendSV_Handler(void)
{
    seen += 1;
}

static void wrong(void)
{
    seen += 100;
}

static void third(void)
{
    seen += 10;
}

__attribute__((section(".vectors.device"), used)) static void (*const interrupts[])(void) = {
    wrong,
    wrong,
    third,
    wrong,
};

int main(void)
{
    SCB_ICSR = 1u << 28;
    NVIC_ISER0 = 1u << 2;
    NVIC_ISPR0 = 1u << 2;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
    return seen;
}
