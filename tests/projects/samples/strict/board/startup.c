#include <stdint.h>

int main(void);
void Reset_Handler(void);

void Reset_Handler(void)
{
    (void)main();
    for (;;) {
    }
}

__attribute__((section(".isr_vector"), used)) static const uintptr_t vectors[2] = {0x20040000u, (uintptr_t)Reset_Handler};
