/* SPDX-License-Identifier: Apache-2.0 */
/* Layers to run one after another, and what their outputs must be. */
#ifndef BATCH_H
#define BATCH_H

#include <stdint.h>

/* An input of random bytes, or of nothing but `low` and `high` where these differ. */
struct batch_input {
    uint32_t bytes;
    uint8_t low, high;
};

struct batch_case {
    void (*run)(const void *const *inputs, void *output, uint8_t *scratch);
    struct batch_input inputs[2];
    uint32_t output_bytes, scratch_bytes;
    uint32_t in_place; /* the output takes the place of the first input */
    uint32_t seed;     /* of the inputs */
    uint32_t crc;      /* CRC-32 of the output */
};

extern const struct batch_case batch_cases[];
extern const uint32_t batch_case_count;

/* Memory for two inputs, output and scratch of the largest case, and where each begins. */
extern uint8_t *const batch_places[4];

#endif
