/* SPDX-License-Identifier: Apache-2.0 */
/* What reset does to memory before main, the same on every core. For the startup files only. */
#ifndef TVM_MEMORY_H
#define TVM_MEMORY_H

#include <stdint.h>

#include "tvm_startup.h"

/* What the linker script defines. */
struct tvm_copy {
    const uint32_t *from;
    uint32_t *to;
    uint32_t *end;
};
extern const struct tvm_copy __copy_start[], __copy_end[];
extern uint32_t __bss_start[], __bss_end[];
extern uint32_t __stack_start[], __stack_top[];
extern void (*const __init_array_start[])(void);
extern void (*const __init_array_end[])(void);

/* The stores are volatile so that no compiler makes a call of memset or memcpy out of a loop: a firmware
 * may have neither, and memory is not ready for them. */
static inline void tvm_fill(uint32_t *to, const uint32_t *end, uint32_t value)
{
    while (to < end)
        *(volatile uint32_t *)to++ = value;
}

/* Copies initialised data, clears the rest, runs constructors. `sp` is the stack pointer. */
static inline void tvm_prepare_memory(uint32_t *sp)
{
#ifdef TVM_PAINT_STACK
    tvm_fill(__stack_start, sp, TVM_STACK_PAINT);
#else
    (void)sp;
#endif
    for (const struct tvm_copy *copy = __copy_start; copy < __copy_end; ++copy) {
        const uint32_t *from = copy->from;
        for (uint32_t *to = copy->to; to < copy->end;)
            *(volatile uint32_t *)to++ = *from++;
    }
    tvm_fill(__bss_start, __bss_end, 0);
    for (void (*const *constructor)(void) = __init_array_start; constructor < __init_array_end; ++constructor)
        (*constructor)();
}

#endif
