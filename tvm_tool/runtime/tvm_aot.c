/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_aot.c - handles: see tvm_aot.h.
 */
#include "tvm_aot.h"

#include "tvm_platform.h"

/* Where an input stands is kept as the status that a run would return because of it. Of several inputs
 * the lowest status decides, so the order of these codes matters. */
enum { GIVEN = TVM_OK, MISSING = TVM_ESTATE, FAILED = TVM_EIO, PENDING = TVM_EBUSY };

/* The thread writes these bytes, except while one is PENDING: then only tvm_aot_input_done does. So a
 * byte has one writer at any time and needs no lock; the fences keep its data on the right side of it. */
static int8_t input_state(const tvm_aot_t *handle, uint32_t index)
{
    int8_t state = __atomic_load_n(&handle->input[index], __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_ACQUIRE);
    return state;
}

static void set_input_state(tvm_aot_t *handle, uint32_t index, int8_t state)
{
    __atomic_signal_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&handle->input[index], state, __ATOMIC_RELAXED);
}

/* TVM_OK if every input is there. */
static int32_t check_inputs(const tvm_aot_t *handle)
{
    int32_t status = TVM_OK;
    for (uint32_t index = 0; index < handle->model->input_count; ++index) {
        int32_t state = input_state(handle, index);
        if (state < status) {
            status = state;
        }
    }
    return status;
}

static void *place(const tvm_aot_t *handle, const tvm_aot_tensor_t *tensor)
{
    return handle->memory + tensor->offset;
}

/* Whether the handle may be used now. */
static int32_t check(const tvm_aot_t *handle)
{
    if (handle == NULL || handle->model == NULL) {
        return TVM_EINVAL;
    }
    if (handle->state > TVM_AOT_DONE) {
        tvm_platform_abort(TVM_ESTATE);
        return TVM_ESTATE;
    }
    return handle->state == TVM_AOT_RUNNING ? TVM_EBUSY : TVM_OK;
}

/* Whether input `index` may be given now, from or through `data`. */
static int32_t check_input(const tvm_aot_t *handle, uint32_t index, const void *data)
{
    int32_t status = check(handle);
    if (status == TVM_OK) {
        if (index >= handle->model->input_count || data == NULL) {
            status = TVM_EINVAL;
        } else if (input_state(handle, index) == PENDING) {
            status = TVM_EBUSY;
        }
    }
    return status;
}

/* Whether output `index` may be read now, to or through `data`. */
static int32_t check_output(const tvm_aot_t *handle, uint32_t index, const void *data)
{
    int32_t status = check(handle);
    if (status == TVM_OK) {
        if (index >= handle->model->output_count || data == NULL) {
            status = TVM_EINVAL;
        } else if (handle->state != TVM_AOT_DONE) {
            status = TVM_ESTATE;
        }
    }
    return status;
}

/* Changes what is known of input `index`. The outputs no longer belong to the inputs. */
static void give(tvm_aot_t *handle, uint32_t index, int8_t state)
{
    handle->state = TVM_AOT_IDLE;
    set_input_state(handle, index, state);
}

/* Kept out of line: it is used twice. Through volatile, so that no compiler makes it a call of memcpy:
 * the firmware may have none. */
__attribute__((noinline)) static int32_t copy(void *to, const void *from, size_t bytes, size_t expected)
{
    volatile uint8_t *target = (volatile uint8_t *)to;
    const uint8_t *source = (const uint8_t *)from;
    if (bytes != expected) {
        return TVM_ESIZE;
    }
    while (bytes-- > 0) {
        *target++ = *source++;
    }
    return TVM_OK;
}

int32_t tvm_aot_create(tvm_aot_t *handle, const tvm_aot_model_t *model, void *memory, size_t bytes)
{
    int32_t status = TVM_OK;
    if (handle == NULL || model == NULL || memory == NULL) {
        return TVM_EINVAL;
    }
    handle->model = NULL;
    handle->memory = (uint8_t *)memory;
    handle->ticks = 0;
    handle->state = TVM_AOT_IDLE;
    for (uint32_t index = 0; index < TVM_AOT_MAX_INPUTS; ++index) {
        set_input_state(handle, index, MISSING);
    }
    if (model->abi != TVM_AOT_ABI) {
        status = TVM_EABI;
    } else if ((uintptr_t)memory % TVM_ALIGN != 0) {
        status = TVM_EALIGN;
    } else if (bytes < model->memory_bytes || model->input_count > TVM_AOT_MAX_INPUTS) {
        status = TVM_ESIZE;
    }
    if (status != TVM_OK) {
        tvm_platform_log(model->name, status);
        return status;
    }
    handle->model = model;
    if (model->reset != NULL) {
        status = model->reset(handle->memory);
    }
    return status;
}

int32_t tvm_aot_init(tvm_aot_t *handle)
{
    int32_t status = check(handle);
    if (status == TVM_OK) {
        status = TVM_EBUSY;
        if (check_inputs(handle) != TVM_EBUSY) {
            status = tvm_aot_create(handle, handle->model, handle->memory, handle->model->memory_bytes);
        }
    }
    return status;
}

int32_t tvm_aot_set_input(tvm_aot_t *handle, uint32_t index, const void *data, size_t bytes)
{
    int32_t status = check_input(handle, index, data);
    if (status == TVM_OK) {
        const tvm_aot_tensor_t *input = &handle->model->inputs[index];
        status = copy(place(handle, input), data, bytes, input->bytes);
        if (status == TVM_OK) {
            give(handle, index, GIVEN);
        }
    }
    return status;
}

int32_t tvm_aot_get_input_ptr(tvm_aot_t *handle, uint32_t index, void **data)
{
    int32_t status = check_input(handle, index, data);
    if (status == TVM_OK) {
        *data = place(handle, &handle->model->inputs[index]);
        give(handle, index, GIVEN);
    }
    return status;
}

int32_t tvm_aot_request_input(tvm_aot_t *handle, uint32_t index)
{
    void *buffer;
    int32_t status = tvm_aot_get_input_ptr(handle, index, &buffer);
    if (status == TVM_OK) {
        size_t bytes = handle->model->inputs[index].bytes;
        tvm_platform_cache_invalidate(buffer, bytes);
        /* Before the start: the transfer may end before the hook returns. */
        set_input_state(handle, index, PENDING);
        status = tvm_platform_input_start(handle, index, buffer, bytes);
        if (status != TVM_OK) {
            set_input_state(handle, index, MISSING);
        }
    }
    return status;
}

int32_t tvm_aot_input_done(tvm_aot_t *handle, uint32_t index, int32_t status)
{
    int32_t result = check(handle);
    if (result == TVM_OK && (index >= TVM_AOT_MAX_INPUTS || input_state(handle, index) != PENDING)) {
        result = TVM_ESTATE;
    }
    if (result == TVM_OK) {
        const tvm_aot_tensor_t *input = &handle->model->inputs[index];
        tvm_platform_cache_invalidate(place(handle, input), input->bytes);
        set_input_state(handle, index, status == TVM_OK ? GIVEN : FAILED);
    }
    return result;
}

int32_t tvm_aot_run(tvm_aot_t *handle)
{
    int32_t status = check(handle);
    if (status == TVM_OK) {
        status = check_inputs(handle);
    }
    if (status == TVM_OK) {
        const tvm_aot_model_t *model = handle->model;
        uint32_t start;

        handle->state = TVM_AOT_RUNNING;
        /* The run overwrites the workspace, and the inputs that lie in it. */
        for (uint32_t index = 0; index < model->input_count; ++index) {
            if (model->inputs[index].offset < model->workspace_bytes) {
                set_input_state(handle, index, MISSING);
            }
        }
        tvm_platform_power_up();
        start = tvm_platform_time();
        status = model->run(handle->memory);
        handle->ticks = tvm_platform_time() - start;
        tvm_platform_power_down();
        handle->state = TVM_AOT_DONE;
        if (status != TVM_OK) {
            handle->state = TVM_AOT_IDLE;
            tvm_platform_log(model->name, status);
        }
    }
    return status;
}

int32_t tvm_aot_get_output(const tvm_aot_t *handle, uint32_t index, void *data, size_t bytes)
{
    const void *source;
    int32_t status = tvm_aot_get_output_ptr(handle, index, &source);
    if (status == TVM_OK) {
        if (data == NULL) {
            return TVM_EINVAL;
        }
        status = copy(data, source, bytes, handle->model->outputs[index].bytes);
    }
    return status;
}

int32_t tvm_aot_get_output_ptr(const tvm_aot_t *handle, uint32_t index, const void **data)
{
    int32_t status = check_output(handle, index, data);
    if (status == TVM_OK) {
        const tvm_aot_tensor_t *output = &handle->model->outputs[index];
        *data = place(handle, output);
        tvm_platform_cache_clean(*data, output->bytes);
    }
    return status;
}

int32_t tvm_aot_state(const tvm_aot_t *handle)
{
    int32_t status = check(handle);
    if (status == TVM_OK) {
        status = handle->state;
        if (status == TVM_AOT_IDLE && check_inputs(handle) == TVM_OK) {
            status = TVM_AOT_READY;
        }
    }
    return status == TVM_EBUSY ? TVM_AOT_RUNNING : status;
}

int32_t tvm_aot_destroy(tvm_aot_t *handle)
{
    int32_t status = tvm_aot_init(handle);
    if (status == TVM_OK) {
        handle->model = NULL;
    }
    return status;
}

/* The texts of 0, -1, -2, ... in this order, each ended by a zero; an empty one ends the list.
 * Text and code have sections of their own, so that a firmware that shows no text holds none. */
static const char status_texts[] __attribute__((section(".rodata.tvm_status_text"))) =
    "ok\0"
    "bad value\0"
    "misaligned\0"
    "bad size\0"
    "bad version\0"
    "bad state\0"
    "input failed\0"
    "busy\0"
    "no hook\0"
    "\0unknown";

__attribute__((section(".text.tvm_status_text"))) const char *tvm_status_text(int32_t status)
{
    const char *text = status_texts;
    for (uint32_t left = 0u - (uint32_t)status; left > 0 && *text != '\0'; --left) {
        while (*text++ != '\0') {
        }
    }
    return *text == '\0' ? text + 1 : text;
}
