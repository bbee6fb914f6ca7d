/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c - a firmware that runs the model once, says so, and ends with the number of wrong scores.
 */
#include "fake.h"
#include "tvm_semihosting.h"

static float image[TVMGEN_FAKE_IMAGE_SIZE];
static float scores[TVMGEN_FAKE_SCORES_SIZE];
static volatile uint32_t settings[4] = {1, 2, 3, 4};

#ifdef MARKERS
/* What rig/measure.py counts between. */
__attribute__((noinline, used)) void bench_begin(void)
{
    __asm__ volatile("");
}
__attribute__((noinline, used)) void bench_end(void)
{
    __asm__ volatile("nop");
}
#else
#define bench_begin()
#define bench_end()
#endif

int main(void)
{
    const struct tvmgen_fake_inputs in = {image};
    const struct tvmgen_fake_outputs out = {scores};
    int wrong = 0;

#ifdef MAIN_HANGS
    while (settings[0] == 1) {
    }
#endif
#ifdef MAIN_LOCKS_UP
    __asm__ volatile("cpsid f"); /* a fault now finds no handler that may run */
#endif
#ifdef MAIN_FAULTS
    *(volatile uint32_t *)0x60000000u = settings[0];
#endif
    for (int i = 0; i < 8; ++i) {
        image[i] = (float)i;
    }
    bench_begin();
    wrong = tvmgen_fake_run(&in, &out) != TVM_OK;
    bench_end();
    for (int i = 0; i < 8; ++i) {
        wrong += scores[i] != (float)(2 * i) + (float)settings[0];
    }
    tvm_semihosting_write(wrong ? "wrong\n" : "right\n");
    return wrong;
}
