"""The CMake package: `tvm_tool-config.cmake`, and the commands that it calls at configure time.

CMake code cannot parse options, read boards or say "did you mean"; Python can, from the one
declaration of options and boards. So each CMake function hands its arguments to a command of
``tvm-tool cmake`` and evaluates the CMake text that comes back.
"""
