/* SPDX-License-Identifier: Apache-2.0
 *
 * The same on an emulated Cortex-M without an operating system: the data is linked in (cases_data), the
 * outputs go to the file out.bin through semihosting. Behind each output lies a byte that must stay.
 */
#include "harness.h"

#define POOL (1 << 20)

extern const uint8_t cases_data[];
void reset(void);
void fault(void);

static uint8_t pool[POOL];

static int32_t semihosting(int32_t operation, const void *argument)
{
    register int32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void leave(uint32_t status)
{
    const uint32_t block[2] = {0x20026, status};
    for (;;) {
        semihosting(0x20, block);
    }
}

void fault(void)
{
    leave(3);
}

static const void *next_array(const uint8_t **data, size_t bytes)
{
    const void *array = *data;
    *data += (bytes + 15) / 16 * 16;
    return array;
}

static void run_all(void)
{
    const uint32_t name[3] = {(uint32_t) "out.bin", 5, 7};
    const int32_t file = semihosting(0x01, name);
    const uint8_t *data = cases_data;

    for (int i = 0; i < test_case_count; i++) {
        const struct test_case *test = &test_cases[i];
        const void *inputs[2];
        inputs[0] = next_array(&data, test->inputs[0]);
        inputs[1] = next_array(&data, test->inputs[1]);
        const size_t room = test->in_place && test->inputs[0] > test->output ? test->inputs[0] : test->output;
        for (size_t k = 0; k < room; k++) {
            *(volatile uint8_t *)&pool[k] = test->in_place ? ((const uint8_t *)inputs[0])[k] : 0x5a;
        }
        *(volatile uint8_t *)&pool[room] = 0x5a;
        inputs[0] = test->in_place ? pool : inputs[0];
        test->run(inputs, pool);
        if (pool[room] != 0x5a) {
            leave(4);
        }
        const uint32_t block[3] = {(uint32_t)file, (uint32_t)pool, test->output};
        if (semihosting(0x05, block) != 0) {
            leave(2);
        }
    }
    leave(0);
}

void reset(void)
{
#ifdef __ARM_FP
    *(volatile uint32_t *)0xe000ed88 |= 0xf00000; /* CPACR: the FPU is on */
    __asm__ volatile("dsb\n\tisb");
#endif
    run_all();
}
