"""Reads iCalendar bytes in a process of its own, within a time and a memory that no calendar can exceed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from subprocess import DEVNULL, PIPE
from time import monotonic

from heartbeat.sources import SourceFailed
from heartbeat.sources.calendars.asking import Asking
from heartbeat.sources.limit import TOO_LARGE
from heartbeat.sources.rows import Row

SECONDS = 30
MEMORY = 512 << 20
_AT_ONCE = threading.BoundedSemaphore(2)
"""Each may take a processor and some hundred megabytes."""


class TooMuch(SourceFailed):
    """It does not end within its limits, and will not, as long as it is what it is."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the worker found."""

    rows: list[Row]
    """By their start."""
    events: int
    """How many events the source holds in all."""
    until: datetime
    whole: bool
    warnings: tuple[str, ...]
    cut: bool
    """Some of it is missing, and nobody knows what."""
    lost: tuple[str, ...]
    """The UIDs that were given up: of all others everything is here."""
    places: dict[str, list[int]]
    """In which of several contents each UID was found."""


def expand_apart(contents: Sequence[bytes], ask: Asking) -> Answer:
    """The occurrences of one calendar in the span that *ask* names; raises SourceFailed.

    It takes at most 30 s, and ends at the deadline of *ask* in any case. May be called in any thread.
    """
    if not _AT_ONCE.acquire(timeout=ask.left):
        raise SourceFailed("cannot read the calendar: the others took all the time; use fewer or smaller ones")
    try:
        seconds = max(1, int(min(SECONDS, ask.left)))
        began = monotonic()
        status, answer = _run(_question(contents, ask, seconds), contents, seconds)
    finally:
        _AT_ONCE.release()
    if status == -signal.SIGKILL and monotonic() - began < seconds:
        raise SourceFailed("cannot read the calendar: its reader was ended from outside; it is tried again next time")
    if status in (-signal.SIGKILL, -signal.SIGALRM):
        late = TooMuch if seconds == SECONDS else SourceFailed  # with less time than usual it need not be its own fault
        raise late(f"cannot read the calendar: it takes longer than {seconds} s; split it, or take a part of it")
    if status == TOO_LARGE:
        raise TooMuch(f"cannot read the calendar: it takes more than {MEMORY >> 20} MiB of memory; split it")
    try:
        found = json.loads(answer)
        found["until"] = datetime.fromisoformat(found["until"])
        return Answer(**{**found, "warnings": tuple(found["warnings"]), "lost": tuple(found["lost"])})
    except (ValueError, LookupError, TypeError):
        raise SourceFailed(f"cannot read the calendar: its reader ended with {status}; please report this") from None


def _question(contents: Sequence[bytes], ask: Asking, seconds: int) -> bytes:
    question = {
        "seconds": seconds + 1,
        "memory": MEMORY,
        "since": ask.since.isoformat(),
        "until": ask.until.isoformat(),
        "home": str(ask.home),
        "owner": ask.owner,
        "description": ask.description,
        "also": sorted(ask.also),
        "sizes": [len(content) for content in contents],
    }
    return json.dumps(question).encode() + b"\n"


def _run(question: bytes, contents: Sequence[bytes], seconds: float) -> tuple[int, bytes]:
    """The exit status of the worker, and what it said."""
    # -P: the folder of the script must not shadow a library. No own session: what ends the script ends it too.
    command = [sys.executable, "-P", "-m", "heartbeat.sources.worker"]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        killer = threading.Timer(seconds, worker.kill)
        killer.daemon = True
        killer.start()
        answer = b""
        try:
            with suppress(BrokenPipeError):  # it ended before it took all in: its status says why
                for piece in (question, *contents):
                    worker.stdin.write(piece)
                worker.stdin.flush()
                answer = worker.stdout.read()
            with suppress(BrokenPipeError):
                worker.stdin.close()
            return worker.wait(), answer
        finally:
            killer.cancel()
            worker.kill()  # at an interruption; otherwise it has ended
