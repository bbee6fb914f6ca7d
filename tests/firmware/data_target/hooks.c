/* SPDX-License-Identifier: Apache-2.0 */
#include "hooks.h"

#include "tvm_aot.h"
#include "tvm_platform.h"

struct hooks hooks;

uint32_t tvm_platform_time(void)
{
    return hooks.time += 7;
}

void tvm_platform_log(const char *model, int32_t status)
{
    ++hooks.logs;
    hooks.log_model = model;
    hooks.log_status = status;
}

void tvm_platform_abort(int32_t status)
{
    (void)status;
    ++hooks.aborts;
}

void tvm_platform_cache_clean(const void *address, size_t bytes)
{
    (void)address;
    hooks.bytes = bytes;
    ++hooks.cleans;
}

void tvm_platform_cache_invalidate(void *address, size_t bytes)
{
    hooks.buffer = address;
    hooks.bytes = bytes;
    ++hooks.invalidates;
}

void tvm_platform_power_up(void)
{
    ++hooks.ups;
}

void tvm_platform_power_down(void)
{
    ++hooks.downs;
}

int32_t tvm_platform_input_start(tvm_aot_t *handle, uint32_t index, void *buffer, size_t bytes)
{
    ++hooks.starts;
    hooks.buffer = buffer;
    hooks.bytes = bytes;
    if (hooks.finish_at_once && hooks.start_status == TVM_OK) {
        return tvm_aot_input_done(handle, index, TVM_OK);
    }
    return hooks.start_status;
}
