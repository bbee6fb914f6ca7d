/* SPDX-License-Identifier: Apache-2.0 */
#include "pair.h"

static int32_t run(uint8_t *memory)
{
    int8_t *left = (int8_t *)(memory + 16);
    const int8_t *right = (const int8_t *)(memory + 32);
    int16_t *sum = (int16_t *)(void *)(memory + 48);
    int32_t status = left[0] == PAIR_FAILS ? TVM_EINVAL : TVM_OK;

    for (int i = 0; i < 3; ++i) {
        sum[i] = (int16_t)(left[i] + right[i]);
        left[i] = 0; /* the workspace is overwritten */
    }
    return status;
}

static const int32_t shape[] = {3};
static const tvm_aot_tensor_t inputs[] = {
    {"left", TVM_INT8, 1, shape, 3, 16, 0.5f, -1},
    {"right", TVM_INT8, 1, shape, 3, 32, 0.5f, -1},
};
static const tvm_aot_tensor_t outputs[] = {{"sum", TVM_INT16, 1, shape, 6, 48, 0.5f, -2}};

const tvm_aot_model_t tvmgen_pair_model = {"pair", TVM_AOT_ABI, 2, 1, 32, 64, inputs, outputs, run, NULL};
