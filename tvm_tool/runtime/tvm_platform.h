/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_platform.h - what the runtime asks of the platform.
 *
 * Every hook has a weak default in tvm_platform.c that does nothing. To provide one, define a function
 * of the same name in a source file of the firmware (not in a library: a linker does not search
 * libraries for what is already defined). A hook runs wherever the runtime was called.
 */
#ifndef TVM_PLATFORM_H
#define TVM_PLATFORM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct tvm_aot;

/* A free-running counter, in ticks of the platform's choice; it may wrap at 2^32. Default: 0. */
uint32_t tvm_platform_time(void);

/* Told when tvm_aot_create refuses `model` and when a run of it fails. tvm_status_text gives a text for
 * `status`. */
void tvm_platform_log(const char *model, int32_t status);

/* A handle holds an impossible state: its memory was overwritten or never created. It need not return;
 * if it does, the call returns `status`. */
void tvm_platform_abort(int32_t status);

/* Write back what the data cache holds of these bytes: called on an output by tvm_aot_get_output_ptr. */
void tvm_platform_cache_clean(const void *address, size_t bytes);

/* Write back and drop what the data cache holds of these bytes: called on an input before its transfer
 * starts, and by tvm_aot_input_done when it has ended. On a core with a data cache, nothing else that is
 * written meanwhile may share a cache line with it; memory that is not cached needs no care at all. */
void tvm_platform_cache_invalidate(void *address, size_t bytes);

/* Around every tvm_aot_run: clocks or supplies of memories and accelerators. */
void tvm_platform_power_up(void);
void tvm_platform_power_down(void);

/* Around every layer, where the model is compiled with TVM_PROFILE_LAYERS. `index` counts from 0. */
void tvm_platform_layer_begin(uint32_t index);
void tvm_platform_layer_end(uint32_t index);

/* Starts to transfer `bytes` into `buffer`, input `index` of `handle`, for example by DMA, and returns
 * TVM_OK. When it has ended, tvm_aot_input_done must be called: from an interrupt, from a thread, or
 * even before this function returns. Any other status means that nothing was started.
 * Default: TVM_ENOSYS. */
int32_t tvm_platform_input_start(struct tvm_aot *handle, uint32_t index, void *buffer, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
