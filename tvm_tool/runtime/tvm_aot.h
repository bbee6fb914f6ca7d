/* SPDX-License-Identifier: Apache-2.0
 *
 * tvm_aot.h - several models, and several instances of one model, behind one small interface.
 *
 * A handle (tvm_aot_t) ties a model to the memory of one instance and holds all of its state, so any
 * number of handles may be used in turn. Nothing is allocated and nothing is global.
 *
 *     create -> IDLE -> every input given -> READY -> run -> RUNNING -> DONE -> an input given -> ...
 *
 * Ownership: the caller owns the handle, the memory and all data; they must outlive the handle's use.
 * Units: every size is in bytes. Alignment: instance memory at TVM_ALIGN, caller's data anywhere.
 * Errors: every function returns TVM_OK (0) or a negative TVM_E... code. A refused call changes nothing.
 * Threads: one handle belongs to one thread. Only tvm_aot_input_done may be called from an interrupt.
 */
#ifndef TVM_AOT_H
#define TVM_AOT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the structures below. A generated model carries the version that it was made for. */
#define TVM_AOT_ABI 2u

/* Alignment in bytes of a workspace, of instance memory and of every tensor in it. */
#define TVM_ALIGN 16u
#define TVM_ALIGNED __attribute__((aligned(TVM_ALIGN)))

/* The most inputs that a model behind a handle may have: one byte each in every handle. */
#ifndef TVM_AOT_MAX_INPUTS
#define TVM_AOT_MAX_INPUTS 16
#endif

/* Status codes. */
#define TVM_OK 0        /* done */
#define TVM_EINVAL (-1) /* an argument is null or out of range, or the handle is not created */
#define TVM_EALIGN (-2) /* memory is not aligned to TVM_ALIGN */
#define TVM_ESIZE (-3)  /* a size is not the one that is needed */
#define TVM_EABI (-4)   /* the model was generated for another version of tvm_aot.h */
#define TVM_ESTATE (-5) /* not in this state: an input, a result or a reset is missing */
#define TVM_EIO (-6)    /* the transfer of an input failed */
#define TVM_EBUSY (-7)  /* the model runs, or an input is on its way; try again later */
#define TVM_ENOSYS (-8) /* the platform does not provide this hook */

/* One short text for a status code; never null. */
const char *tvm_status_text(int32_t status);

/* Types of tensor elements. */
enum {
    TVM_FLOAT32,
    TVM_FLOAT64,
    TVM_FLOAT16,
    TVM_INT8,
    TVM_INT16,
    TVM_INT32,
    TVM_INT64,
    TVM_UINT8,
    TVM_UINT16,
    TVM_UINT32,
    TVM_UINT64,
    TVM_BOOL,
    TVM_BFLOAT16
};

/* One input or output of a model. Generated, constant. */
typedef struct tvm_aot_tensor {
    const char *name;     /* as in the original model */
    uint8_t dtype;        /* TVM_FLOAT32, ... */
    uint8_t rank;         /* number of dimensions */
    const int32_t *shape; /* `rank` dimensions, the outermost first */
    uint32_t bytes;       /* size of the data */
    uint32_t offset;      /* place in the memory of an instance, a multiple of TVM_ALIGN */
    float scale;          /* real = scale * (q - zero_point); 0 where the tensor is not quantised */
    int32_t zero_point;
} tvm_aot_tensor_t;

/* A model: tvmgen_<name>_model. Generated, constant. */
typedef struct tvm_aot_model {
    const char *name;
    uint16_t abi; /* TVM_AOT_ABI */
    uint8_t input_count;
    uint8_t output_count;
    uint32_t workspace_bytes; /* the head of instance memory, which belongs to the runs */
    uint32_t memory_bytes;    /* all of it: the workspace, then the inputs and outputs */
    const tvm_aot_tensor_t *inputs;
    const tvm_aot_tensor_t *outputs;
    int32_t (*run)(uint8_t *memory);
    int32_t (*reset)(uint8_t *memory); /* sets the states of the model; null if it has none */
} tvm_aot_model_t;

/* States of a handle. */
enum {
    TVM_AOT_IDLE,    /* an input is missing or on its way */
    TVM_AOT_READY,   /* every input is there */
    TVM_AOT_RUNNING, /* inside tvm_aot_run */
    TVM_AOT_DONE     /* the outputs can be read */
};

/* A handle. `ticks` may be read; the other members belong to the functions below. */
typedef struct tvm_aot {
    int8_t input[TVM_AOT_MAX_INPUTS]; /* of each input: what a run would return because of it */
    const tvm_aot_model_t *model;     /* null: not created */
    uint8_t *memory;
    uint32_t ticks; /* length of the last run, in ticks of tvm_platform_time() */
    uint8_t state;
} tvm_aot_t;

/* Ties `handle` to `model` and to `bytes` of `memory`, which must be aligned to TVM_ALIGN and hold at
 * least model->memory_bytes, and sets what the model keeps between two runs to its initial value. The memory is the handle's until tvm_aot_destroy. State: IDLE. After an error
 * the handle is not created.
 * TVM_EINVAL, TVM_EABI, TVM_EALIGN, TVM_ESIZE (memory too small, or more than TVM_AOT_MAX_INPUTS inputs). */
int32_t tvm_aot_create(tvm_aot_t *handle, const tvm_aot_model_t *model, void *memory, size_t bytes);

/* Starts afresh: forgets all inputs and outputs, and what the model kept from earlier runs. State: IDLE.
 * TVM_EINVAL, TVM_EBUSY (running, or an input is on its way). */
int32_t tvm_aot_init(tvm_aot_t *handle);

/* Copies `bytes` of `data` into input `index`; `bytes` must be the size of the input.
 * An input keeps its value for later runs, unless it lies in the workspace (workspace_io), which a run
 * overwrites. Ends DONE.  TVM_EINVAL, TVM_ESIZE, TVM_EBUSY. */
int32_t tvm_aot_set_input(tvm_aot_t *handle, uint32_t index, const void *data, size_t bytes);

/* Stores in `*data` where input `index` lies, aligned to TVM_ALIGN, and counts it as given: the caller
 * writes all of it before the next run. The place stays the same until destroy. Ends DONE.
 * TVM_EINVAL, TVM_EBUSY. */
int32_t tvm_aot_get_input_ptr(tvm_aot_t *handle, uint32_t index, void **data);

/* Starts to fill input `index` through tvm_platform_input_start and returns at once. Until
 * tvm_aot_input_done is called for it, tvm_aot_run returns TVM_EBUSY. Ends DONE.
 * TVM_EINVAL, TVM_EBUSY, TVM_ENOSYS (no such hook), or what the hook returned. */
int32_t tvm_aot_request_input(tvm_aot_t *handle, uint32_t index);

/* Tells that the transfer of input `index` has ended: well (TVM_OK) or not (any other status; then
 * tvm_aot_run returns TVM_EIO until the input is given again). May be called from an interrupt.
 * TVM_EINVAL, TVM_ESTATE (no transfer was requested). */
int32_t tvm_aot_input_done(tvm_aot_t *handle, uint32_t index, int32_t status);

/* Runs the model once. State: DONE, or IDLE/READY if the model failed.
 * TVM_EINVAL, TVM_EBUSY (already running, or an input is on its way), TVM_EIO (a transfer failed),
 * TVM_ESTATE (an input is missing), or the status of the model. */
int32_t tvm_aot_run(tvm_aot_t *handle);

/* Copies output `index` to `data`; `bytes` must be the size of the output.
 * TVM_EINVAL, TVM_ESIZE, TVM_EBUSY, TVM_ESTATE (not DONE). */
int32_t tvm_aot_get_output(const tvm_aot_t *handle, uint32_t index, void *data, size_t bytes);

/* Stores in `*data` where output `index` lies, aligned to TVM_ALIGN, and writes it back from the data
 * cache, so that a DMA may fetch it. What is there is valid until the next run (with workspace_io: until
 * an input is given).
 * TVM_EINVAL, TVM_EBUSY, TVM_ESTATE (not DONE). */
int32_t tvm_aot_get_output_ptr(const tvm_aot_t *handle, uint32_t index, const void **data);

/* The state of the handle, or TVM_EINVAL. */
int32_t tvm_aot_state(const tvm_aot_t *handle);

/* Ends the use of the handle; its memory is the caller's again.
 * TVM_EINVAL, TVM_EBUSY (running, or an input is on its way). */
int32_t tvm_aot_destroy(tvm_aot_t *handle);

#ifdef __cplusplus
}
#endif

#endif
