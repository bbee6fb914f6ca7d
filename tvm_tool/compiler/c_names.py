"""C names for the tensors of a model's interface."""

from __future__ import annotations

import re
from collections.abc import Iterable

Names = list[tuple[str, str]]

C_WORDS = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int "
    "long register restrict return short signed sizeof static struct switch typedef union unsigned void "
    "volatile while bool true false and or not xor class delete new operator private public protected "
    "this template throw try catch using virtual namespace friend export asm".split()
)
"""Words of C and C++ that cannot be names."""


def interface_names(inputs: Iterable[str], outputs: Iterable[str]) -> tuple[Names, Names]:
    """Names in the model with C names, for inputs and outputs; no C name stands twice."""
    taken: set[str] = set()
    return _named(inputs, taken), _named(outputs, taken)


def state_names(states: Iterable[str]) -> list[str]:
    """C names of states; no C name stands twice."""
    return [f"state_{c_name}" for _, c_name in _named(states, set())]


def _named(names: Iterable[str], taken: set[str]) -> Names:
    pairs = []
    for name in names:
        word = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_").lower() or "tensor"
        word = f"t{word}" if word[0].isdigit() else word
        word = f"{word}_" if word in C_WORDS else word
        unique, count = word, 1
        while unique in taken:
            count += 1
            unique = f"{word}_{count}"
        taken.add(unique)
        pairs.append((name, unique))
    return pairs
