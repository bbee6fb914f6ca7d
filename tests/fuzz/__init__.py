"""Differential fuzzing: random small models, compiled to C, against the runtimes of their formats."""
