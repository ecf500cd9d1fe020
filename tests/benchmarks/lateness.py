"""How late what is due begins: once a second, and many in the same second."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from heartbeat.paths import Home
from heartbeat.stores.sqlite import open_existing
from tests.benchmarks.tools import STAMPING, Daemon, Peer, Yacron, home_in, median_of_each, rank, say

_SECONDS = 125  # two full minutes whenever it begins, for yacron
_JOBS = 100
_WORKERS = 8
_BURSTS = 3
_OURS, _THEIRS = (5, 25, 45), (15, 35, 55)
"""Seconds of the minute at which the many are due: in turn, and away from what others do at full minutes."""


def second(folder: Path) -> None:
    """Lateness at 1 Hz over two minutes, heartbeat, APScheduler and yacron side by side.

    In process: heartbeat from the slot to the run's claim, as the ledger has it (`started_at - slot_at`); APScheduler
    from the full second to what its job notes. To the script's first command: heartbeat once a second; yacron, which
    knows no seconds, at the full minutes, two or three in all.
    """
    home = home_in(folder / "ours", "[jobs.second]\nscript = 'jobs/quiet.sh'\ncron = '* * * * * *'\n", STAMPING)
    theirs, yacrons = folder / "theirs", folder / "yacron"
    for place in (theirs, yacrons):
        place.mkdir()
    command = 'date "+%s.%N" >> "$HEARTBEAT_HOME/stamps"'
    with ExitStack() as stack:
        daemon = stack.enter_context(Daemon(home))
        peer = stack.enter_context(Peer(theirs, "second"))
        yacron = stack.enter_context(Yacron(yacrons, [("minute", "* * * * *", command)]))
        for wait in (daemon.first_beat, peer.ready, yacron.ready):
            wait()
        time.sleep(_SECONDS)
    claims, fires = _claims(home), _instants(theirs / "picked")
    ours, noted = [late for _, late in claims], [instant % 1 for instant in fires]
    for name, share in (("p50", 0.5), ("p99", 0.99), ("max", 1.0)):
        goal = "50 ms in process" if name == "p99" else "-"
        _compare(f"1 Hz, lateness {name}", rank(ours, share), "APScheduler", rank(noted, share), goal)
    slots = [int(slot) for slot, _ in claims]
    say(
        "1 Hz, slots run, missed or doubled",
        _gaps(slots),
        "APScheduler",
        _gaps([int(instant) for instant in fires]),
        None,
        "none missed, none doubled",
    )
    scripts = [late for _, late in _stamps(home)]
    minutes = [instant % 60 for instant in _instants(yacrons / "stamps")]
    for name, share in (("p50", 0.5), ("max", 1.0)):
        than = f"yacron, {len(minutes)} minutes"
        _compare(f"1 Hz, script begins {name}", rank(scripts, share), than, rank(minutes, share), "-")


def burst(folder: Path) -> None:
    """100 jobs due in the same second, three times, in turn with APScheduler with as many workers and the same script.

    `claimed` is from the slot to the run's claim in heartbeat, and to the start of the job's function in a worker in
    APScheduler; `script` is to the script's own first command in both. Each figure is the median of the three times.
    """
    seconds = ",".join(map(str, _OURS))
    jobs = "".join(
        f"[jobs.job-{number}]\nscript = 'jobs/quiet.sh'\ncron = '{seconds} * * * * *'\n" for number in range(_JOBS)
    )
    home = home_in(folder / "ours", f"[daemon]\nworkers = {_WORKERS}\n{jobs}", STAMPING)
    theirs = folder / "theirs"
    theirs.mkdir()
    arguments = (str(_JOBS), ",".join(map(str, _THEIRS)), str(_WORKERS), str(home.jobs / "quiet.sh"))
    with Daemon(home) as daemon, Peer(theirs, "burst", *arguments) as peer:
        daemon.first_beat()
        peer.ready()
        time.sleep(60 * _BURSTS / len(_OURS) + 2)
    for what, ours, others in (
        ("claimed", _claims(home), _slotted(_instants(theirs / "picked"))),
        ("script", _stamps(home), _slotted(_instants(theirs / "stamps"))),
    ):
        mine, yours = _spread(ours), _spread(others)
        for name, first, last in zip(("first", "p50", "p99", "last"), mine, yours, strict=True):
            goal = f"{(first - last) * 1e3:+.0f} of +100 ms" if name == "first" else "-"
            _compare(f"{_JOBS} at once, {what} {name}", first, "APScheduler", last, goal)


def _compare(what: str, ours: float, than: str, theirs: float, goal: str) -> None:
    say(what, f"{ours * 1e3:.1f} ms", than, f"{theirs * 1e3:.1f} ms", ours / theirs, goal)


def _claims(home: Home) -> list[tuple[float, float]]:
    """Slot and lateness of each claim in the ledger."""
    with open_existing(home.ledger_file) as ledger:
        runs = ledger.runs(limit=10_000)
    return [
        (run.slot_at.timestamp(), (run.started_at - run.slot_at).total_seconds())
        for run in reversed(runs)
        if run.slot_at
    ]


def _stamps(home: Home) -> list[tuple[float, float]]:
    """Slot and lateness of each script's beginning."""
    pairs = [line.split() for line in (home.config / "stamps").read_text().splitlines()]
    slotted = [(datetime.fromisoformat(slot).timestamp(), float(began)) for began, slot in pairs]
    return [(slot, began - slot) for slot, began in slotted]


def _instants(file: Path) -> list[float]:
    return [float(line) for line in file.read_text().split()]


def _slotted(instants: Sequence[float]) -> list[tuple[float, float]]:
    """Slot and lateness, for the peer's bursts, which come 20 s apart."""
    period = _THEIRS[1] - _THEIRS[0]
    slots = [instant - (instant - _THEIRS[0]) % period for instant in instants]
    return [(slot, instant - slot) for slot, instant in zip(slots, instants, strict=True)]


def _spread(claims: Sequence[tuple[float, float]]) -> list[float]:
    """First, p50, p99 and last of a burst, each the median of all the bursts that are whole."""
    bursts: dict[float, list[float]] = {}
    for slot, late in claims:
        bursts.setdefault(slot, []).append(late)
    whole = [sorted(lates) for lates in bursts.values() if len(lates) == _JOBS]
    return median_of_each([[rank(lates, share) for share in (0.0, 0.5, 0.99, 1.0)] for lates in whole])


def _gaps(slots: Sequence[int]) -> str:
    expected = range(min(slots), max(slots) + 1)
    missed, doubled = len(set(expected) - set(slots)), len(slots) - len(set(slots))
    return f"{len(slots)}, {missed}, {doubled}"
