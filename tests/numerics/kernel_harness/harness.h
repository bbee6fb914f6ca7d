/* SPDX-License-Identifier: Apache-2.0
 *
 * One layer to run: sizes count floats, scratch counts bytes.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <stdint.h>

struct test_case {
    void (*run)(const float *const *constants, const float *input, float *output, uint8_t *scratch);
    int32_t input, output, scratch, in_place, constant_count, constants[2];
};

extern const struct test_case test_cases[];
extern const int test_case_count;

#endif
