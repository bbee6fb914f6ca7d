/* SPDX-License-Identifier: Apache-2.0
 *
 * fake.c - scores = 2 * image + 1, in two layers. The macros make it wrong in the ways that a test needs:
 * FAKE_BIAS another constant, FAKE_FAULT an access that faults, FAKE_HANG a loop without end,
 * FAKE_OVERRUN a write behind the output, FAKE_STATUS an error code, FAKE_STACK bytes of stack.
 */
#include "fake.h"

#ifndef ARENA_SECTION
#define ARENA_SECTION ".bss.tvmgen_fake_workspace"
#endif
#ifndef FAKE_BIAS
#define FAKE_BIAS 1.0f
#endif

static uint8_t tvmgen_fake_workspace[TVMGEN_FAKE_WORKSPACE_SIZE]
    __attribute__((aligned(TVM_ALIGN), section(ARENA_SECTION)));

static const float tvmgen_fake_layer0_weights[TVMGEN_FAKE_IMAGE_SIZE]
    __attribute__((aligned(TVM_ALIGN), section(".rodata.tvmgen_fake_layer0_weights"))) = {
        2.0f, 2.0f, 2.0f, 2.0f, 2.0f, 2.0f, 2.0f, 2.0f,
};

static void layer0_multiply(const float *input, float *output)
{
    for (unsigned i = 0; i < TVMGEN_FAKE_IMAGE_SIZE; ++i) {
        output[i] = tvmgen_fake_layer0_weights[i] * input[i];
    }
}

__attribute__((noinline)) static void layer1_add(const float *input, float *output)
{
    for (unsigned i = 0; i < TVMGEN_FAKE_SCORES_SIZE; ++i) {
        output[i] = input[i] + FAKE_BIAS;
    }
#ifdef FAKE_FAULT
    *(volatile uint32_t *)0x60000000u = 1u;
#endif
#ifdef FAKE_HANG
    for (volatile int forever = 1; forever;) {
    }
#endif
#ifdef FAKE_OVERRUN
    output[TVMGEN_FAKE_SCORES_SIZE] = 0.0f;
#endif
#ifdef FAKE_STACK
    volatile uint8_t stack[FAKE_STACK];
    for (unsigned i = 0; i < sizeof stack; ++i) {
        stack[i] = 1;
    }
#endif
}

int32_t tvmgen_fake_run_in(uint8_t *workspace, const struct tvmgen_fake_inputs *inputs,
                           const struct tvmgen_fake_outputs *outputs)
{
    float *const a0 = (float *)(void *)workspace;

    layer0_multiply(inputs->image, a0);
    layer1_add(a0, outputs->scores);
#ifdef FAKE_STATUS
    return FAKE_STATUS;
#else
    return TVM_OK;
#endif
}

__attribute__((noinline, used)) int32_t tvmgen_fake_run(const struct tvmgen_fake_inputs *inputs,
                                                        const struct tvmgen_fake_outputs *outputs)
{
    return tvmgen_fake_run_in(tvmgen_fake_workspace, inputs, outputs);
}

static int32_t run(uint8_t *memory)
{
    const struct tvmgen_fake_inputs inputs = {(const float *)(const void *)(memory + 32)};
    const struct tvmgen_fake_outputs outputs = {(float *)(void *)(memory + 64)};
    return tvmgen_fake_run_in(memory, &inputs, &outputs);
}

static const int32_t shape[] = {1, 8};
static const tvm_aot_tensor_t inputs[] = {{"image", TVM_FLOAT32, 2, shape, 32, 32, 0.0f, 0}};
static const tvm_aot_tensor_t outputs[] = {{"scores", TVM_FLOAT32, 2, shape, 32, 64, 0.0f, 0}};

const tvm_aot_model_t tvmgen_fake_model = {"fake", TVM_AOT_ABI, 1, 1, 32, 96, inputs, outputs, run, NULL};
