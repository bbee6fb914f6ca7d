/* SPDX-License-Identifier: Apache-2.0 */
#include "tally.h"

#define READY 0x7a11u

static TVM_ALIGNED uint8_t tvmgen_tally_workspace[TVMGEN_TALLY_WORKSPACE_SIZE];
static uint8_t tvmgen_tally_is_reset;

int32_t tvmgen_tally_reset_in(uint8_t *workspace)
{
    *(float *)(void *)(workspace + 4) = 0.0f;
    *(uint32_t *)(void *)workspace = READY;
    return TVM_OK;
}

int32_t tvmgen_tally_run_in(uint8_t *workspace, const struct tvmgen_tally_inputs *inputs,
                            const struct tvmgen_tally_outputs *outputs)
{
    float *sum = (float *)(void *)(workspace + 4);

    if (*(uint32_t *)(void *)workspace != READY) {
        return TVM_ESTATE;
    }
    *sum += *inputs->frame;
    *outputs->scores = *sum;
    return TVM_OK;
}

int32_t tvmgen_tally_reset(void)
{
    tvmgen_tally_is_reset = 1;
    return tvmgen_tally_reset_in(tvmgen_tally_workspace);
}

int32_t tvmgen_tally_run(const struct tvmgen_tally_inputs *inputs, const struct tvmgen_tally_outputs *outputs)
{
    if (tvmgen_tally_is_reset == 0u) {
        (void)tvmgen_tally_reset();
    }
    return tvmgen_tally_run_in(tvmgen_tally_workspace, inputs, outputs);
}

static int32_t run(uint8_t *memory)
{
    const struct tvmgen_tally_inputs inputs = {(const float *)(const void *)(memory + 16)};
    const struct tvmgen_tally_outputs outputs = {(float *)(void *)(memory + 32)};
    return tvmgen_tally_run_in(memory, &inputs, &outputs);
}

static const tvm_aot_tensor_t inputs[] = {{"frame", TVM_FLOAT32, 0, NULL, 4, 16, 0.0f, 0}};
static const tvm_aot_tensor_t outputs[] = {{"scores", TVM_FLOAT32, 0, NULL, 4, 32, 0.0f, 0}};

const tvm_aot_model_t tvmgen_tally_model = {
    "tally", TVM_AOT_ABI, 1, 1, 8, 48, inputs, outputs, run, tvmgen_tally_reset_in,
};
