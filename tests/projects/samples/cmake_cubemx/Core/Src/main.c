/* SPDX-License-Identifier: Apache-2.0 */
#include "main.h"

#include "digits.h"
#include "hal_debug.h"

static float image[64];
static float scores[10];

int main(void)
{
    const struct tvmgen_digits_inputs inputs = {image};
    const struct tvmgen_digits_outputs outputs = {scores};

    if (tvmgen_digits_run(&inputs, &outputs) != TVM_OK) {
        Error_Handler();
    }
    HAL_DebugPrint("read\n");
    HAL_DebugExit(0);
}

void Error_Handler(void)
{
    HAL_DebugExit(1);
}
