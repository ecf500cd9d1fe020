"""What is looked at whole, or not, in a run: one artist at one source, near home and elsewhere apart.

A source of its own scope, so that one that fails silences no other, and one that is added tells of no old shows; and
two halves, so that shows elsewhere, which may be too many to report, never cast doubt on those near home. Another
question has another scope: somebody else of the same name, or another home, where all that is found was there before.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

MOST = 5_000
"""What a gate may list."""
_LONGEST = 40


@dataclass(frozen=True, slots=True)
class Question:
    """One artist at one source, as the source was asked."""

    source: str
    ident: str
    identity: str = ""
    """The service's own id of the artist."""
    home: str = ""
    """What stands for where near is."""

    def scope(self, *, near: bool) -> str:
        """Short and ASCII: there may be thousands in one gate."""
        where = f"near\0{self.home}" if near else "elsewhere"
        all_of_it = f"{self.source}\0{self.ident}\0{self.identity}\0{where}"
        start = "".join(c if c.isascii() and c.isprintable() else "-" for c in f"{self.source}/{self.ident}"[:_LONGEST])
        # Any name may hold any word or sign, so only the digest tells them apart.
        digest = sha256(all_of_it.encode("utf-8", "replace")).hexdigest()[:12]
        return f"{start} {'near' if near else 'elsewhere'} #{digest}"


def share(artists: int, sources: int) -> tuple[int, bool]:
    """How many artists can be watched at that many sources, and whether elsewhere too."""
    most = min(artists, MOST // max(sources, 1))
    return most, 2 * most * sources <= MOST
