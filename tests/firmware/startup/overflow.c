/* SPDX-License-Identifier: Apache-2.0 */
/* Recursion without end: must leave the memory at its bottom and fault. */
#include "tvm_semihosting.h"

int deeper(volatile int *above);

int deeper(volatile int *above)
{
    volatile int here[20];
    here[3] = *above + 1;
    return here[3] < 0 ? 0 : deeper(&here[3]) + here[2];
}

int main(void)
{
    volatile int start = 0;
    tvm_semihosting_write("deeper\n");
    return deeper(&start);
}
