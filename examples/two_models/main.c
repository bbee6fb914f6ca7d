/* SPDX-License-Identifier: Apache-2.0 */
/* Interleaves two instances of one model and one of another, and checks that none disturbs the others. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "centre.h"
#include "digits.h"
#include "images.h"
#include "tvm_semihosting.h"

#define PIXELS TVMGEN_DIGITS_IMAGE_SIZE
#define SCORES TVMGEN_DIGITS_SCORES_SIZE

TVM_ALIGNED static uint8_t left_memory[TVMGEN_DIGITS_MEMORY_SIZE];
TVM_ALIGNED static uint8_t right_memory[TVMGEN_DIGITS_MEMORY_SIZE];
TVM_ALIGNED static uint8_t centre_memory[TVMGEN_CENTRE_MEMORY_SIZE];

static void load(float *image, uint32_t index)
{
    for (uint32_t pixel = 0; pixel < PIXELS; ++pixel) {
        image[pixel] = (float)test_images[index][pixel] / 16.0f;
    }
}

/* Whether the outputs of `handle` are what the model alone computes of image `index`. */
static bool as_alone(const tvm_aot_t *handle, uint32_t index)
{
    static float image[PIXELS];
    static float alone[SCORES];
    float scores[SCORES];
    const struct tvmgen_digits_inputs inputs = {image};
    const struct tvmgen_digits_outputs outputs = {alone};

    load(image, index);
    if (tvmgen_digits_run(&inputs, &outputs) != TVM_OK) {
        return false;
    }
    if (tvm_aot_get_output(handle, 0, scores, sizeof scores) != TVM_OK) {
        return false;
    }
    for (uint32_t i = 0; i < SCORES; ++i) {
        if (scores[i] < alone[i] || scores[i] > alone[i]) {
            return false;
        }
    }
    return true;
}

/* Whether the ink of image `index` is what `handle` found; sums of sixteenths are exact. */
static bool ink_is_right(const tvm_aot_t *handle, uint32_t index)
{
    float moments[TVMGEN_CENTRE_MOMENTS_SIZE];
    uint32_t ink = 0;

    for (uint32_t pixel = 0; pixel < PIXELS; ++pixel) {
        ink += test_images[index][pixel];
    }
    return tvm_aot_get_output(handle, 0, moments, sizeof moments) == TVM_OK &&
           (uint32_t)(moments[0] * 16.0f) == ink;
}

static bool interleave(tvm_aot_t *left, tvm_aot_t *right, tvm_aot_t *centre)
{
    float image[PIXELS];

    for (uint32_t i = 0; i + 1 < TEST_IMAGES; ++i) {
        load(image, i);
        if (tvm_aot_set_input(left, 0, image, sizeof image) != TVM_OK ||
            tvm_aot_set_input(centre, 0, image, sizeof image) != TVM_OK) {
            return false;
        }
        load(image, i + 1);
        if (tvm_aot_set_input(right, 0, image, sizeof image) != TVM_OK) {
            return false;
        }
        if (tvm_aot_run(left) != TVM_OK || tvm_aot_run(centre) != TVM_OK || tvm_aot_run(right) != TVM_OK) {
            return false;
        }
        if (!as_alone(right, i + 1) || !as_alone(left, i) || !ink_is_right(centre, i)) {
            return false;
        }
    }
    return true;
}

int main(void)
{
    tvm_aot_t left, right, centre;
    bool good = tvm_aot_create(&left, &tvmgen_digits_model, left_memory, sizeof left_memory) == TVM_OK &&
                tvm_aot_create(&right, &tvmgen_digits_model, right_memory, sizeof right_memory) == TVM_OK &&
                tvm_aot_create(&centre, &tvmgen_centre_model, centre_memory, sizeof centre_memory) == TVM_OK;

    good = good && interleave(&left, &right, &centre);
    good = good && tvm_aot_destroy(&left) == TVM_OK && tvm_aot_destroy(&right) == TVM_OK &&
           tvm_aot_destroy(&centre) == TVM_OK;
    tvm_semihosting_write(good ? "two models, three instances: all right\n"
                               : "an instance disturbs another\n");
    return good ? 0 : 1;
}
