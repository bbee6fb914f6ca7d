/* SPDX-License-Identifier: Apache-2.0
 *
 * fake.h - a model written by hand in the shape of a generated one: scores = 2 * image + 1.
 */
#ifndef TVMGEN_FAKE_H
#define TVMGEN_FAKE_H

#include <stdint.h>

#include "tvm_aot.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TVMGEN_FAKE_IMAGE_SIZE 8u
#define TVMGEN_FAKE_IMAGE_BYTES 32u
#define TVMGEN_FAKE_SCORES_SIZE 8u
#define TVMGEN_FAKE_SCORES_BYTES 32u
#define TVMGEN_FAKE_WORKSPACE_SIZE 32u
#define TVMGEN_FAKE_MEMORY_SIZE 96u

struct tvmgen_fake_inputs {
    const float *image;
};
struct tvmgen_fake_outputs {
    float *scores;
};

int32_t tvmgen_fake_run(const struct tvmgen_fake_inputs *inputs, const struct tvmgen_fake_outputs *outputs);
int32_t tvmgen_fake_run_in(uint8_t *workspace, const struct tvmgen_fake_inputs *inputs,
                           const struct tvmgen_fake_outputs *outputs);
extern const tvm_aot_model_t tvmgen_fake_model;

#ifdef __cplusplus
}
#endif

#endif
