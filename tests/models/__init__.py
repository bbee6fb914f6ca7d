"""Builders of the networks that the tests compile."""
