/* SPDX-License-Identifier: Apache-2.0 */
#include "hal_debug.h"

#include <stdint.h>

#ifndef USE_HAL
#error "The HAL was not told for what it is compiled."
#endif

static void debug(uintptr_t call, uintptr_t value)
{
    register uintptr_t r0 __asm__("r0") = call;
    register uintptr_t r1 __asm__("r1") = value;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

void HAL_DebugPrint(const char *text)
{
    debug(0x04, (uintptr_t)text);
}

void HAL_DebugExit(int status)
{
    const uintptr_t ended[2] = {0x20026, (uintptr_t)status};

    debug(0x20, (uintptr_t)ended);
    for (;;) {
    }
}
