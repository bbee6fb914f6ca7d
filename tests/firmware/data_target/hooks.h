/* SPDX-License-Identifier: Apache-2.0
 *
 * hooks.h - a platform for tests: every hook counts its calls.
 */
#ifndef HOOKS_H
#define HOOKS_H

#include <stddef.h>
#include <stdint.h>

struct hooks {
    uint32_t time;
    int logs, aborts, cleans, invalidates, ups, downs, starts;
    const char *log_model;
    int32_t log_status;
    void *buffer;
    size_t bytes;
    int32_t start_status; /* what the next input_start returns */
    int finish_at_once;   /* whether input_start also ends the transfer */
};

extern struct hooks hooks;

#endif
