# SPDX-License-Identifier: Apache-2.0

set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(TVM_TOOLCHAIN arm-none-eabi-)
set(TVM_CORE_FLAGS "-mcpu=cortex-m0plus -mthumb -mfloat-abi=soft")
include("${CMAKE_CURRENT_LIST_DIR}/gnu.cmake")
