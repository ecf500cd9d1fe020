"""Strangers' text on a terminal: nothing in it can move the cursor, colour or forge a line."""

from __future__ import annotations

import unicodedata

_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def plain(text: str) -> str:
    """The text with every control, format and separator character made a space; only line ends stay."""
    return "".join(" " if letter != "\n" and unicodedata.category(letter) in _HIDDEN else letter for letter in text)


def one_line(text: str, limit: int = 500) -> str:
    """The text on one line, cut with an ellipsis."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return " ".join(plain(cut).split())
