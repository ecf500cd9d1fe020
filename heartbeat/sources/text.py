"""Titles from strangers: one line, and nothing in it that steers or hides."""

from __future__ import annotations

import unicodedata

_DROPPED = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Control and format characters (bidi overrides, zero-width ones), surrogates, line and paragraph separators."""


def clean_title(text: str, limit: int) -> str:
    """*text* on one line, its hidden characters taken out without a trace, at most *limit* long."""
    # Cut first: a title of megabytes must not cost its length.
    spaced = " ".join(text[: limit * 20].split())
    clean = " ".join("".join(c for c in spaced if unicodedata.category(c) not in _DROPPED).split())
    return clean if len(clean) <= limit else clean[: limit - 1].rstrip() + "…"
