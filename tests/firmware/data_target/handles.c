/* SPDX-License-Identifier: Apache-2.0
 *
 * handles.c - a firmware with two models and two instances of one of them, run in turn.
 */
#include "fake.h"
#include "pair.h"
#include "tvm_platform.h"
#include "tvm_semihosting.h"

static TVM_ALIGNED uint8_t fake_memory[2][TVMGEN_FAKE_MEMORY_SIZE];
static TVM_ALIGNED uint8_t pair_memory[TVMGEN_PAIR_MEMORY_SIZE];
static unsigned powered;

void tvm_platform_power_up(void)
{
    ++powered;
}

int main(void)
{
    static const int8_t left[3] = {1, 2, 3}, right[3] = {10, 20, -128};
    float image[2][8] = {{0}};
    float scores[8];
    int16_t sum[3];
    tvm_aot_t fake[2], pair;
    int wrong = 0;

    wrong += tvm_aot_create(&pair, &tvmgen_pair_model, pair_memory, sizeof pair_memory) != TVM_OK;
    wrong += tvm_aot_set_input(&pair, 0, left, sizeof left) != TVM_OK;
    for (int i = 0; i < 2; ++i) {
        image[i][5] = (float)(10 * (i + 1));
        wrong +=
            tvm_aot_create(&fake[i], &tvmgen_fake_model, fake_memory[i], sizeof fake_memory[i]) != TVM_OK;
        wrong += tvm_aot_set_input(&fake[i], 0, image[i], sizeof image[i]) != TVM_OK;
    }
    wrong += tvm_aot_run(&fake[1]) != TVM_OK;
    wrong += tvm_aot_set_input(&pair, 1, right, sizeof right) != TVM_OK;
    wrong += tvm_aot_run(&fake[0]) != TVM_OK;
    wrong += tvm_aot_run(&pair) != TVM_OK;
    wrong += tvm_aot_run(&pair) != TVM_ESTATE; /* it used its input up */
    for (int i = 0; i < 2; ++i) {
        wrong += tvm_aot_get_output(&fake[i], 0, scores, sizeof scores) != TVM_OK;
        wrong += scores[5] != 2.0f * image[i][5] + 1.0f;
    }
    wrong += tvm_aot_get_output(&pair, 0, sum, sizeof sum) != TVM_OK;
    wrong += sum[0] != 11 || sum[2] != -125;
    wrong += powered != 3;
    tvm_semihosting_write(wrong ? "wrong\n" : "right\n");
    return wrong;
}
