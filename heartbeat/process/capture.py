"""Keeps the first and the last bytes of a stream of any length, in bounded memory."""

from __future__ import annotations

from heartbeat.model import Captured

BLANK = b" \t\r\n"
BLANK_KEPT = 64 * 1024
"""So much of the blank end of a stream is kept when not all of it fits."""


class Capture:
    """One output stream of a child, while it is read.

    Under the limit nothing is lost. Over it, half the limit is kept of the front and half of the end, where
    blank space after the last text takes little room: blank lines cannot push the gate out. The last line
    that holds anything is never split by what was left out, unless it alone is longer than its half.
    """

    def __init__(self, limit: int) -> None:
        self._head_limit = limit // 2
        self._tail_limit = limit - self._head_limit
        self._total = 0
        self._head = bytearray()
        self._text = bytearray()
        """What follows the head, up to its last byte that is not blank."""
        self._text_cut = False
        self._blank = bytearray()
        """The blank bytes after the text."""

    def feed(self, chunk: bytes) -> None:
        self._total += len(chunk)
        if room := self._head_limit - len(self._head):
            self._head += chunk[:room]
            chunk = chunk[room:]
        if text := chunk.rstrip(BLANK):
            self._text += self._blank
            self._text += text
            self._blank.clear()
            self._text_cut |= self._trim(self._text)
        self._blank += chunk[len(text) :]
        self._trim(self._blank)

    def result(self) -> Captured:
        head, text, blank = bytes(self._head), bytes(self._text), bytes(self._blank)
        if self._total <= self._head_limit + self._tail_limit:
            return Captured(head, text + blank)
        blank = _last(min(BLANK_KEPT, self._tail_limit // 2), blank)
        room = self._tail_limit - len(blank)
        if self._text_cut or len(text) > room:
            tail = _last(room, text) + blank
        else:
            # Only blank space is missing: the cut goes before the last line, which may begin in the head.
            head, last_line = _at_last_line(head + text)
            tail = last_line + blank
        return Captured(head, tail, self._total - len(head) - len(tail))

    def _trim(self, buffer: bytearray) -> bool:
        """Cut a buffer to its last bytes, only now and then, so that each byte is moved once at most."""
        too_long = len(buffer) > 2 * self._tail_limit
        if too_long:
            del buffer[: len(buffer) - self._tail_limit]
        return too_long


def _at_last_line(text: bytes) -> tuple[bytes, bytes]:
    """The text before its last line that holds anything, and from there on."""
    start = text.rfind(b"\n", 0, len(text.rstrip(BLANK))) + 1
    return text[:start], text[start:]


def _last(count: int, data: bytes) -> bytes:
    return data[max(0, len(data) - count) :]
