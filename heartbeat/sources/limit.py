"""A hard limit on computing that cannot be trusted to end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_AGAIN = 0.1
"""Should a library swallow the first interruption, the next one follows."""
TOO_LARGE = 3
"""The exit status of a process whose memory did not suffice."""


class OutOfTime(Exception):
    """The computation was ended by its limit."""


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise OutOfTime inside the block once it has used *seconds* of CPU time. Main thread only.

    CPU time, not the clock's: a busy machine must not make a calendar look hostile.
    """

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
