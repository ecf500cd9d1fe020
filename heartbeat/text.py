"""Strangers' text on one line of a terminal: nothing in it can move the cursor, colour or forge a line."""

from __future__ import annotations

import unicodedata

_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def one_line(text: str, limit: int = 500) -> str:
    """The text with every control, format and separator character made a space, and cut with an ellipsis."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    shown = "".join(" " if unicodedata.category(letter) in _HIDDEN else letter for letter in cut)
    return " ".join(shown.split())
