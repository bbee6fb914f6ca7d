# SPDX-License-Identifier: Apache-2.0
#
# What the GNU toolchains for bare cores have in common. The
# file of a core sets TVM_TOOLCHAIN, the prefix of the programs, and TVM_CORE_FLAGS.

set(CMAKE_C_COMPILER "${TVM_TOOLCHAIN}gcc")
set(CMAKE_CXX_COMPILER "${TVM_TOOLCHAIN}g++")
set(CMAKE_ASM_COMPILER "${TVM_TOOLCHAIN}gcc")
# gcc's own ar knows objects of link-time optimisation.
set(CMAKE_AR "${TVM_TOOLCHAIN}gcc-ar" CACHE FILEPATH "")
set(CMAKE_RANLIB "${TVM_TOOLCHAIN}gcc-ranlib" CACHE FILEPATH "")

# A test program cannot be linked before there is a linker script.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
foreach(language C CXX ASM)
  set(CMAKE_${language}_FLAGS_INIT "${TVM_CORE_FLAGS}")
endforeach()

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
