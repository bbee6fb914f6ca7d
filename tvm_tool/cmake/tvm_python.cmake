# SPDX-License-Identifier: Apache-2.0
#
# The interpreter that has tvm-tool, and how its commands are run at configure time.

# An installed package lies in PREFIX/lib/pythonX.Y/site-packages; a checkout has its .venv beside it.
if(NOT TVM_PYTHON)
  set(_tvm_beside "${_tvm_package}/../.venv/bin" "${_tvm_package}/../.venv/Scripts")
  if(_tvm_package MATCHES "/(site|dist)-packages/[^/]+$")
    set(_tvm_beside "${_tvm_package}/../../../../bin" "${_tvm_package}/../../../Scripts")
  endif()
  find_program(
    TVM_PYTHON
    NAMES python3 python
    PATHS ${_tvm_beside}
    NO_DEFAULT_PATH
    NO_CMAKE_FIND_ROOT_PATH
    DOC "The Python interpreter that has tvm-tool"
  )
endif()
if(NOT TVM_PYTHON)
  find_package(Python3 3.10 COMPONENTS Interpreter QUIET)
  if(Python3_Interpreter_FOUND)
    set(TVM_PYTHON "${Python3_EXECUTABLE}" CACHE FILEPATH "The Python interpreter that has tvm-tool" FORCE)
  endif()
endif()
if(NOT TVM_PYTHON)
  message(FATAL_ERROR "tvm_tool: no Python interpreter of version 3.10 or newer was found\n"
    "  remedy: -DTVM_PYTHON=PATH, the interpreter in which tvm-tool is installed")
endif()

# In the cache, because functions are called from any folder.
set(_TVM_COMMAND "${TVM_PYTHON}" "${_tvm_package}/__main__.py" CACHE INTERNAL "")

# Run a command of tvm-tool. What it prints goes into the variable `output`; its errors end the configuration.
function(_tvm_run output)
  execute_process(
    COMMAND ${_TVM_COMMAND} ${ARGN}
    RESULT_VARIABLE status
    OUTPUT_VARIABLE text
    ERROR_VARIABLE error
    OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_STRIP_TRAILING_WHITESPACE
  )
  if(NOT status EQUAL 0)
    if(error STREQUAL "")
      set(error "${TVM_PYTHON}: ${status} ${text}\n"
        "  remedy: -DTVM_PYTHON=PATH, the interpreter in which tvm-tool is installed")
      string(CONCAT error ${error})
    endif()
    if(error MATCHES "ModuleNotFoundError: ([^\n]*)")
      string(CONCAT error "${TVM_PYTHON}: ${CMAKE_MATCH_1}\n"
        "  remedy: ${TVM_PYTHON} -m pip install tvm-tool, or -DTVM_PYTHON=PATH of the interpreter that has it")
    endif()
    message(FATAL_ERROR "tvm_tool: ${error}")
  endif()
  set(${output} "${text}" PARENT_SCOPE)
endfunction()

_tvm_run(_tvm_found cmake check)
