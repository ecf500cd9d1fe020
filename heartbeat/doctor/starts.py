"""How the daemon's last lives began and ended."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from heartbeat.clock import to_seconds
from heartbeat.doctor._answer import Answer, fail, ok, skip, warn
from heartbeat.doctor._case import Case
from heartbeat.flapping import find_flapping
from heartbeat.starts import Start, evidence_of, read_starts

_LOGS = "run `heartbeat logs` for what it said last"


def look(case: Case) -> Iterator[Answer]:
    """The last start and the last ending; a loop of starts."""
    try:
        starts = read_starts(case.home.starts_file)
    except OSError as error:
        yield fail(
            f"cannot read {case.home.starts_file}: {error.strerror}",
            f"`chown {case.owner_name} {case.home.starts_file}`",
        )
        return
    if not starts:
        yield skip("it was never started here")
        return
    yield ok(f"the last start was {_at(starts[-1].at)}, {_why(starts[-1])}", "start")
    now = case.now.timestamp()
    if flapping := find_flapping(evidence_of(starts), now):
        yield fail(flapping.message, f"run `heartbeat health` for who does that; {_LOGS}", "loop")
    elif any(start.at > now for start in starts):
        yield warn("a start lies in the future: the clock was set back", "set the clock; see `heartbeat clock`", "loop")
    ended = next((start for start in reversed(starts) if start.how), None)
    if ended is None:
        return
    seen = f"the last life ended {_at(ended.ended_at or ended.at)}: {ended.how}" + (
        f", {ended.ending}" if ended.ending else ""
    )
    yield ok(seen, "ending") if ended.how == "stopped" else warn(seen, _LOGS, "ending")


def _at(seconds: float) -> str:
    return to_seconds(datetime.fromtimestamp(seconds, UTC))


def _why(start: Start) -> str:
    words = {
        "boot": "by the start of the machine",
        "asked": f"asked for{f' by {start.by}' if start.by else ''}",
        "crash": "after a crash",
        "watchdog": "after it hung",
    }
    return words.get(start.why, "nobody knows why")
