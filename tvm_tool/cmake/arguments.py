"""The arguments of `tvm_add_model`, as the options that they mean."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import OptionError, did_you_mean
from ..options import OPTIONS

KEYWORDS: Mapping[str, str] = {option.name.upper(): option.name for option in OPTIONS}
"""Option by keyword: `OPTIMIZE` is ``optimize``."""

OWN = ("MODEL", "BOARD")


def split_arguments(words: Sequence[str], function: str) -> dict[str, Any]:
    """Values by name: ``model``, ``board`` and the options; lists where an option takes several.

    Raises:
        OptionError: an unknown or repeated keyword, or one without a value.
    """
    many = {option.name for option in OPTIONS if option.many}
    found: dict[str, list[str]] = {}
    name = ""
    for word in words:
        if word in KEYWORDS or word in OWN:
            name = KEYWORDS.get(word, word.lower())
            if name in found:
                raise OptionError(f"{word} is given twice", where=function)
            found[name] = []
        elif not name or (found[name] and (name not in many or _is_keyword(word))):
            raise OptionError(
                f"there is no keyword '{word}'",
                where=function,
                expected=", ".join((*OWN, *KEYWORDS)),
                remedy=did_you_mean(word.upper(), (*OWN, *KEYWORDS)),
            )
        else:
            found[name].append(word)
    for key, values in found.items():
        if not values:
            raise OptionError(f"{key.upper()} has no value", where=function)
    return {key: values if key in many else values[0] for key, values in found.items()}


def _is_keyword(word: str) -> bool:
    """Whether `word` looks like a mistyped keyword more than like a value."""
    return bool(re.fullmatch(r"[A-Z][A-Z_]{3,}", word)) and did_you_mean(word, (*OWN, *KEYWORDS)).startswith(
        "did"
    )
