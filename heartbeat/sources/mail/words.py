"""What a header field says, as text: encoded words (RFC 2047) and raw bytes of whatever charset, never raising."""

from __future__ import annotations

import binascii
import codecs
import re
import unicodedata
from collections.abc import Iterator

from heartbeat.sources.text import clean_title

LONGEST = 10_000
"""Bytes of a field that are looked at; RFC 5322 allows 998 to a line."""
LONGEST_LINE = 998

_HEAD = re.compile(r"=\?([^?\s]{1,60})\?([bBqQ])\?")
_ESCAPE = re.compile(rb"=([0-9A-Fa-f]{2})")
_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/]")

# What mail is really written in, where its label names less.
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "iso2022_jp": "iso2022_jp_ext",
}
# No charsets: some of them take time that grows with the square of the text, or make letters of plain ASCII.
_NO_CHARSETS = ("punycode", "idna", "unicode-escape", "raw-unicode-escape", "undefined")


def text_of(raw: bytes) -> str:
    """A field as it stands: UTF-8, else what old programs in the west wrote without a label."""
    raw = raw[:LONGEST]
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        cut_inside_a_letter = error.start > LONGEST - 4
        return raw[: error.start].decode() if cut_inside_a_letter else raw.decode("cp1252", "replace")


def decoded(text: str) -> str:
    """*text* with its encoded words read; what cannot be read is left out, what stands around it stays."""
    parts, place = [], 0
    for start, end, words in _runs(text):
        parts += [text[place:start], words]
        place = end
    return "".join([*parts, text[place:]])


def one_line(raw: bytes) -> str:
    """A field as a person should see it and a pattern should search it: decoded, one clean line, cut."""
    clean = clean_title(decoded(text_of(raw)), LONGEST_LINE)
    return unicodedata.normalize("NFC", clean)[:LONGEST_LINE]


def _runs(text: str) -> Iterator[tuple[int, int, str]]:
    """Where encoded words stand, and what they say: those with only blanks between them are one, for one letter may
    be split over two."""
    start = end = 0
    pieces: list[tuple[str, bytes]] = []
    for found in _HEAD.finditer(text):
        if found.start() < end:
            continue
        close = text.find("?=", found.end())
        if close < 0:
            break  # nor does any later one end, and looking again for each would take for ever
        if pieces and text[end : found.start()].strip(" \t\r\n"):
            yield start, end, _joined(pieces)
            pieces = []
        if not pieces:
            start = found.start()
        charset = found[1].partition("*")[0].lower()
        pieces.append((charset, _bytes(found[2], text[found.end() : close])))
        end = close + 2
    if pieces:
        yield start, end, _joined(pieces)


def _joined(pieces: list[tuple[str, bytes]]) -> str:
    charset, held = pieces[0][0], b""
    said = []
    for name, data in pieces:
        if name != charset:
            said.append(_letters(charset, held))
            charset, held = name, b""
        held += data
    return "".join([*said, _letters(charset, held)])


def _bytes(encoding: str, text: str) -> bytes:
    data = text.encode("utf-8", "replace")
    if encoding in "qQ":
        return _ESCAPE.sub(lambda found: bytes([int(found[1], 16)]), data.replace(b"_", b" "))
    data = _NOT_BASE64.sub(b"", data)
    if len(data) % 4 == 1:  # one letter holds no byte
        data = data[:-1]
    return binascii.a2b_base64(data + b"=" * (-len(data) % 4))


def _letters(charset: str, data: bytes) -> str:
    try:
        name = codecs.lookup(charset).name
        if name not in _NO_CHARSETS:
            return data.decode(_WIDER.get(name, name), "replace")
    except (LookupError, ValueError):
        pass
    return text_of(data)
