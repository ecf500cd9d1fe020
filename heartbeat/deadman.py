"""Ends a daemon whose loop gives no proof of life any more, where no supervisor has a watchdog (launchd)."""

from __future__ import annotations

import faulthandler
import os
import threading
from collections.abc import Callable
from typing import IO

LOOK, LOOKS = 20.0, 9
"""Every so many seconds it looks; without a proof between so many looks in a row, the process is ended."""


class DeadMan:
    """Counts its own looks instead of the time: a process that was stopped, or slept, has not been silent meanwhile.

    What every thread is at goes to *dump* before the end.
    """

    def __init__(self, dump: IO[str], *, look: float = LOOK, end: Callable[[int], object] = os._exit) -> None:
        self._dump = dump
        self._look = look
        self._end = end
        self._silent = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="dead-man", daemon=True)

    def proof(self) -> None:
        """The loop came round."""
        self._silent = 0
        if not self._thread.is_alive() and not self._over.is_set():
            self._thread.start()

    def stop(self) -> None:
        """No proof is due any more."""
        self._over.set()

    def _watch(self) -> None:
        while not self._over.wait(self._look):
            self._silent += 1
            if self._silent > LOOKS:
                self._dump.write(f"Timeout: no proof of life in {LOOKS} looks, {self._look:.0f} s apart\n")
                self._dump.flush()
                faulthandler.dump_traceback(self._dump)
                self._end(1)
                return
