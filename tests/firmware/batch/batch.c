/* SPDX-License-Identifier: Apache-2.0 */
/* Runs all cases on inputs from a generator that the host has too. Prints what is wrong; the status is the
 * number of cases that are, at most 100. */
#include "batch.h"

#include "tvm_semihosting.h"

#define GUARD 16u /* bytes before and behind output and scratch that must stay */
#define PAINT 0x5Au

static uint32_t state;

static uint8_t next_byte(void)
{
    state = state * 1664525u + 1013904223u;
    return (uint8_t)(state >> 24);
}

static uint8_t next_of(const struct batch_input *input)
{
    const uint8_t byte = next_byte();
    if (input->low == input->high) {
        return byte;
    }
    return byte & 0x80u ? input->high : input->low;
}

static uint32_t crc32(const uint8_t *data, uint32_t bytes)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (uint32_t i = 0; i < bytes; ++i) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc >> 1) ^ (0xEDB88320u & (0u - (crc & 1u)));
        }
    }
    return ~crc;
}

static void paint(uint8_t *to)
{
    for (uint32_t i = 0; i < GUARD; ++i) {
        to[i] = PAINT;
    }
}

static int is_painted(const uint8_t *from)
{
    uint32_t same = 0;
    for (uint32_t i = 0; i < GUARD; ++i) {
        same += from[i] == PAINT;
    }
    return same == GUARD;
}

static void complain(uint32_t number, const char *what)
{
    char text[12];
    char *first = text + sizeof text - 1;
    *first = '\0';
    do {
        *--first = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    tvm_semihosting_write(first);
    tvm_semihosting_write(what);
}

/* Returns what is wrong, or an empty text. */
static const char *run(const struct batch_case *test)
{
    uint8_t *const output = test->in_place ? batch_places[0] : batch_places[2];
    uint8_t *const scratch = batch_places[3];
    const uint32_t first_bytes = test->inputs[0].bytes;
    const uint32_t room =
        test->in_place && first_bytes > test->output_bytes ? first_bytes : test->output_bytes;
    const void *inputs[2] = {batch_places[0], batch_places[1]};

    state = ~test->seed;
    for (uint32_t i = 0; i < test->scratch_bytes; ++i) {
        scratch[i] = next_byte();
    }
    for (uint32_t i = 0; i < test->output_bytes; ++i) {
        output[i] = next_byte();
    }
    state = test->seed;
    for (int k = 0; k < 2; ++k) {
        for (uint32_t i = 0; i < test->inputs[k].bytes; ++i) {
            batch_places[k][i] = next_of(&test->inputs[k]);
        }
    }
    paint(output - GUARD);
    paint(output + room);
    paint(scratch - GUARD);
    paint(scratch + test->scratch_bytes);

    test->run(inputs, output, scratch);

    if (!is_painted(output - GUARD) || !is_painted(output + room)) {
        return " writes beside its output\n";
    }
    if (!is_painted(scratch - GUARD) || !is_painted(scratch + test->scratch_bytes)) {
        return " writes beside its scratch\n";
    }
    state = test->seed;
    for (int k = 0; k < 2; ++k) {
        for (uint32_t i = 0; i < test->inputs[k].bytes; ++i) {
            if (batch_places[k][i] != next_of(&test->inputs[k]) && !(test->in_place && k == 0)) {
                return " changes an input\n";
            }
        }
    }
    return crc32(output, test->output_bytes) == test->crc ? "" : " has a wrong output\n";
}

int main(void)
{
    int wrong = 0;
#ifdef __ARM_ARCH_6M__
    /* Such a core cannot access memory unaligned. One with more abilities may stand in for it: CCR. */
    *(volatile uint32_t *)0xE000ED14u |= 1u << 3;
#endif
    for (uint32_t i = 0; i < batch_case_count; ++i) {
        const char *what = run(&batch_cases[i]);
        if (*what != '\0') {
            complain(i, what);
            wrong += wrong < 100;
        }
    }
    return wrong;
}
