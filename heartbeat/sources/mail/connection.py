"""A connection to an IMAP server that may be hostile or broken: bounded in time and in what it makes us keep.

The standard imaplib speaks the protocol; what it lacks are these bounds. imap-tools and IMAPClient are built on it and
lack them too; imap-tools cannot ask for what we need, and IMAPClient costs every tick a tenth of a second to import.
"""

from __future__ import annotations

import imaplib
import socket
import ssl
from collections.abc import Callable

from heartbeat.sources.mail.raw import LONGEST

MOST_KEPT = 64 << 20
"""Bytes of all answers together."""
LONGEST_LINE = 1_000_000
"""A SEARCH answer of 100,000 mails fits."""
CONNECT = 10.0
_EACH = 100
"""What a line costs beside its bytes: a million empty ones must not fill the memory."""


class TooMuch(Exception):
    """The server sends more than any mailbox needs."""


class Connection(imaplib.IMAP4):
    """*left* gives the seconds that remain, or raises TimeoutError; *context* is for TLS from the start."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext | None, left: Callable[[], float]) -> None:
        self._context = context
        self._left = left
        self._buffer = bytearray()
        self._source: socket.socket | None = None  # what the buffer was read from
        self._kept = 0
        super().__init__(host, port, timeout=CONNECT)

    def _create_socket(self, timeout: float | None) -> socket.socket:
        sock = socket.create_connection((self.host, self.port), min(timeout or CONNECT, self._left()))
        sock.settimeout(self._left())
        return self._context.wrap_socket(sock, server_hostname=self.host) if self._context else sock

    def readline(self) -> bytes:
        searched = 0
        self._drop_foreign()
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > LONGEST_LINE:
                raise TooMuch
            if not self._receive():
                break
        size = end + 1 if end >= 0 else len(self._buffer)
        self._keep(size + _EACH)
        return self._take(size)

    def read(self, size: int) -> bytes:
        """A literal; what is over the longest header is received and dropped, so that a mail costs only itself."""
        self._drop_foreign()
        kept = bytearray()
        while size > 0 and (self._buffer or self._receive()):
            piece = self._take(min(size, len(self._buffer)))
            size -= len(piece)
            kept += piece[: LONGEST + 1 - len(kept)]
        self._keep(len(kept) + _EACH)
        return bytes(kept)

    def send(self, data: bytes) -> None:  # type: ignore[override]  # typeshed knows bytes by another name
        self.sock.settimeout(self._left())
        super().send(data)

    def _drop_foreign(self) -> None:
        # What came in plain text behind the answer to STARTTLS was put there by somebody in between.
        if self._source is not self.sock:
            self._buffer.clear()
            self._source = self.sock

    def _receive(self) -> bool:
        self.sock.settimeout(self._left())
        piece = self.sock.recv(65_536)
        self._buffer += piece
        return piece != b""

    def _take(self, size: int) -> bytes:
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def _keep(self, size: int) -> None:
        self._kept += size
        if self._kept > MOST_KEPT:
            raise TooMuch
