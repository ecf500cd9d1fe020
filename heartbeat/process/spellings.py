"""How a secret may be spelled in what a program prints: plainly, in JSON, in an address, in HTML. Pure."""

from __future__ import annotations

import html
import json
import re
from itertools import groupby
from urllib.parse import quote, quote_plus

LONGEST = 1024
"""Characters. For a longer one only the spellings of common writers are known: each character costs time."""

_LETTERS = {"\b": "b", "\t": "t", "\n": "n", "\f": "f", "\r": "r"}
_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_DEEPEST = 15  # backslashes before one character: JSON within JSON doubles them each time


def pattern(secret: str) -> re.Pattern[bytes]:
    """Finds the secret however its characters are escaped, each by itself; JSON and addresses leave that to writers."""
    if len(secret) > LONGEST:
        longest_first = sorted(common(secret), key=len, reverse=True)
        return re.compile(b"|".join(map(re.escape, longest_first)))
    runs = ((letter, len(list(run))) for letter, run in groupby(secret))
    return re.compile(b"".join(_backslashes(n) if letter == "\\" else _spelled(letter) * n for letter, n in runs))


def _spelled(letter: str) -> bytes:
    raw = _bytes(letter)
    # Every choice begins with one certain byte: the search looks for those and is some ten times as fast.
    choices = [_percent(raw), _number(letter), rb"\\" + _slashes() + _unicode(letter), re.escape(raw)]
    if letter in _ENTITIES:
        choices.insert(0, f"&{_ENTITIES[letter]};".encode())
    if letter in _LETTERS:
        choices.append(rb"\\" + _slashes() + _LETTERS[letter].encode())
    elif letter == " ":
        choices.append(rb"\+")
    elif letter.isascii() and not letter.isalnum():
        choices.append(rb"\\" + _slashes() + re.escape(raw))
    return b"(?:" + b"|".join(choices) + b")"


def _backslashes(count: int) -> bytes:
    """So many of them. Doubled as often as they are, and no more: what comes after may begin with one of its own."""
    doubled = [rb"\\{%d}" % (count << times) for times in (4, 3, 2, 1, 0)]
    other = b"(?:" + b"|".join((_percent(b"\\"), _number("\\"), rb"\\" + _slashes() + _unicode("\\"))) + b")"
    # Atomic: with a choice to take back at each of many runs the search would never end.
    return b"(?>" + b"|".join((other + b"{%d}" % count, *doubled)) + b")"


def _slashes() -> bytes:
    return rb"\\{0,%d}+" % (_DEEPEST - 1)


def _percent(raw: bytes) -> bytes:
    return b"".join(b"%" + _any_case(f"{byte:02x}") for byte in raw)


def _number(letter: str) -> bytes:
    """As an HTML entity."""
    code = ord(letter)
    return b"&\\#(?:0{0,6}+%d|[xX]0{0,6}+%s);" % (code, _any_case(f"{code:x}"))


def _unicode(letter: str) -> bytes:
    """As JSON writes it after the backslash; what does not fit into four digits is written as two halves."""
    pair = letter.encode("utf-16-be", "surrogatepass")
    units = [b"u" + _any_case(pair[at : at + 2].hex()) for at in range(0, len(pair), 2)]
    return (rb"\\" + _slashes()).join(units)


def _any_case(digits: str) -> bytes:
    return "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in digits).encode()


def _bytes(text: str) -> bytes:
    # A variable may hold bytes that are no UTF-8; half a character of another kind can be in no variable.
    return text.encode(errors="surrogateescape")


def common(secret: str) -> set[bytes]:
    """The secret as common writers would write it."""
    raw, in_json, in_ascii = _bytes(secret), json.dumps(secret, ensure_ascii=False)[1:-1], json.dumps(secret)[1:-1]
    texts = (in_json, in_ascii, in_json.replace("/", r"\/"), in_ascii.replace("/", r"\/"), html.escape(secret))
    return {raw, *map(_bytes, texts), *(write(raw).encode() for write in (quote, quote_plus, _whole))}


def _whole(raw: bytes) -> str:
    return quote(raw, safe="")
