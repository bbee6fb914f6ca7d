/* SPDX-License-Identifier: Apache-2.0
 *
 * The same on an emulated Cortex-M without an operating system: the data is linked in (cases_data), the
 * outputs go to the file out.bin through semihosting. Between buffers lies a NaN that must stay.
 */
#include "harness.h"

#include <stddef.h>

#define POOL (1 << 18)

extern const float cases_data[];
void reset(void);
void fault(void);

static uint32_t pool[POOL];
static uint32_t *next_free = pool;

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

/* `words` words of NaN at a multiple of 16 bytes, and one more behind them. */
static void *poisoned(int32_t words)
{
    uint32_t *memory = next_free;
    next_free += (words + 1 + 3) & ~3;
    for (uint32_t *word = memory; word < next_free; word++) {
        *(volatile uint32_t *)word = 0xffffffff;
    }
    return memory;
}

static void check_guard(const void *memory, int32_t words)
{
    if (((const uint32_t *)memory)[words] != 0xffffffff) {
        leave(4);
    }
}

static void run_all(void)
{
    const uint32_t name[3] = {(uint32_t) "out.bin", 5, 7};
    const int32_t file = semihosting(0x01, name);
    const float *data = cases_data;

    for (int i = 0; i < test_case_count; i++) {
        const struct test_case *test = &test_cases[i];
        const float *constants[2] = {NULL, NULL};
        for (int32_t k = 0; k < test->constant_count; k++) {
            constants[k] = data;
            data += test->constants[k];
        }
        next_free = pool;
        int32_t room = test->in_place && test->output > test->input ? test->output : test->input;
        float *input = poisoned(room);
        for (int32_t k = 0; k < test->input; k++) {
            input[k] = *data++;
        }
        float *output = test->in_place ? input : poisoned(test->output);
        uint8_t *scratch = poisoned(test->scratch / 4);
        test->run(constants, input, output, scratch);
        check_guard(input, room);
        check_guard(scratch, test->scratch / 4);
        if (!test->in_place) {
            check_guard(output, test->output);
        }
        const uint32_t block[3] = {(uint32_t)file, (uint32_t)output, (uint32_t)test->output * 4};
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
