# SPDX-License-Identifier: Apache-2.0
#
# A script for Make, run before each build of what uses FILES, a list with | between: if one of them is gone, TARGET makes them again.

string(REPLACE "|" ";" FILES "${FILES}")
foreach(file IN LISTS FILES)
  if(NOT EXISTS "${file}" AND EXISTS "${STAMP}")
    file(REMOVE "${STAMP}")
    execute_process(
      COMMAND "${CMAKE_COMMAND}" --build "${CMAKE_BINARY_DIR}" --target "${TARGET}"
      COMMAND_ERROR_IS_FATAL ANY
    )
  endif()
endforeach()
