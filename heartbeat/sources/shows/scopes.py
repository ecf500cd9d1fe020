"""What is looked at whole, or not, in a run: one artist at one source, near home and elsewhere apart.

A source of its own scope, so that one that fails silences no other, and one that is added tells of no old shows; and
two halves, so that shows elsewhere, which may be too many to report, never cast doubt on those near home.
"""

from __future__ import annotations

from hashlib import sha256

ELSEWHERE = " elsewhere"
MOST = 5_000
"""What a gate may list."""
_LONGEST = 60


def scope_of(source: str, ident: str, *, near: bool) -> str:
    """Short and ASCII: there may be thousands in one gate."""
    name = f"{source}/{ident}"
    if len(name) > _LONGEST or not (name.isascii() and name.isprintable()):
        start = "".join(c if c.isascii() and c.isprintable() else "-" for c in name[:30])
        name = f"{start}#{sha256(name.encode('utf-8', 'replace')).hexdigest()[:12]}"
    return name if near else name + ELSEWHERE


def share(artists: int, sources: int) -> tuple[int, bool]:
    """How many artists can be watched at that many sources, and whether elsewhere too."""
    most = min(artists, MOST // max(sources, 1))
    return most, 2 * most * sources <= MOST
