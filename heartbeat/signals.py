"""Hears the signals that stop the daemon or have it read its configuration again, and who sent them.

Where the kernel tells of the sender (Linux), the signals are blocked in every thread and waited for in one of their
own; elsewhere an ordinary handler hears them.
"""

from __future__ import annotations

import os
import pwd
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass

from heartbeat.process import command_of, owner
from heartbeat.process.spawn import block

_WORDS = {signal.SIGTERM: "stop", signal.SIGINT: "stop", signal.SIGHUP: "reload"}
_LONGEST_COMMAND = 120


@dataclass(frozen=True, slots=True)
class Heard:
    """A signal: the word for it, its name, and who sent it, as far as is known."""

    word: str
    name: str
    sender: str = ""
    """`PID:START@BOOT`."""
    about: str = ""
    """The sender in words."""

    def __str__(self) -> str:
        return f"{self.name} from {self.about}" if self.about else self.name


class Signals:
    """The signals of this process from now on; while nobody listens, one that stops goes to *early*."""

    def __init__(self, early: Callable[[Heard], object]) -> None:
        self._hear: Callable[[Heard], object] = lambda heard: early(heard) if heard.word == "stop" else None
        for number in _WORDS:
            signal.signal(number, lambda number, _frame: self._nameless(number))
        if hasattr(signal, "sigwaitinfo"):
            block(_WORDS.keys(), self._nameless)
            threading.Thread(target=self._wait, name="signals", daemon=True).start()

    def listen(self, hear: Callable[[Heard], object]) -> None:
        """Hand every further signal to *hear*, in any thread."""
        self._hear = hear

    def _wait(self) -> None:
        while True:
            told = signal.sigwaitinfo(_WORDS.keys())
            number = signal.Signals(told.si_signo)
            # What the kernel itself sends (Ctrl-C), or another namespace, has no process.
            sender = owner(told.si_pid) if told.si_pid > 0 else ""
            about = _about(told.si_pid, told.si_uid) if sender else ""
            self._hear(Heard(_WORDS[number], number.name, sender, about))

    def _nameless(self, number: int) -> None:
        """One whose sender is not told."""
        self._hear(Heard(_WORDS[signal.Signals(number)], signal.Signals(number).name))


def _about(pid: int, uid: int) -> str:
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = f"uid {uid}"
    if pid == os.getpid():
        return "itself"
    return f"process {pid} of {user} ({command_of(pid)[:_LONGEST_COMMAND] or 'it has ended since'})"
