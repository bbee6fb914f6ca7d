/* SPDX-License-Identifier: Apache-2.0 */
/* Output and end of a firmware under a debugger or an emulator. Without one of them, the first call stops
 * the processor: not for firmware that is shipped.
 *
 * With tvm_semihosting.c in a firmware the status that main returns becomes the emulator's exit status, and
 * a HardFault, on RISC-V a trap, prints a line and exits with TVM_SEMIHOSTING_FAULT. */
#ifndef TVM_SEMIHOSTING_H
#define TVM_SEMIHOSTING_H

#ifdef __cplusplus
extern "C" {
#endif

#define TVM_SEMIHOSTING_FAULT 125

/* Writes a text that ends with a zero byte; it is only read. */
void tvm_semihosting_write(const char *text);

/* Ends the emulator with this exit status, 0 to 255. Does not return under QEMU. */
void tvm_semihosting_exit(int status);

#ifdef __cplusplus
}
#endif

#endif
