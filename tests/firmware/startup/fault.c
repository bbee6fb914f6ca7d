/* SPDX-License-Identifier: Apache-2.0 */
/* An instruction that does not exist. */
int main(void)
{
#ifdef __riscv
    __asm__ volatile(".word 0");
#else
    __asm__ volatile("udf #0");
#endif
    return 0;
}
