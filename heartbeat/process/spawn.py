"""Starts children of a process whose own signals are blocked, and waited for by one of its threads.

A child inherits what the thread that starts it blocks, and would be deaf to SIGTERM. So that thread lets the signals
in meanwhile; one that comes in just then is handed on by its number.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Collection, Iterator

_blocked: frozenset[signal.Signals] = frozenset()
_arrivals = -1
_hand_on: Callable[[int], object] = print


def block(signals: Collection[signal.Signals], hand_on: Callable[[int], object]) -> None:
    """Block the signals in this thread and all it starts; once, in the main thread, with a handler set for each."""
    global _blocked, _arrivals, _hand_on
    _arrivals, told = os.pipe()
    for end in (_arrivals, told):
        os.set_blocking(end, False)
    # The handler itself runs in the main thread, once that has something to do: minutes later, perhaps.
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    _blocked, _hand_on = frozenset(signals), hand_on


@contextlib.contextmanager
def unblocked() -> Iterator[None]:
    """Start a child in here: it hears its signals."""
    if not _blocked:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_UNBLOCK, _blocked)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        with contextlib.suppress(BlockingIOError):
            for number in os.read(_arrivals, 64):
                _hand_on(number)
