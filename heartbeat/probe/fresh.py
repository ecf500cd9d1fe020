"""Whether a job's last good run is recent enough, from the ledger, which is only read. Standard library only."""

from __future__ import annotations

import os
import stat
import time

from heartbeat.probe.ground import LEDGER
from heartbeat.probe.instants import local_of, seconds_of, span_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

_WAIT = 1.0
_UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_LOOKED_AT = 10
"""Of the latest slots: the longest gap between them is the interval, so that a weekend is no fault."""
_SLACK = 60.0
_UNKNOWN_INTERVAL = 86_400.0
# The latest run is the one entered last: a clock set back does not disturb that order.
_LAST_GOOD = """
    SELECT ended_at FROM runs WHERE job = ? AND state = 'ended' AND verdict IN ('wake', 'quiet')
    ORDER BY rowid DESC LIMIT 1"""
# What is dated ahead was entered under a wrong clock, and would tell how far that was off instead of the interval.
_SLOTS = """
    SELECT slot_at, last_at, count FROM slots WHERE job = ? AND slot_at <= ? ORDER BY slot_at DESC LIMIT ?"""
# The last slot that ran before the clock was ahead, if that was lately.
_BEFORE_STEP = """
    WITH latest AS (
        SELECT rowid AS entered, slot_at FROM runs WHERE job = :job AND slot_at IS NOT NULL
        ORDER BY rowid DESC LIMIT 1000)
    SELECT max(slot_at) FROM latest WHERE entered < (SELECT min(entered) FROM latest WHERE slot_at > :now)"""
_KNOWN = "SELECT job FROM jobs UNION SELECT DISTINCT job FROM runs"


def read_age(text: str) -> float:
    """Seconds of an age such as `90m` or `1h30m`; raises ValueError. `heartbeat.durations` is too slow to load."""
    total, digits = 0, ""
    for letter in text:
        if letter.isascii() and letter.isdigit() and len(digits) < 6:  # noqa: PLR2004 as long as any duration
            digits += letter
        elif letter in _UNITS and digits:
            total, digits = total + int(digits) * _UNITS[letter], ""
        else:
            digits = "?"
            break
    if digits or not total:
        raise ValueError(f"cannot read {text!r} as an age; write it like 90m or 1h30m, with w, d, h, m or s")
    return float(total)


def why_not_fresh(state: str, job: str, age: float | None, now: float) -> str:
    """Why the job's last good run is not fresh; empty when it is.

    *age* is how old it may be, in seconds; None is twice the job's own interval and a minute, or a day while it has
    had fewer than two slots. Whatever cannot be read is a reason.
    """
    import sqlite3  # here: nobody else waits for it

    path = f"{state}/{LEDGER}"
    try:
        # SQLite would wait for ever at a pipe.
        if not stat.S_ISREG(os.stat(path).st_mode):
            return f"cannot read {path}: it is no regular file"
        ledger = sqlite3.connect(_address(path), uri=True, timeout=_WAIT, isolation_level=None)
        try:
            until = time.monotonic() + _WAIT
            ledger.set_progress_handler(lambda: int(time.monotonic() > until), 10_000)
            return _judge(ledger, job, age, now)
        finally:
            ledger.close()
    except OSError as error:
        return f"cannot read {path}: {(error.strerror or str(error)).lower()}"
    except (sqlite3.Error, ValueError, TypeError) as error:
        return f"cannot read {path}: {error}"


def _address(path: str) -> str:
    """How to open the ledger without leaving a trace.

    Where no `-shm` lies beside it, nobody has it open, and SQLite would make one. What a lost one held is then not
    seen, which makes a run look older, never younger.
    """
    from urllib.parse import quote

    is_open = os.path.exists(f"{path}-shm") and os.path.exists(f"{path}-wal")
    return f"file:{quote(path)}?mode=ro&" + ("readonly_shm=1" if is_open else "immutable=1")


def _judge(ledger: sqlite3.Connection, job: str, age: float | None, now: float) -> str:
    row = ledger.execute(_LAST_GOOD, (job,)).fetchone()
    if row is None:
        return _never(job, [str(name) for (name,) in ledger.execute(_KNOWN)])
    ended = seconds_of(row[0])
    if ended is None:
        return f"its last good run has no time that can be read: {row[0]!r}"
    if ended > now:
        return f"its last good run is dated {local_of(ended)}, which is yet to come; was the clock set back?"
    limit = age if age is not None else _usual(ledger, job, now)
    if now - ended > limit:
        return f"its last good run ended {local_of(ended)}, {span_of(now - ended)} ago; it may be {span_of(limit)} old"
    return ""


def _never(job: str, known: list[str]) -> str:
    if job in known:
        return "it has had no good run yet"
    import difflib

    near = difflib.get_close_matches(job, known, n=3) or sorted(known)[:10]
    return "the ledger knows no such job" + (f"; did you mean {', '.join(near)}?" if near else "; it knows none")


def _usual(ledger: sqlite3.Connection, job: str, now: float) -> float:
    """Twice the longest gap between the latest slots, newest first; one while the clock was ahead is none."""
    row = ledger.execute(_BEFORE_STEP, {"job": job, "now": text_of(now)}).fetchone()
    step = seconds_of(row[0] or "")
    gaps: list[float] = []
    after: float | None = None
    for slot_at, last_at, count in ledger.execute(_SLOTS, (job, text_of(now), _LOOKED_AT)):
        first, last = seconds_of(slot_at), seconds_of(last_at)
        if first is None or last is None:
            continue
        if after is not None and not (step is not None and last <= step < after):
            gaps.append(after - last)
        if count and count > 1:  # a stretch of slots that ended alike
            gaps.append((last - first) / (count - 1))
        after = first
    longest = max(gaps, default=0.0)
    return 2 * longest + _SLACK if longest > 0 else _UNKNOWN_INTERVAL
