"""One life of the daemon in the log of starts: why it began, how the one before ended, and how this one does."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from heartbeat.flapping import Flapping, find_flapping
from heartbeat.log import warn
from heartbeat.marker import forget_intent, read_intent
from heartbeat.paths import Home
from heartbeat.process import command_of, is_alive, owner
from heartbeat.starts import Start, evidence_of, log_ending, log_start, read_starts

_HOW_OF_RESULT = {
    "success": "stopped",
    "exit-code": "failed",
    "watchdog": "watchdog",
    "signal": "killed",
    "core-dump": "killed",
    "oom-kill": "killed",
    "timeout": "killed",
}
"""How a life ended, by what systemd says of it (systemd.exec(5), `$SERVICE_RESULT`)."""
_MOST_TOLD = 4096
_SHELLS = ("sh", "ash", "bash", "dash", "fish", "ksh", "zsh")


class Life:
    """This one. *flapping* is what the log shows when this start is counted."""

    def __init__(self, home: Home, start: Start, flapping: Flapping | None) -> None:
        self._file = home.starts_file
        self._owner = start.owner
        self.why, self.by = start.why, start.by
        self.flapping = flapping
        self._has_ended = False

    def end(self, at: float, how: str, ending: str, sender: str = "") -> None:
        """Write down how it ended, the first time that is said; a full disk must not keep it from ending."""
        if self._has_ended:
            return
        self._has_ended = True
        try:
            log_ending(self._file, self._owner, at=at, how=how, ending=ending, sender=sender)
        except OSError as error:
            warn("ending_not_written", how=how, ending=ending, error=error)


def begin(home: Home, now: float, *, at_terminal: bool) -> Life:
    """Enter this start, and before it how the last life ended if nobody did; raises OSError."""
    starts = read_starts(home.starts_file)
    dump = _take_dump(home.crash_file)
    if starts and not starts[-1].how and not is_alive(starts[-1].owner):
        _enter_lost(home, starts[-1], dump, now)
        starts = read_starts(home.starts_file)
    last = starts[-1] if starts else None
    word, by = read_intent(home.intent_file, now)
    asked_by = by or word if word in ("install", "start", "restart") else "a terminal" if at_terminal else ""
    start = Start(now, why_started(last, owner(), asked=bool(asked_by)), owner=owner(), by=asked_by)
    log_start(home.starts_file, start)
    with suppress(OSError):
        forget_intent(home.intent_file)
    if last is not None and last.how != "stopped":
        warn("ended_before", how=last.how or "lost", ending=last.ending, sender=last.sender or None, dump=dump or None)
    evidence = evidence_of([*starts, start])
    return Life(home, start, find_flapping(evidence, now) if start.is_evidence else None)


def why_started(last: Start | None, me: str, *, asked: bool) -> str:
    """Why a daemon starts after the life *last*."""
    if asked:
        return "asked"
    if last is None:
        return "unknown"
    if last.boot and last.boot != me.partition("@")[2]:
        return "boot"
    if last.how == "watchdog":
        return "watchdog"
    return "unknown" if last.how == "stopped" else "crash"


def enter_result(home: Home, environ: Mapping[str, str], now: float) -> bool:
    """Write down what systemd says of the end of the last life, unless the daemon told it itself; raises OSError."""
    starts = read_starts(home.starts_file)
    if not starts or starts[-1].how or is_alive(starts[-1].owner):
        return False  # the last: another daemon may hold the lock, and this service only be refused
    result = environ.get("SERVICE_RESULT", "")
    how = _HOW_OF_RESULT.get(result, "lost")
    code, status = environ.get("EXIT_CODE", ""), environ.get("EXIT_STATUS", "")
    ending = f"systemd says: {result or 'nothing'}" + (f" ({code} {status})" if code else "")
    return log_ending(home.starts_file, starts[-1].owner, at=now, how=how, ending=ending)


def _enter_lost(home: Home, last: Start, dump: str, now: float) -> None:
    """Whoever ends without a word has it written by the next."""
    at = now
    with suppress(OSError):
        # Its last proof of life is the latest that is known of it.
        at = min(now, max(last.at, os.stat(home.pulse_file).st_mtime))
    how, ending = "lost", "it ended without a word: killed, or the machine lost its power"
    if dump.startswith("Timeout"):
        how, ending = "watchdog", "its loop stood still, and the dead man's timer ended it"
    elif dump:
        how, ending = "killed", dump.splitlines()[0]
    log_ending(home.starts_file, last.owner, at=at, how=how, ending=ending)


def _take_dump(file: Path) -> str:
    """What the interpreter wrote at the end of the last life, which is kept beside."""
    try:
        text = file.read_bytes()[:_MOST_TOLD].decode(errors="replace")
        if text:
            file.replace(file.with_name(f"{file.stem}.last{file.suffix}"))
    except OSError:
        return ""
    return text


def is_at_terminal() -> bool:
    """Whether somebody started this process at a terminal, and has it before them."""
    parent = os.getppid()
    # In a container with a terminal of its own nobody need be there: init, or nobody, has started it then.
    if parent == 0 or (parent == 1 and os.path.basename(command_of(1).partition(" ")[0]).lstrip("-") not in _SHELLS):
        return False
    try:
        return sys.stdin is not None and os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False
