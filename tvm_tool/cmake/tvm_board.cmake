# SPDX-License-Identifier: Apache-2.0
#
# tvm_target_board: a firmware gets all that a board needs.

# tvm_target_board(target [BOARD board] [SEMIHOSTING] [NO_STARTUP])
#
# For firmware without flags and a linker script of its own: the flags of the board's core, sections that the
# linker can drop, link-time optimisation, vectors and reset, a linker script with the board's memories.
function(tvm_target_board target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SEMIHOSTING;NO_STARTUP" "BOARD" "")
  _tvm_check_arguments("tvm_target_board(${target})" "BOARD,SEMIHOSTING,NO_STARTUP")
  _tvm_check_target("tvm_target_board" "${target}")
  _tvm_board_name(board "tvm_target_board(${target})" "${arg_BOARD}" "${target}")
  set(folder "${CMAKE_BINARY_DIR}/tvm")
  _tvm_run(text cmake board "${board}" --source "${CMAKE_CURRENT_SOURCE_DIR}" --output "${folder}")
  cmake_language(EVAL CODE "${text}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_tvm_configure_depends})

  target_compile_options(${target} PRIVATE ${_tvm_flags} -ffunction-sections -fdata-sections -flto)
  target_link_options(${target} PRIVATE ${_tvm_flags} -flto -nostartfiles -Wl,--gc-sections
    "-Wl,-Map=$<TARGET_FILE_DIR:${target}>/$<TARGET_FILE_BASE_NAME:${target}>.map" -T "${_tvm_script}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${_tvm_script}")
  target_link_libraries(${target} PRIVATE m)
  if(NOT arg_NO_STARTUP)
    target_sources(${target} PRIVATE ${_tvm_startup})
  endif()
  if(arg_SEMIHOSTING)
    target_sources(${target} PRIVATE "${_tvm_semihosting}")
  endif()
  target_include_directories(${target} PRIVATE "${_tvm_startup_folder}")
  set_target_properties(${target} PROPERTIES TVM_TARGET_BOARD "${_tvm_board}" SUFFIX ".elf")
  if(_tvm_emulated)
    set_target_properties(${target} PROPERTIES CROSSCOMPILING_EMULATOR "${_TVM_COMMAND};run;--board;${_tvm_board}")
  endif()
endfunction()

# The board of a call: named in it, else that of the target, else TVM_BOARD; as commands in any folder name it.
# With one more argument, --emulated, it must have an emulator.
function(_tvm_board_name output function given target)
  get_target_property(of_target ${target} TVM_TARGET_BOARD)
  _tvm_default_board(board)
  if(given)
    set(board "${given}")
  elseif(of_target)
    set(board "${of_target}")
  elseif(NOT board)
    message(FATAL_ERROR "${function}: no board is named\n"
      "  remedy: BOARD name in the call, or -DTVM_BOARD=name")
  endif()
  _tvm_run(name cmake name "${board}" --source "${CMAKE_CURRENT_SOURCE_DIR}" ${ARGN})
  set(${output} "${name}" PARENT_SCOPE)
endfunction()

# TVM_BOARD; if it is the path of a file, from the top of the sources.
function(_tvm_default_board output)
  set(board "${TVM_BOARD}")
  if(board MATCHES "/|\\.ya?ml$")
    get_filename_component(board "${board}" ABSOLUTE BASE_DIR "${CMAKE_SOURCE_DIR}")
  endif()
  set(${output} "${board}" PARENT_SCOPE)
endfunction()

# Refuse what cmake_parse_arguments did not understand; for its caller's `arg_` variables.
macro(_tvm_check_arguments function keywords)
  if(arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
    _tvm_run(_tvm_ignored cmake keywords --function "${function}" "--known=${keywords}" --
      ${arg_UNPARSED_ARGUMENTS} ${arg_KEYWORDS_MISSING_VALUES})
  endif()
endmacro()

function(_tvm_check_target function target)
  if(NOT TARGET "${target}")
    message(FATAL_ERROR "${function}(${target}): there is no target '${target}'\n"
      "  remedy: add_executable(${target} ...) first")
  endif()
endfunction()
