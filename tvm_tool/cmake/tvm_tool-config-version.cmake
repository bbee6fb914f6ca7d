# SPDX-License-Identifier: Apache-2.0
#
# Which version this is: read from the package, so that it is written once.

file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../__init__.py" _tvm_line REGEX "^__version__ = ")
string(REGEX MATCH "[0-9]+(\\.[0-9]+)*" PACKAGE_VERSION "${_tvm_line}")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
