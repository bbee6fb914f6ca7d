# SPDX-License-Identifier: Apache-2.0
#
# A script for Make, run before each build of what uses a model: if one of the files MODEL.c, MODEL.h, ... is
# gone, the model is compiled again.

foreach(suffix .c _weights.c .h .json)
  if(NOT EXISTS "${MODEL}${suffix}" AND EXISTS "${STAMP}")
    file(REMOVE "${STAMP}")
    execute_process(
      COMMAND "${CMAKE_COMMAND}" --build "${CMAKE_BINARY_DIR}" --target "${TARGET}"
      COMMAND_ERROR_IS_FATAL ANY
    )
  endif()
endforeach()
