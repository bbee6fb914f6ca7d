/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SDK_STDIO_H
#define SDK_STDIO_H

void sdk_print(const char *text);
void sdk_exit(int status) __attribute__((noreturn));

#endif
