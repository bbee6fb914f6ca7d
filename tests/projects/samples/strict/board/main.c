#ifdef BOOT
int main(void)
{
    return 0;
}
#else
#include "digits.h"

static float image[TVMGEN_DIGITS_IMAGE_SIZE];
static float scores[TVMGEN_DIGITS_IMAGE_SIZE];

int main(void)
{
    const struct tvmgen_digits_inputs inputs = {image};
    const struct tvmgen_digits_outputs outputs = {scores};

    return (int)tvmgen_digits_run(&inputs, &outputs);
}
#endif
