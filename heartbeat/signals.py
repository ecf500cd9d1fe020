"""Hears the signals that stop the daemon or have it read its configuration again, and who sent them.

Where the kernel tells of the sender (Linux), the signals are blocked in every thread and waited for in one of their
own; elsewhere an ordinary handler hears them.
"""

from __future__ import annotations

import contextlib
import os
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
        self._missed: list[Heard] = []
        self._hear: Callable[[Heard], object] = lambda heard: self._at_first(heard, early)
        waits = hasattr(signal, "sigwaitinfo")
        for number in _WORDS:
            # Where a thread waits for them the handler does nothing, but the number must be handed on (see `block`).
            signal.signal(number, lambda number, _frame: None if waits else self._nameless(number))
        if waits:
            block(_WORDS.keys(), self._nameless)
            threading.Thread(target=self._wait, name="signals", daemon=True).start()

    def listen(self, hear: Callable[[Heard], object]) -> None:
        """Hand every further signal to *hear*, in any thread."""
        self._hear = hear
        for heard in self._missed:
            hear(heard)

    def _at_first(self, heard: Heard, early: Callable[[Heard], object]) -> None:
        if heard.word == "stop":
            early(heard)
        else:
            # The configuration may have been read already, as it was before.
            self._missed.append(heard)

    def _wait(self) -> None:
        while True:
            told = signal.sigwaitinfo(_WORDS.keys())
            number = signal.Signals(told.si_signo)
            sender, about = "", ""
            # What the kernel itself sends (Ctrl-C), or another namespace, has no process.
            if told.si_pid > 0:
                with contextlib.suppress(Exception):  # who it was must not keep it from being heard
                    sender, about = owner(told.si_pid), _about(told.si_pid, told.si_uid)
            self._hear(Heard(_WORDS[number], number.name, sender, about))

    def _nameless(self, number: int) -> None:
        """One whose sender is not told."""
        self._hear(Heard(_WORDS[signal.Signals(number)], signal.Signals(number).name))


def _about(pid: int, uid: int) -> str:
    """By number: a name may have to come over a network that does not answer."""
    if pid == os.getpid():
        return "itself"
    user = "root" if uid == 0 else f"uid {uid}"
    return f"process {pid} of {user} ({_program(command_of(pid)) or 'it has ended since'})"


def _program(command: str) -> str:
    """The program, and the script when one follows: what comes after may be a password."""
    words = command.split(" ")
    shown = words[: 1 if len(words) > 1 and words[1].startswith("-") else 2]
    return " ".join([*shown, *(["…"] if len(words) > len(shown) else [])])[:_LONGEST_COMMAND]
