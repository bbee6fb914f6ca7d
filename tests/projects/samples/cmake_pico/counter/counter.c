/* SPDX-License-Identifier: Apache-2.0 */
#include "digits.h"
#include "sdk/stdio.h"

static float image[64] = {1.0f};
static float scores[10];

int main(void)
{
    const struct tvmgen_digits_inputs inputs = {image};
    const struct tvmgen_digits_outputs outputs = {scores};

    if (tvmgen_digits_run(&inputs, &outputs) != TVM_OK) {
        return 1;
    }
    sdk_print(scores[0] < scores[1] ? "more\n" : "less\n");
    return 0;
}
