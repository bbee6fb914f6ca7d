#include <stdio.h>

#include "digits.h"

int main(void)
{
    const float image[TVMGEN_DIGITS_IMAGE_SIZE] = {1, 2, 3, 4};
    float scores[4];
    const struct tvmgen_digits_inputs inputs = {image};
    const struct tvmgen_digits_outputs outputs = {scores};

    if (tvmgen_digits_run(&inputs, &outputs) != TVM_OK) {
        return 1;
    }
    printf("%g %g %g %g\n", scores[0], scores[1], scores[2], scores[3]);
    return 0;
}
