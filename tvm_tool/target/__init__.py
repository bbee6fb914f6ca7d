"""Runs images in an emulator, and verifies that the model in them computes what the original does."""
