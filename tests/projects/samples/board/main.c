#include "digits.h"
#include "tvm_semihosting.h"

int main(void)
{
    const float image[TVMGEN_DIGITS_IMAGE_SIZE] = {1, 2, 3, 4};
    float scores[4];
    const struct tvmgen_digits_inputs inputs = {image};
    const struct tvmgen_digits_outputs outputs = {scores};

    if (tvmgen_digits_run(&inputs, &outputs) != TVM_OK || scores[3] != 8.0f) {
        return 1;
    }
    tvm_semihosting_write("the model says 8\n");
    return 0;
}
