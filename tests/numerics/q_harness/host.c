/* SPDX-License-Identifier: Apache-2.0
 *
 * host IN OUT: runs every case on the data of file IN and writes the outputs to file OUT. Each array is an
 * allocation of exactly its size, so that a sanitizer sees each element too far.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *next_array(FILE *from, size_t bytes)
{
    char padding[16];
    void *memory = bytes ? malloc(bytes) : NULL;
    if (memory && (fread(memory, 1, bytes, from) != bytes ||
                   fread(padding, 1, (0 - bytes) % 16, from) != (0 - bytes) % 16)) {
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
        void *inputs[2], *output;
        inputs[0] = next_array(in, test->inputs[0]);
        inputs[1] = next_array(in, test->inputs[1]);
        output = test->in_place ? inputs[0] : malloc(test->output);
        if (!test->in_place) {
            memset(output, 0x5a, test->output);
        }
        test->run((const void *const *)inputs, output);
        if (fwrite(output, 1, test->output, out) != test->output) {
            return 2;
        }
        if (!test->in_place) {
            free(output);
        }
        free(inputs[0]);
        free(inputs[1]);
    }
    return fclose(in) | fclose(out);
}
