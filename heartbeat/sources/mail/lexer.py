"""The tokens that addresses and results in a mail's header are made of (RFC 5322), whatever the bytes."""

from __future__ import annotations

import re
from typing import NamedTuple

BLANK, QUOTED, COMMENT, WORD, WRONG = "_", "q", "c", "w", "!"
_SPECIAL = "<>@.,:;"

_TOKEN = re.compile(
    # An encoded word is one word, also with commas or blanks inside, which many programs leave unencoded.
    r"""(?P<blank>[ \t]+)|(?P<word>=\?[^?\s]+\?[bBqQ]\?[^?<>@"()\\]*\?=|[^ \t()<>@,:;\\".\[\]]+)|(?P<other>.)""",
    re.DOTALL,
)
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_EDGE = re.compile(r"\\.|[()]", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class Token(NamedTuple):
    """*kind* is one of the letters above, or one of `< > @ . , : ;` for itself."""

    kind: str
    text: str
    """Of quoted strings and comments what is inside, without the backslashes."""


def lex(text: str) -> list[Token]:
    """All of *text*; what opens and never closes is one WRONG token to the end."""
    tokens, place = [], 0
    while place < len(text):
        token, place = _next(text, place)
        tokens.append(token)
    return tokens


def _next(text: str, place: int) -> tuple[Token, int]:
    if text[place] in '("':
        return _enclosed(text, place)
    found = _TOKEN.match(text, place)
    assert found is not None  # any character is one
    if found["blank"]:
        return Token(BLANK, found[0]), found.end()
    if found["word"]:
        return Token(WORD, found[0]), found.end()
    return Token(found[0] if found[0] in _SPECIAL else WRONG, found[0]), found.end()


def _enclosed(text: str, place: int) -> tuple[Token, int]:
    kind, inside, end = COMMENT, "", -1
    if text[place] == "(":
        end = _comment_end(text, place)
        inside = text[place + 1 : end - 1]
    elif found := _QUOTED.match(text, place):
        kind, inside, end = QUOTED, found[1], found.end()
    if end < 0:
        return Token(WRONG, text[place:]), len(text)
    return Token(kind, _ESCAPED.sub(r"\1", inside)), end


def _comment_end(text: str, place: int) -> int:
    """Comments nest; counted, for a sender may nest them deeper than a stack."""
    depth = 0
    for found in _EDGE.finditer(text, place):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    return -1
