/* SPDX-License-Identifier: Apache-2.0
 *
 * pair.h - a second hand-written model: sum = left + right. `left` lies in the workspace, as inputs of a
 * model with workspace_io do.
 */
#ifndef TVMGEN_PAIR_H
#define TVMGEN_PAIR_H

#include "tvm_aot.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TVMGEN_PAIR_LEFT_BYTES 3u
#define TVMGEN_PAIR_RIGHT_BYTES 3u
#define TVMGEN_PAIR_SUM_BYTES 6u
#define TVMGEN_PAIR_MEMORY_SIZE 64u

/* `left` of this value in the first element makes the run fail with TVM_EINVAL. */
#define PAIR_FAILS 99

extern const tvm_aot_model_t tvmgen_pair_model;

#ifdef __cplusplus
}
#endif

#endif
