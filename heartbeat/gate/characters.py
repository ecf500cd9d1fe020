"""Characters that a reader of a line cannot see."""

from __future__ import annotations

import unicodedata

_INVISIBLE = {"Cc", "Cf", "Zl", "Zp", "Zs"}


def is_odd(character: str) -> bool:
    """Whether it shows nothing, or looks like a blank."""
    if " " <= character <= "~":
        return character == " "
    name = unicodedata.name(character, "")
    return unicodedata.category(character) in _INVISIBLE or "FILLER" in name or "VARIATION SELECTOR" in name


def only_odd(line: str) -> str:
    """What a line that shows nothing holds."""
    return f"a line that holds only {name_of(line[0])}" if line and all(map(is_odd, line)) else ""


def name_of(character: str) -> str:
    """Its code point and its name."""
    return f"U+{ord(character):04X} {unicodedata.name(character, '(a control character)')}"
