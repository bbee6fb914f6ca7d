/* SPDX-License-Identifier: Apache-2.0 */
/* Vector table and reset of Cortex-M. The linker script names the memory: see tvm_startup.h. */
#include <stdint.h>

#include "tvm_memory.h"

int main(void);

void Reset_Handler(void);

#define TVM_WEAK_HANDLER __attribute__((weak, alias("tvm_fault")))
void NMI_Handler(void) TVM_WEAK_HANDLER;
void HardFault_Handler(void) TVM_WEAK_HANDLER;
void MemManage_Handler(void) TVM_WEAK_HANDLER;
void BusFault_Handler(void) TVM_WEAK_HANDLER;
void UsageFault_Handler(void) TVM_WEAK_HANDLER;
void SecureFault_Handler(void) TVM_WEAK_HANDLER;
void SVC_Handler(void) TVM_WEAK_HANDLER;
void DebugMon_Handler(void) TVM_WEAK_HANDLER;
void PendSV_Handler(void) TVM_WEAK_HANDLER;
void SysTick_Handler(void) TVM_WEAK_HANDLER;

struct tvm_vectors {
    uint32_t *stack_top;
    void (*handlers[15])(void);
};
extern const struct tvm_vectors tvm_vectors;
const struct tvm_vectors tvm_vectors __attribute__((section(".vectors"), used)) = {
    __stack_top,
    {
        Reset_Handler,
        NMI_Handler,
        HardFault_Handler,
        MemManage_Handler,
        BusFault_Handler,
        UsageFault_Handler,
        SecureFault_Handler,
        0,
        0,
        0,
        SVC_Handler,
        DebugMon_Handler,
        0,
        PendSV_Handler,
        SysTick_Handler,
    },
};

/* Not part of Reset_Handler: a compiler could use FPU registers before the FPU is on. */
__attribute__((noinline)) static void start(void)
{
    uint32_t *sp;
    __asm__ volatile("mov %0, sp" : "=r"(sp));
    tvm_prepare_memory(sp);
    tvm_exit(main());
}

void Reset_Handler(void)
{
#if defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)
    /* Below, an overflow faults, whatever lies there. */
    __asm__ volatile("msr msplim, %0" ::"r"(__stack_start));
#endif
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* CPACR: full access to FPU and MVE */
    __asm__ volatile("dsb\n\tisb" ::: "memory");
#endif
#if __ARM_ARCH >= 7
    /* VTOR: a boot loader or a debugger may have left another table there. */
    *(const struct tvm_vectors *volatile *)0xE000ED08u = &tvm_vectors;
#endif
    start();
}

void tvm_fault(void)
{
    for (;;) {
        __asm__ volatile("");
    }
}

__attribute__((weak)) void tvm_exit(int status)
{
    (void)status;
    for (;;) {
        __asm__ volatile("");
    }
}
