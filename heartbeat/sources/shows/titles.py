"""Which titles of events name an artist: as a whole name, never inside a word, and not as who is paid tribute to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from heartbeat.sources.shows.naming import plain_name

_ASIDE = re.compile(r"\([^)]*\)|\[[^\]]*\]")
_SIGNS = r"[|:;/+,*&\u2013\u2014\u2022\u00b7]|\s-\s"
_WORDS = (
    "with", "w/", "and", "und", "mit", r"feat\.?", r"ft\.", "featuring", "support", "supported by", "special guests?",
    "presents?", "pr\u00e4sentiert", "live", "in concert", "sold out", "ausverkauft", "an evening with", "b2b",
)  # fmt: skip
_BETWEEN = re.compile(rf"(?i)\s*(?:{_SIGNS}|\b(?:{'|'.join(_WORDS)})(?=\W|$))\s*")
"""What stands between the names of a bill, and before and after them."""
_HONOUR = frozenset(
    {"tribute", "tributes", "cover", "covers", "coverband", "coverversions", "homage", "hommage", "karaoke", "party",
     "salute", "experience", "remembering", "celebrating", "celebration"}
)  # fmt: skip
"""With one of these words somebody else plays the songs."""


class Titles:
    """The titles of a programme, looked up by the names in them."""

    def __init__(self, titles: Sequence[str]) -> None:
        self._words = [_words(title) for title in titles]
        self._names = [_names(title) for title in titles]
        self._by_word: dict[str, list[int]] = {}
        for place, words in enumerate(self._words):
            for word in dict.fromkeys(words):
                self._by_word.setdefault(word, []).append(place)

    def naming(self, artist: str) -> Iterator[int]:
        """The places of the titles that name *artist*, in order.

        A name of one word, such as Air, must stand alone between the signs of a bill; a longer one anywhere.
        """
        name = plain_name(artist)
        words = name.split()
        for place in self._by_word.get(words[0], ()) if words else ():
            if (_HONOUR - set(words)) & set(self._words[place]):
                continue
            if name in self._names[place] or (len(words) > 1 and _holds(self._words[place], words)):
                yield place


def _names(title: str) -> set[str]:
    """What may be a name in a title, each part and the whole."""
    bare = _ASIDE.sub(" ", title)
    return {plain_name(part) for part in (*_BETWEEN.split(bare), bare)}


def _words(title: str) -> list[str]:
    # A leading `the` is dropped from a name, so it must not be missed here.
    return plain_name(title).split()


def _holds(words: Sequence[str], wanted: Sequence[str]) -> bool:
    size = len(wanted)
    return any(words[start : start + size] == wanted for start in range(len(words) - size + 1))
