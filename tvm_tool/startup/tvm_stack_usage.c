/* SPDX-License-Identifier: Apache-2.0 */
#include "tvm_startup.h"

#include <stdint.h>

extern const uint32_t __stack_start[], __stack_top[];

size_t tvm_stack_used(void)
{
    const uint32_t *lowest = __stack_start;
    while (lowest < __stack_top && *lowest == TVM_STACK_PAINT)
        ++lowest;
    return (size_t)((uintptr_t)__stack_top - (uintptr_t)lowest);
}
