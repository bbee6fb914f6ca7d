#include <stdio.h>

#include "a.h"
#include "b.h"

int main(void)
{
    const float image[4] = {1, 2, 3, 4};
    float scores[4];
    const struct tvmgen_a_inputs a_in = {image};
    const struct tvmgen_a_outputs a_out = {scores};
    const struct tvmgen_b_inputs b_in = {image};
    const struct tvmgen_b_outputs b_out = {scores};
    int i;

    for (i = 0; i < 2; ++i) {
        if (tvmgen_a_run(&a_in, &a_out) != TVM_OK) {
            return 1;
        }
        printf("%g ", scores[0]);
        if (tvmgen_b_run(&b_in, &b_out) != TVM_OK) {
            return 1;
        }
        printf(i ? "%g\n" : "%g ", scores[0]);
    }
    return 0;
}
