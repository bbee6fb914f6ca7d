/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_platform.c - the defaults of all hooks: they do nothing.
 */
#include "tvm_platform.h"

#include "tvm_aot.h"

#define TVM_WEAK __attribute__((weak))

TVM_WEAK uint32_t tvm_platform_time(void)
{
    return 0;
}

TVM_WEAK void tvm_platform_log(const char *model, int32_t status)
{
    (void)model;
    (void)status;
}

TVM_WEAK void tvm_platform_abort(int32_t status)
{
    (void)status;
}

TVM_WEAK void tvm_platform_cache_clean(const void *address, size_t bytes)
{
    (void)address;
    (void)bytes;
}

TVM_WEAK void tvm_platform_cache_invalidate(void *address, size_t bytes)
{
    (void)address;
    (void)bytes;
}

TVM_WEAK void tvm_platform_power_up(void)
{
}

TVM_WEAK void tvm_platform_power_down(void)
{
}

TVM_WEAK void tvm_platform_layer_begin(uint32_t index)
{
    (void)index;
}

TVM_WEAK void tvm_platform_layer_end(uint32_t index)
{
    (void)index;
}

TVM_WEAK int32_t tvm_platform_input_start(struct tvm_aot *handle, uint32_t index, void *buffer, size_t bytes)
{
    (void)handle;
    (void)index;
    (void)buffer;
    (void)bytes;
    return TVM_ENOSYS;
}
