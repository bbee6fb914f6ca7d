"""Passes over Relax: each takes a module and returns a new one."""
