/* SPDX-License-Identifier: Apache-2.0
 *
 * tally.h - a model with a state, written by hand in the shape of a generated one: scores += frame.
 */
#ifndef TVMGEN_TALLY_H
#define TVMGEN_TALLY_H

#include "tvm_aot.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TVMGEN_TALLY_WORKSPACE_SIZE 8u
#define TVMGEN_TALLY_STATE_SIZE 8u
#define TVMGEN_TALLY_MEMORY_SIZE 48u

struct tvmgen_tally_inputs {
    const float *frame;
};
struct tvmgen_tally_outputs {
    float *scores;
};

int32_t tvmgen_tally_run(const struct tvmgen_tally_inputs *inputs, const struct tvmgen_tally_outputs *outputs);
int32_t tvmgen_tally_run_in(uint8_t *workspace, const struct tvmgen_tally_inputs *inputs,
                            const struct tvmgen_tally_outputs *outputs);
int32_t tvmgen_tally_reset(void);
int32_t tvmgen_tally_reset_in(uint8_t *workspace);
extern const tvm_aot_model_t tvmgen_tally_model;

#ifdef __cplusplus
}
#endif

#endif
