# SPDX-License-Identifier: Apache-2.0
#
# tvm_add_model: a model file becomes a library that firmware links.

# tvm_add_model(NAME MODEL file [BOARD board] [OPTION value]...)
#
# Makes the INTERFACE library NAME: its sources are compiled with the flags of whoever links it. The
# options are those of every front end (docs/options.md), in capitals: OPTIMIZE size, SHAPES x=1,8,8,1.
function(tvm_add_model name)
  if(TARGET "${name}")
    message(FATAL_ERROR "tvm_add_model(${name}): there is a target '${name}' already\n"
      "  remedy: choose another name")
  endif()
  _tvm_default_board(board)
  _tvm_run(text cmake model --source "${CMAKE_CURRENT_SOURCE_DIR}" --output "${CMAKE_BINARY_DIR}/tvm"
    "--board=${board}" -- "${name}" ${ARGN})
  cmake_language(EVAL CODE "${text}")
  foreach(file IN LISTS _tvm_file _tvm_calibration)
    get_source_file_property(generated "${file}" GENERATED)
    if(NOT generated AND NOT EXISTS "${file}")
      _tvm_run(ignored cmake missing "${file}" --function "tvm_add_model(${name})")
    endif()
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${_tvm_configure_depends})
  _tvm_runtime()

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/tvm/${name}")
  set(sources "${folder}/${_tvm_prefix}.c" "${folder}/${_tvm_prefix}_weights.c")
  set(files ${sources} "${folder}/${_tvm_prefix}.h" "${folder}/${_tvm_prefix}.json")
  if(_tvm_calibration)
    list(APPEND files "${folder}/${_tvm_prefix}_quantized.onnx")
  endif()
  set(stamp "${folder}/compiled")
  file(CONFIGURE OUTPUT "${folder}/request.txt" CONTENT "${_tvm_request}\n" @ONLY)

  _tvm_watch(byproducts check ${name}_tvm "${stamp}" ${files})
  add_custom_command(
    OUTPUT "${stamp}"
    ${byproducts}
    COMMAND ${_TVM_COMMAND} compile "${_tvm_file}" --output "${folder}" --no-runtime --quiet
      --depfile "${stamp}.d" --depfile-target "${stamp}" ${_tvm_arguments}
    COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
    DEPENDS "${_tvm_file}" ${_tvm_calibration} "${folder}/request.txt"
    DEPFILE "${stamp}.d"
    COMMENT "Compiling the model ${name}"
    VERBATIM
  )
  add_custom_target(${name}_tvm ${check} DEPENDS "${stamp}" VERBATIM)
  set_source_files_properties(${files} PROPERTIES GENERATED TRUE)

  add_library(${name} INTERFACE)
  target_sources(${name} INTERFACE ${sources})
  target_include_directories(${name} INTERFACE "${folder}")
  target_link_libraries(${name} INTERFACE tvm_runtime)
  add_dependencies(${name} ${name}_tvm)
  set_target_properties(${name} PROPERTIES
    TVM_MODEL "${_tvm_file}" TVM_METADATA "${folder}/${_tvm_prefix}.json" TVM_BOARD "${_tvm_board}"
    TVM_PREFIX "${_tvm_prefix}")
  if(_tvm_regions)
    # Firmware that tvm_target_board sets up has these memories in its linker script.
    set(own "$<BOOL:$<TARGET_PROPERTY:TVM_TARGET_BOARD>>")
    target_link_options(${name} INTERFACE "$<$<NOT:${own}>:SHELL:-T \"${_tvm_regions}\">")
    set_property(TARGET ${name} APPEND PROPERTY INTERFACE_LINK_DEPENDS "${_tvm_regions}")
  endif()
  set_property(TARGET tvm_runtime APPEND PROPERTY TVM_METADATA "${folder}/${_tvm_prefix}.json")
  add_dependencies(tvm_runtime_tvm ${name}_tvm)
endfunction()

# The runtime that all models of a build share: made once, with the kernels that they need together.
function(_tvm_runtime)
  if(TARGET tvm_runtime)
    return()
  endif()
  get_filename_component(package "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/.." ABSOLUTE)
  set(folder "${CMAKE_BINARY_DIR}/tvm")
  file(GLOB files "${package}/runtime/*.h")
  foreach(file IN LISTS files ITEMS "${package}/runtime/tvm_aot.c" "${package}/runtime/tvm_platform.c")
    get_filename_component(base "${file}" NAME)
    configure_file("${file}" "${folder}/${base}" COPYONLY)
  endforeach()
  file(GLOB kernels "${package}/runtime/*.c")
  set(metadata "$<TARGET_PROPERTY:tvm_runtime,TVM_METADATA>")
  set(stamp "${folder}/collected")
  _tvm_watch(byproducts check tvm_runtime_tvm "${stamp}" "${folder}/tvm_kernels.c")
  add_custom_command(
    OUTPUT "${stamp}"
    ${byproducts}
    COMMAND ${_TVM_COMMAND} cmake kernels --output "${folder}/tvm_kernels.c" "${metadata}"
    COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
    DEPENDS "${metadata}" ${kernels}
    COMMENT "Collecting the kernels of the models"
    COMMAND_EXPAND_LISTS
    VERBATIM
  )
  add_custom_target(tvm_runtime_tvm ${check} DEPENDS "${stamp}" VERBATIM)
  set(sources "${folder}/tvm_aot.c" "${folder}/tvm_platform.c" "${folder}/tvm_kernels.c")
  set_source_files_properties("${folder}/tvm_kernels.c" PROPERTIES GENERATED TRUE)
  add_library(tvm_runtime INTERFACE)
  target_sources(tvm_runtime INTERFACE ${sources})
  target_include_directories(tvm_runtime INTERFACE "${folder}")
  add_dependencies(tvm_runtime tvm_runtime_tvm)
  cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL _tvm_check_consumers "${CMAKE_SOURCE_DIR}")
endfunction()

# How `files`, which a command makes besides its OUTPUT `stamp`, are declared and restored by `target`.
#
# Files whose contents stay the same keep their time: then nothing that is made of them is made again. Ninja looks
# at such files by itself. Make only knows the stamp, so there a check replaces what was deleted.
function(_tvm_watch byproducts check target stamp)
  if(CMAKE_GENERATOR MATCHES "Make")
    list(JOIN ARGN "|" files)
    set(${byproducts} PARENT_SCOPE)
    set(${check} COMMAND "${CMAKE_COMMAND}" -D "FILES=${files}" -D "STAMP=${stamp}" -D "TARGET=${target}"
      -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/tvm_restore.cmake" PARENT_SCOPE)
  else()
    set(${byproducts} BYPRODUCTS ${ARGN} PARENT_SCOPE)
    set(${check} PARENT_SCOPE)
  endif()
endfunction()
