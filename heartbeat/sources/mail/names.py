# ruff: noqa: RUF001  # telling look-alikes apart is what this page is for
"""Addresses and names as they are compared: domains exactly, and by their looks."""

from __future__ import annotations

import unicodedata

_LONGEST_LABEL = 63
_LONGEST_DOMAIN = 253
LONGEST_LOOK = 3_000
"""Visible letters that are compared: some single ones are eighteen once taken apart."""
_INVISIBLE = ("Mn", "Me", "Cf", "Cc", "Cs")

# What is taken for a letter. Marks above and below letters, and other sizes and styles of them, go by NFKD.
_LOOKALIKES = {
    "a": "4аАαΑɑ",
    "b": "8вВβΒƅ",
    "c": "сСϲϹ",
    "d": "ԁđĐ",
    "e": "3еЕεΕ",
    "g": "6бցɡɢ",
    "h": "нНһҺΗհħĦ",
    "i": "іІιΙıɩ",
    "j": "јЈϳ",
    "k": "кКκΚ",
    "l": "1i|!ӏӀлłŁʟ",
    "m": "мМΜ",
    "n": "пηΝոɴ",
    "o": "0оОοΟօøØ",
    "p": "рРρΡք",
    "q": "ԛԚ",
    "r": "гʀ",
    "s": "5ѕЅ",
    "t": "7тТτΤŧŦ",
    "u": "υս",
    "v": "ѵѴν",
    "w": "ԝԜω",
    "x": "хХχΧ",
    "y": "уУүҮγΥʏ",
    "z": "Ζ",
    ".": "。․·",
    "-": "‐‑‒–−",
    " ": "\u115f\u1160\u3164\uffa0",  # letters that are seen as nothing
}
_TABLE = str.maketrans({strange: letter for letter, all_strange in _LOOKALIKES.items() for strange in all_strange})
_PAIRS = (("rn", "m"), ("vv", "w"), ("cl", "d"))


def canonical_domain(text: str) -> str | None:
    """A domain as it is compared: lower case, without a trailing dot, every label in ASCII; None if it is none.

    Nothing is mapped: a full-width letter makes another domain, for a real mailbox never looks so.
    """
    if len(text) > _LONGEST_DOMAIN + 1 or poses_as_ascii(text):
        return None
    text = unicodedata.normalize("NFC", text.removesuffix(".").lower())
    labels = [_ascii_label(label) for label in text.split(".")]
    domain = ".".join(labels)
    return domain if all(labels) and len(domain) <= _LONGEST_DOMAIN else None


def poses_as_ascii(text: str) -> bool:
    """Whether a letter would become another one, of ASCII, by what is done to compare: the sign for Kelvin a k."""
    return not text.isascii() and any(
        not letter.isascii() and (unicodedata.normalize("NFC", letter).isascii() or letter.lower().isascii())
        for letter in text
    )


def readable_domain(domain: str) -> str:
    """A canonical domain as people see it, with the letters that its labels stand for."""
    return ".".join(_letters(label) for label in domain.split("."))


def skeleton(text: str) -> str:
    """*text* as it looks: what may be mistaken for one another has the same; only good for comparing."""
    # Before it is cut: nothing invisible may push out of sight what a reader sees.
    seen = _visible(text)[:LONGEST_LOOK]
    if not seen.isascii():
        seen = _visible(unicodedata.normalize("NFKD", seen)[: 2 * LONGEST_LOOK])
    # Twice: a capital may look like another letter than its small one does.
    seen = seen.translate(_TABLE).casefold().translate(_TABLE)
    for pair, letter in _PAIRS:
        seen = seen.replace(pair, letter)
    return seen


def _visible(text: str) -> str:
    return "".join(letter for letter in text if letter == "\t" or unicodedata.category(letter) not in _INVISIBLE)


def words_of(look: str) -> list[str]:
    """The words of a skeleton."""
    return "".join(letter if letter.isalnum() else " " for letter in look).split()


def _ascii_label(label: str) -> str:
    """Empty when it is no label."""
    good = all(letter in "-_" or letter.isalnum() or unicodedata.category(letter) in ("Mn", "Mc") for letter in label)
    if not good or len(label) > _LONGEST_LABEL:
        return ""
    if label.isascii():
        return label
    encoded = "xn--" + label.encode("punycode").decode("ascii")
    return encoded if len(encoded) <= _LONGEST_LABEL else ""


def _letters(label: str) -> str:
    if not label.startswith("xn--"):
        return label
    try:
        return label[4:].encode("ascii").decode("punycode")
    except (UnicodeError, ValueError, OverflowError):
        return label
