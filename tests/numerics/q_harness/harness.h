/* SPDX-License-Identifier: Apache-2.0
 *
 * One layer to run: sizes count bytes; an absent input has none. In the data each array begins at a multiple
 * of 16 bytes.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <stddef.h>
#include <stdint.h>

struct test_case {
    void (*run)(const void *const *inputs, void *output);
    size_t inputs[2], output, in_place;
};

extern const struct test_case test_cases[];
extern const int test_case_count;

#endif
