"""A mail's header as bytes, taken apart into its fields; whatever comes, it never raises."""

from __future__ import annotations

import re
from datetime import datetime

from heartbeat.sources.mail.message import WANTED, Message

LONGEST = 256 * 1024
"""Bytes of a header that are looked at."""
MOST_FIELDS = 1000
_FIELD = re.compile(rb"([!-9;-~]+):(.*)", re.DOTALL)
"""A name has no space, not even before its colon: some programs read `From :` and some do not, so nobody wrote it."""
_MBOX_LINE = re.compile(rb">?From [ \t]*[^: \t]")
"""What an mbox file puts before each mail."""


def split(raw: bytes) -> tuple[tuple[tuple[str, bytes], ...], bool]:
    """The fields of a header up to its blank line, topmost first, and whether it was damaged.

    Names are in lower case; values are unfolded, without the line end and the blanks around them. Damaged: longer than
    the limits, cut off in the middle of a line, or with lines that are no field; those are left out.
    """
    lines, damaged = _lines(raw)
    fields: list[tuple[str, list[bytes]]] = []
    parts: list[bytes] | None = None  # of the field a folded line belongs to
    for line in lines:
        if line[:1] in (b" ", b"\t"):
            damaged = damaged or parts is None
            if parts is not None:
                parts.append(line)
            continue
        parts = None
        found = _FIELD.fullmatch(line)
        if found is None or len(fields) == MOST_FIELDS:
            damaged = True
            continue
        parts = [found[2]]
        fields.append((found[1].decode("ascii").lower(), parts))
    return tuple((name, b"".join(parts).strip(b" \t")) for name, parts in fields), damaged


def read_message(raw: bytes, arrived_at: datetime | None = None, file_time: datetime | None = None) -> Message:
    """The mail that *raw* is the beginning of, with the wanted fields alone."""
    fields, damaged = split(raw)
    return Message(tuple(field for field in fields if field[0] in WANTED), arrived_at, damaged, file_time)


def _lines(raw: bytes) -> tuple[list[bytes], bool]:
    """The lines before the blank one, without their ends, and whether the last was cut off."""
    lines = raw[:LONGEST].split(b"\n")
    last = lines.pop()
    lines = [line.removesuffix(b"\r") for line in lines]
    if lines and _MBOX_LINE.match(lines[0]):
        del lines[0]
    try:
        return lines[: lines.index(b"")], False
    except ValueError:
        # Half a line may say the opposite of the whole one.
        return lines, last != b"" or len(raw) > LONGEST
