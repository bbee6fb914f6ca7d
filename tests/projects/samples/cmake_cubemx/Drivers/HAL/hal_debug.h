/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HAL_DEBUG_H
#define HAL_DEBUG_H

void HAL_DebugPrint(const char *text);
void HAL_DebugExit(int status) __attribute__((noreturn));

#endif
