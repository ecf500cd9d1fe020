"""When two names of artists are the same name. A name is no key: who is meant is another question."""

from __future__ import annotations

import re
import unicodedata

_APART = re.compile(r"[\W_]+")


def plain_name(name: str) -> str:
    """*name* without what people leave out: case, accents, punctuation, a leading `the`."""
    bare = "".join(c for c in unicodedata.normalize("NFKD", name.casefold()) if not unicodedata.combining(c))
    words = _APART.sub(" ", bare.replace("&", " and ")).split()
    if len(words) > 1 and words[0] == "the":
        del words[0]
    # Some names are nothing but punctuation.
    return " ".join(words) or name.casefold().strip()


def same_name(one: str, other: str) -> bool:
    return plain_name(one) == plain_name(other)
