"""The ONNX project's own tests of single operators, through generated C."""
