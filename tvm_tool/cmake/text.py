"""CMake code as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def assignments(variables: Mapping[str, str | Iterable[str]]) -> str:
    """``set(NAME VALUE...)`` for each of `variables`, a value or a list of them, whatever they contain."""
    lines = []
    for name, value in variables.items():
        # In a list, a semicolon with a backslash belongs to its item.
        words = [value] if isinstance(value, str) else [word.replace(";", "\\;") for word in value]
        lines.append(f"set({' '.join([name, *map(bracketed, words)])})\n")
    return "".join(lines)


def bracketed(word: str) -> str:
    """`word` as one argument in brackets, in which nothing has a meaning of its own."""
    equals = "="
    while f"]{equals}]" in f"{word}]":
        equals += "="
    return f"[{equals}[{word}]{equals}]"
