"""What a service manager is told, in the words of sd_notify(3): READY, STATUS, WATCHDOG, STOPPING."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping

_DIGITS = 16  # of microseconds: more are no time that anything waits for


class Notifier:
    """Speaks to the manager that started us; without one every word is dropped."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._address = environ.get("NOTIFY_SOCKET", "")
        own = environ.get("WATCHDOG_PID", "") in ("", str(os.getpid()))
        microseconds = environ.get("WATCHDOG_USEC", "") if own else ""
        is_number = microseconds.isascii() and microseconds.isdigit() and len(microseconds) < _DIGITS
        self.watchdog = int(microseconds) / 1e6 if is_number else None
        """Seconds within which the manager wants to hear `alive`; None: it does not watch."""

    def reloading(self) -> None:
        self._say(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def alive(self, status: str) -> None:
        """Keep the watchdog from biting, and say how things stand; the first time, that a start or reload is over."""
        self._say("READY=1\nWATCHDOG=1\nSTATUS=" + status.replace("\n", " "))

    def stopping(self) -> None:
        self._say("STOPPING=1")

    def more_time(self, seconds: float) -> None:
        """The start or the stop takes longer than the manager allows, but goes on."""
        self._say(f"EXTEND_TIMEOUT_USEC={int(seconds * 1e6)}")

    def _say(self, words: str) -> None:
        if not self._address:
            return
        # A name in the abstract namespace is written with an @.
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | getattr(socket, "SOCK_CLOEXEC", 0)) as peer:
                peer.setblocking(False)
                peer.sendto(words.encode(), address)
        except OSError:
            return  # a manager that does not listen: its watchdog will say so
