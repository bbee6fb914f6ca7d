# SPDX-License-Identifier: Apache-2.0
#
# Puts neural networks into a firmware that CMake builds:
#
#     find_package(tvm_tool REQUIRED)     # -Dtvm_tool_DIR=$(python -m tvm_tool --cmakedir)
#     tvm_add_model(kws MODEL kws.onnx BOARD stm32f412)
#     target_link_libraries(firmware PRIVATE kws)
#
#   tvm_add_model(NAME MODEL file [BOARD board] [OPTION value]...)
#   tvm_target_board(target BOARD board [SEMIHOSTING] [NO_STARTUP])
#   tvm_check(target [BOARD board] [MODELS name...])
#   tvm_add_verify(NAME target [BOARD board] [MODELS name...] [INPUTS file] [SAMPLES count])
#
# docs/cmake.md describes them. Variables: TVM_BOARD is the board where none is named; TVM_PYTHON the
# Python interpreter that has tvm-tool.

cmake_policy(PUSH)
cmake_policy(VERSION 3.20...3.31)

set(_tvm_package "${CMAKE_CURRENT_LIST_DIR}/..")
get_filename_component(_tvm_package "${_tvm_package}" ABSOLUTE)

include("${CMAKE_CURRENT_LIST_DIR}/tvm_python.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/tvm_model.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/tvm_board.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/tvm_image.cmake")

cmake_policy(POP)
