"""From a model file to C sources. Nothing outside this package imports TVM."""
