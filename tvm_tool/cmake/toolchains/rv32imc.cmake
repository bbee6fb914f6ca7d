# SPDX-License-Identifier: Apache-2.0

set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR riscv)
set(TVM_TOOLCHAIN riscv64-unknown-elf-)
set(TVM_CORE_FLAGS "-march=rv32imc -mabi=ilp32")
include("${CMAKE_CURRENT_LIST_DIR}/gnu.cmake")
