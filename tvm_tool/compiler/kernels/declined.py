"""How a kernel says that it does not take a layer."""

from __future__ import annotations


class DeclinedError(Exception):
    """A kernel does not take a layer; the message says why, in a few words. Never reaches a user."""
