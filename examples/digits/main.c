/* SPDX-License-Identifier: Apache-2.0 */
/* Reads handwritten digits and tells over semihosting what it sees. */
#include <stdint.h>

#include "digits.h"
#include "images.h"
#include "tvm_semihosting.h"

#define PIXELS TVMGEN_DIGITS_IMAGE_SIZE
#define DIGITS TVMGEN_DIGITS_SCORES_SIZE

/* Writes `value` in decimal, at least `width` (up to 11) characters wide. */
static void write_number(uint32_t value, int width)
{
    char text[12];
    char *const end = text + sizeof text - 1;
    char *first = end;

    *end = '\0';
    do {
        *--first = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    while (end - first < width) {
        *--first = ' ';
    }
    tvm_semihosting_write(first);
}

/* Writes a share from 0 to 1 as a percentage with one decimal. */
static void write_share(float share)
{
    const uint32_t permille = (uint32_t)(share * 1000.0f + 0.5f);

    write_number(permille / 10, 3);
    tvm_semihosting_write(".");
    write_number(permille % 10, 1);
    tvm_semihosting_write(" %");
}

/* The place of the largest of `DIGITS` scores. */
static uint32_t best_of(const float *scores)
{
    uint32_t best = 0;

    for (uint32_t digit = 1; digit < DIGITS; ++digit) {
        if (scores[digit] > scores[best]) {
            best = digit;
        }
    }
    return best;
}

/* Returns 0 if at least 95 of 100 images are read right. */
int main(void)
{
    static float image[PIXELS];
    static float scores[DIGITS];
    const struct tvmgen_digits_inputs inputs = {image};
    const struct tvmgen_digits_outputs outputs = {scores};
    uint32_t right = 0;

    for (uint32_t i = 0; i < TEST_IMAGES; ++i) {
        for (uint32_t pixel = 0; pixel < PIXELS; ++pixel) {
            image[pixel] = (float)test_images[i][pixel] / 16.0f;
        }
        if (tvmgen_digits_run(&inputs, &outputs) != TVM_OK) {
            tvm_semihosting_write("the model failed\n");
            return 1;
        }
        const uint32_t digit = best_of(scores);

        tvm_semihosting_write("image ");
        write_number(i, 3);
        tvm_semihosting_write(": ");
        write_number(digit, 1);
        tvm_semihosting_write(", ");
        write_share(scores[digit]);
        if (digit == test_labels[i]) {
            ++right;
            tvm_semihosting_write("\n");
        } else {
            tvm_semihosting_write(", but it is ");
            write_number(test_labels[i], 1);
            tvm_semihosting_write("\n");
        }
    }
    write_number(right, 1);
    tvm_semihosting_write(" of ");
    write_number(TEST_IMAGES, 1);
    tvm_semihosting_write(" images are read right\n");
    return right * 100 >= TEST_IMAGES * 95u ? 0 : 1;
}
