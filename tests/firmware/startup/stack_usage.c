/* SPDX-License-Identifier: Apache-2.0 */
/* The stack's high-water mark before and after a function with an array of 1,000 bytes. */
#include <stddef.h>

#include "tvm_startup.h"

__attribute__((noinline)) static int use(void)
{
    volatile char bytes[1000];
    for (size_t i = 0; i < sizeof bytes; ++i)
        bytes[i] = 1;
    return bytes[500];
}

int main(void)
{
    size_t before = tvm_stack_used();
    int one = use();
    size_t after = tvm_stack_used();
    if (before == 0 || before > 200)
        return 2;
    if (after < before + 900 || after > before + 1100)
        return 3;
    return one - 1;
}
