/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>

void SystemInit(void);

void SystemInit(void)
{
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* The FPU. */
}
