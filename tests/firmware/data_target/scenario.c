/* SPDX-License-Identifier: Apache-2.0
 *
 * scenario.c - what the handle layer promises, step by step. Exit status 0, or 1 after naming the line.
 */
#include <stdio.h>
#include <string.h>

#include "fake.h"
#include "hooks.h"
#include "pair.h"
#include "tvm_aot.h"

static int failures;

#define EXPECT(value, wanted)                                                         \
    do {                                                                              \
        long got_ = (long)(value), wanted_ = (long)(wanted);                          \
        if (got_ != wanted_) {                                                        \
            printf("line %d: %s is %ld, not %ld\n", __LINE__, #value, got_, wanted_); \
            ++failures;                                                               \
        }                                                                             \
    } while (0)

static TVM_ALIGNED uint8_t memory[3][TVMGEN_FAKE_MEMORY_SIZE];

static void creation(void)
{
    tvm_aot_t handle;
    tvm_aot_model_t model = tvmgen_fake_model;

    memset(&hooks, 0, sizeof hooks);
    EXPECT(tvm_aot_create(NULL, &model, memory[0], 96), TVM_EINVAL);
    EXPECT(tvm_aot_create(&handle, NULL, memory[0], 96), TVM_EINVAL);
    EXPECT(tvm_aot_create(&handle, &model, NULL, 96), TVM_EINVAL);
    EXPECT(tvm_aot_create(&handle, &model, memory[0] + 8, 96), TVM_EALIGN);
    EXPECT(tvm_aot_create(&handle, &model, memory[0], 95), TVM_ESIZE);
    EXPECT(tvm_aot_state(&handle), TVM_EINVAL);
    EXPECT(hooks.logs, 2);
    EXPECT(hooks.log_status, TVM_ESIZE);
    EXPECT(strcmp(hooks.log_model, "fake"), 0);
    model.abi = TVM_AOT_ABI + 1;
    EXPECT(tvm_aot_create(&handle, &model, memory[0], 96), TVM_EABI);
    model.abi = TVM_AOT_ABI;
    model.input_count = TVM_AOT_MAX_INPUTS + 1;
    EXPECT(tvm_aot_create(&handle, &model, memory[0], 96), TVM_ESIZE);
    EXPECT(tvm_aot_create(&handle, &tvmgen_fake_model, memory[0], sizeof memory), TVM_OK);
    EXPECT(tvm_aot_state(&handle), TVM_AOT_IDLE);
    EXPECT(hooks.logs, 4);
}

static void states(void)
{
    tvm_aot_t handle;
    float image[8] = {0, 1, 2, 3, 4, 5, 6, 7}, scores[8];
    void *in;
    const void *out;

    memset(&hooks, 0, sizeof hooks);
    EXPECT(tvm_aot_create(&handle, &tvmgen_fake_model, memory[0], 96), TVM_OK);
    EXPECT(tvm_aot_run(&handle), TVM_ESTATE);
    EXPECT(tvm_aot_get_output(&handle, 0, scores, 32), TVM_ESTATE);
    EXPECT(tvm_aot_get_output_ptr(&handle, 0, &out), TVM_ESTATE);
    EXPECT(tvm_aot_set_input(&handle, 1, image, 32), TVM_EINVAL);
    EXPECT(tvm_aot_set_input(&handle, 0, NULL, 32), TVM_EINVAL);
    EXPECT(tvm_aot_set_input(&handle, 0, image, 31), TVM_ESIZE);
    EXPECT(tvm_aot_set_input(&handle, 0, image, (size_t)-1), TVM_ESIZE);
    EXPECT(tvm_aot_set_input(&handle, 0, image, 0), TVM_ESIZE);
    EXPECT(tvm_aot_get_input_ptr(&handle, 0, NULL), TVM_EINVAL);
    EXPECT(tvm_aot_get_input_ptr(&handle, 7, &in), TVM_EINVAL);
    EXPECT(tvm_aot_state(&handle), TVM_AOT_IDLE);
    EXPECT(tvm_aot_set_input(&handle, 0, image, 32), TVM_OK);
    EXPECT(tvm_aot_state(&handle), TVM_AOT_READY);
    EXPECT(hooks.ups, 0);
    EXPECT(tvm_aot_run(&handle), TVM_OK);
    EXPECT(hooks.ups, 1);
    EXPECT(hooks.downs, 1);
    EXPECT(handle.ticks, 7);
    EXPECT(tvm_aot_state(&handle), TVM_AOT_DONE);
    EXPECT(tvm_aot_get_output(&handle, 0, scores, 31), TVM_ESIZE);
    EXPECT(tvm_aot_get_output(&handle, 0, NULL, 32), TVM_EINVAL);
    EXPECT(tvm_aot_get_output(&handle, 1, scores, 32), TVM_EINVAL);
    EXPECT(tvm_aot_get_output_ptr(&handle, 0, NULL), TVM_EINVAL);
    EXPECT(tvm_aot_get_output(&handle, 0, scores, 32), TVM_OK);
    for (int i = 0; i < 8; ++i) {
        EXPECT(scores[i], 2 * i + 1);
    }
    EXPECT(tvm_aot_run(&handle), TVM_OK); /* an input keeps its value */
    EXPECT(tvm_aot_get_input_ptr(&handle, 0, &in), TVM_OK);
    EXPECT((uintptr_t)in % TVM_ALIGN, 0);
    EXPECT(tvm_aot_state(&handle), TVM_AOT_READY);
    EXPECT(tvm_aot_get_output(&handle, 0, scores, 32), TVM_ESTATE);
    ((float *)in)[3] = -8.0f;
    EXPECT(tvm_aot_run(&handle), TVM_OK);
    hooks.cleans = 0;
    EXPECT(tvm_aot_get_output_ptr(&handle, 0, &out), TVM_OK);
    EXPECT(hooks.cleans, 1);
    EXPECT(hooks.bytes, 32);
    EXPECT(((const float *)out)[3], -15);
    EXPECT(tvm_aot_init(&handle), TVM_OK);
    EXPECT(tvm_aot_state(&handle), TVM_AOT_IDLE);
    EXPECT(tvm_aot_run(&handle), TVM_ESTATE);
    EXPECT(hooks.logs, 0);
    EXPECT(tvm_aot_destroy(&handle), TVM_OK);
    EXPECT(tvm_aot_destroy(&handle), TVM_EINVAL);
    EXPECT(tvm_aot_init(&handle), TVM_EINVAL);
    EXPECT(tvm_aot_run(&handle), TVM_EINVAL);
    EXPECT(tvm_aot_run(NULL), TVM_EINVAL);
    EXPECT(tvm_aot_set_input(&handle, 0, image, 32), TVM_EINVAL);
    EXPECT(tvm_aot_request_input(&handle, 0), TVM_EINVAL);
    EXPECT(tvm_aot_input_done(NULL, 0, TVM_OK), TVM_EINVAL);
    EXPECT(tvm_aot_get_output(&handle, 0, scores, 32), TVM_EINVAL);
}

static void interleaved(void)
{
    tvm_aot_t a, b, c;
    const int8_t left[3] = {1, 2, -128}, right[3] = {10, 20, -128};
    int16_t sum[3];
    float image[8] = {1}, scores[8];

    EXPECT(tvm_aot_create(&a, &tvmgen_fake_model, memory[0], 96), TVM_OK);
    EXPECT(tvm_aot_create(&b, &tvmgen_pair_model, memory[1], 64), TVM_OK);
    EXPECT(tvm_aot_create(&c, &tvmgen_fake_model, memory[2], 96), TVM_OK);
    EXPECT(tvm_aot_set_input(&a, 0, image, 32), TVM_OK);
    EXPECT(tvm_aot_set_input(&b, 1, right, 3), TVM_OK);
    EXPECT(tvm_aot_state(&b), TVM_AOT_IDLE);
    image[0] = 100;
    EXPECT(tvm_aot_set_input(&c, 0, image, 32), TVM_OK);
    EXPECT(tvm_aot_run(&c), TVM_OK);
    EXPECT(tvm_aot_set_input(&b, 0, left, 3), TVM_OK);
    EXPECT(tvm_aot_run(&a), TVM_OK);
    EXPECT(tvm_aot_run(&b), TVM_OK);
    EXPECT(tvm_aot_get_output(&c, 0, scores, 32), TVM_OK);
    EXPECT(scores[0], 201);
    EXPECT(tvm_aot_get_output(&a, 0, scores, 32), TVM_OK);
    EXPECT(scores[0], 3);
    EXPECT(tvm_aot_get_output(&b, 0, sum, 6), TVM_OK);
    EXPECT(sum[1], 22);
    EXPECT(sum[2], -256);
    /* `left` lies in the workspace, so the run used it up. */
    EXPECT(tvm_aot_run(&b), TVM_ESTATE);
    EXPECT(tvm_aot_get_output(&b, 0, sum, 6), TVM_OK);
    EXPECT(tvm_aot_set_input(&b, 0, left, 3), TVM_OK);
    EXPECT(tvm_aot_run(&b), TVM_OK);
    EXPECT(tvm_aot_get_output(&b, 0, sum, 6), TVM_OK);
    EXPECT(sum[1], 22);
}

static void failing_model(void)
{
    tvm_aot_t handle;
    const int8_t left[3] = {PAIR_FAILS, 2, 3}, right[3] = {0};
    int16_t sum[3];

    memset(&hooks, 0, sizeof hooks);
    EXPECT(tvm_aot_create(&handle, &tvmgen_pair_model, memory[0], 64), TVM_OK);
    EXPECT(tvm_aot_set_input(&handle, 0, left, 3), TVM_OK);
    EXPECT(tvm_aot_set_input(&handle, 1, right, 3), TVM_OK);
    EXPECT(tvm_aot_run(&handle), TVM_EINVAL);
    EXPECT(hooks.downs, 1);
    EXPECT(hooks.logs, 1);
    EXPECT(tvm_aot_state(&handle), TVM_AOT_IDLE);
    EXPECT(tvm_aot_get_output(&handle, 0, sum, 6), TVM_ESTATE);
}

static void asynchronous_input(void)
{
    tvm_aot_t handle;
    const int8_t left[3] = {1, 2, 3};
    int16_t sum[3];
    void *in;

    memset(&hooks, 0, sizeof hooks);
    EXPECT(tvm_aot_create(&handle, &tvmgen_pair_model, memory[0], 64), TVM_OK);
    EXPECT(tvm_aot_request_input(&handle, 2), TVM_EINVAL);
    EXPECT(tvm_aot_input_done(&handle, 0, TVM_OK), TVM_ESTATE);
    EXPECT(tvm_aot_input_done(&handle, 2, TVM_OK), TVM_ESTATE);
    EXPECT(tvm_aot_input_done(&handle, TVM_AOT_MAX_INPUTS, TVM_OK), TVM_ESTATE);
    EXPECT(tvm_aot_request_input(&handle, 1), TVM_OK);
    EXPECT(hooks.starts, 1);
    EXPECT(hooks.bytes, 3);
    EXPECT(hooks.invalidates, 1);
    EXPECT(tvm_aot_state(&handle), TVM_AOT_IDLE);
    EXPECT(tvm_aot_request_input(&handle, 1), TVM_EBUSY);
    EXPECT(tvm_aot_set_input(&handle, 1, left, 3), TVM_EBUSY);
    EXPECT(tvm_aot_get_input_ptr(&handle, 1, &in), TVM_EBUSY);
    EXPECT(tvm_aot_run(&handle), TVM_EBUSY); /* also while input 0 is missing */
    EXPECT(tvm_aot_set_input(&handle, 0, left, 3), TVM_OK);
    EXPECT(tvm_aot_run(&handle), TVM_EBUSY);
    EXPECT(tvm_aot_init(&handle), TVM_EBUSY);
    EXPECT(tvm_aot_destroy(&handle), TVM_EBUSY);
    memcpy(hooks.buffer, left, 3);
    EXPECT(tvm_aot_input_done(&handle, 1, TVM_OK), TVM_OK);
    EXPECT(hooks.invalidates, 2);
    EXPECT(tvm_aot_input_done(&handle, 1, TVM_OK), TVM_ESTATE);
    EXPECT(tvm_aot_state(&handle), TVM_AOT_READY);
    EXPECT(tvm_aot_run(&handle), TVM_OK);
    EXPECT(tvm_aot_get_output(&handle, 0, sum, 6), TVM_OK);
    EXPECT(sum[2], 6);

    /* A failed transfer: no run until the input is given again. */
    EXPECT(tvm_aot_request_input(&handle, 0), TVM_OK);
    EXPECT(tvm_aot_get_output(&handle, 0, sum, 6), TVM_ESTATE);
    EXPECT(tvm_aot_input_done(&handle, 0, TVM_EIO), TVM_OK);
    EXPECT(tvm_aot_run(&handle), TVM_EIO);
    EXPECT(tvm_aot_set_input(&handle, 0, left, 3), TVM_OK);
    EXPECT(tvm_aot_run(&handle), TVM_OK);

    /* A transfer that does not start, and one that ends at once. */
    hooks.start_status = TVM_EIO;
    EXPECT(tvm_aot_request_input(&handle, 0), TVM_EIO);
    EXPECT(tvm_aot_run(&handle), TVM_ESTATE);
    hooks.start_status = TVM_OK;
    hooks.finish_at_once = 1;
    EXPECT(tvm_aot_request_input(&handle, 0), TVM_OK);
    EXPECT(tvm_aot_run(&handle), TVM_OK);
    EXPECT(tvm_aot_destroy(&handle), TVM_OK);
}

/* A model that is used from inside its own run, as an interrupt might. */
static tvm_aot_t *running;

static int32_t nested_run(uint8_t *instance)
{
    float scores[8];

    (void)instance;
    EXPECT(tvm_aot_state(running), TVM_AOT_RUNNING);
    EXPECT(tvm_aot_run(running), TVM_EBUSY);
    EXPECT(tvm_aot_set_input(running, 0, scores, 32), TVM_EBUSY);
    EXPECT(tvm_aot_get_output(running, 0, scores, 32), TVM_EBUSY);
    EXPECT(tvm_aot_init(running), TVM_EBUSY);
    EXPECT(tvm_aot_destroy(running), TVM_EBUSY);
    return TVM_OK;
}

static void misuse(void)
{
    tvm_aot_t handle;
    tvm_aot_model_t nested = tvmgen_fake_model;
    const float image[8] = {0};

    memset(&hooks, 0, sizeof hooks);
    nested.run = nested_run;
    running = &handle;
    EXPECT(tvm_aot_create(&handle, &nested, memory[0], 96), TVM_OK);
    EXPECT(tvm_aot_set_input(&handle, 0, image, 32), TVM_OK);
    EXPECT(tvm_aot_run(&handle), TVM_OK);
    EXPECT(hooks.aborts, 0);
    handle.state = 77; /* overwritten by a stray pointer */
    EXPECT(tvm_aot_run(&handle), TVM_ESTATE);
    EXPECT(hooks.aborts, 1);
}

static void texts(void)
{
    for (int32_t status = TVM_OK; status >= TVM_ENOSYS; --status) {
        for (int32_t other = TVM_OK; other > status; --other) {
            EXPECT(strcmp(tvm_status_text(status), tvm_status_text(other)) != 0, 1);
        }
        EXPECT(strlen(tvm_status_text(status)) > 1, 1);
    }
    EXPECT(strcmp(tvm_status_text(TVM_OK), "ok"), 0);
    EXPECT(strcmp(tvm_status_text(TVM_EBUSY), "busy"), 0);
    EXPECT(strcmp(tvm_status_text(TVM_ENOSYS), "no hook"), 0);
    EXPECT(strcmp(tvm_status_text(TVM_ENOSYS - 1), "unknown"), 0);
    EXPECT(strcmp(tvm_status_text(1), "unknown"), 0);
    EXPECT(strcmp(tvm_status_text(INT32_MAX), "unknown"), 0);
    EXPECT(strcmp(tvm_status_text(INT32_MIN), "unknown"), 0);
}

int main(void)
{
    creation();
    states();
    interleaved();
    failing_model();
    asynchronous_input();
    misuse();
    texts();
    return failures != 0;
}
