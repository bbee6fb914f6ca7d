/* SPDX-License-Identifier: Apache-2.0
 *
 * host IN OUT: runs every case on the data of file IN and writes the outputs to file OUT.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An allocation of exactly this size, all bits set: every float is a NaN. Nothing for no bytes. */
static void *poisoned(size_t bytes)
{
    void *memory = bytes ? malloc(bytes) : NULL;
    if (memory) {
        memset(memory, 0xff, bytes);
    }
    return memory;
}

static float *read_floats(FILE *from, int32_t count, int32_t room)
{
    float *memory = poisoned((size_t)room * sizeof(float));
    if (fread(memory, sizeof(float), (size_t)count, from) != (size_t)count) {
        exit(2);
    }
    return memory;
}

int main(int argc, char **argv)
{
    FILE *in = fopen(argv[argc - 2], "rb");
    FILE *out = fopen(argv[argc - 1], "wb");
    if (!in || !out) {
        return 2;
    }
    for (int i = 0; i < test_case_count; i++) {
        const struct test_case *test = &test_cases[i];
        float *constants[2] = {NULL, NULL};
        for (int32_t k = 0; k < test->constant_count; k++) {
            constants[k] = read_floats(in, test->constants[k], test->constants[k]);
        }
        int32_t room = test->in_place && test->output > test->input ? test->output : test->input;
        float *input = read_floats(in, test->input, room);
        float *output = test->in_place ? input : poisoned((size_t)test->output * sizeof(float));
        uint8_t *scratch = poisoned((size_t)test->scratch);
        test->run((const float *const *)constants, input, output, scratch);
        if (fwrite(output, sizeof(float), (size_t)test->output, out) != (size_t)test->output) {
            return 2;
        }
        if (output != input) {
            free(output);
        }
        free(input);
        free(scratch);
        free(constants[0]);
        free(constants[1]);
    }
    return fclose(in) | fclose(out);
}
