"""`--assert-fresh`: the last good run of a job, from a ledger that is only read; without proof it never holds."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.durations import parse_duration
from heartbeat.probe.fresh import read_age, why_not_fresh
from heartbeat.probe.instants import seconds_of, span_of, text_of
from heartbeat.stores.sqlite import open_ledger
from tests.probe.installation import Actor, Installation, enter_run

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0


@pytest.fixture(scope="module")
def actor() -> Iterator[Actor]:
    found = Actor()
    yield found
    found.end()


@pytest.fixture
def place(tmp_path: Path, actor: Actor) -> Installation:
    return Installation(tmp_path, actor).ledger()


def why(place: Installation, job: str = "check", age: float | None = None) -> str:
    return why_not_fresh(str(place.state), job, age, time.time())


def run(*runs: tuple[float, str, str]) -> Callable[[Path], None]:
    """Runs of the job `other`: so long ago, in a state, with a verdict."""

    def enter(path: Path) -> None:
        for age, state, verdict in runs:
            enter_run(path, "other", age, state=state, verdict=verdict)

    return enter


@pytest.mark.parametrize(
    ("enter", "age", "said"),
    [
        (run((30, "ended", "quiet")), 60, ""),
        (run((30, "ended", "wake")), 60, ""),
        (run((59, "ended", "quiet")), 60, ""),
        (run((61, "ended", "quiet")), 60, "it may be 60 s old"),
        (run((30, "ended", "failed")), 60, "no good run yet"),
        (run((30, "ended", "malformed")), 60, "no good run yet"),
        (run((30, "ended", "timeout")), 60, "no good run yet"),
        (run((30, "interrupted", "quiet")), 60, "no good run yet"),
        (run((30, "running", "quiet")), 60, "no good run yet"),
        (run((30, "running", "quiet"), (9, "ended", "failed")), 60, "no good run yet"),
        (run((900, "ended", "quiet"), (30, "ended", "failed")), 60, "it may be 60 s old"),
        (run((40, "ended", "quiet"), (30, "ended", "failed")), 60, ""),
        (run((-1, "ended", "quiet")), 60, "yet to come"),
        (run((-3_600, "ended", "quiet")), 60, "yet to come"),
        # The one entered last counts: before it, the clock was wrong.
        (run((-3_600, "ended", "quiet"), (30, "ended", "quiet")), 60, ""),
    ],
    ids=lambda value: None if callable(value) else str(value),
)
def test_only_the_last_good_run_counts(
    place: Installation, enter: Callable[[Path], None], age: float, said: str
) -> None:
    enter(place.home.ledger_file)
    found = why(place, "other", age)
    assert (said in found) if said else (found == "")


@pytest.mark.parametrize(
    ("slots", "ended", "holds"),
    [
        ([1_260, 660, 60], 1_200, True),  # every ten minutes: twice that, and a minute
        ([1_900, 1_300, 700, 100], 1_255, True),
        ([1_900, 1_300, 700, 100], 1_262, False),
        ([2_700, 2_100, 1_500], 1_500, False),
        ([3 * DAY + HOUR, HOUR], HOUR, True),
        ([5 * DAY, 4 * DAY, 71 * HOUR], 71 * HOUR, False),  # daily, and not for three days
        ([8 * DAY, 7 * DAY, 4 * DAY, 3 * DAY - HOUR], 3 * DAY - HOUR, True),  # on weekdays, and it is Monday morning
        ([HOUR], HOUR, True),
        ([23 * HOUR], 23 * HOUR, True),
        ([25 * HOUR], 25 * HOUR, False),  # one slot tells no interval: a day
    ],
)
def test_without_an_age_it_is_twice_the_jobs_own_interval(
    place: Installation, slots: list[float], ended: float, holds: bool
) -> None:
    for age in slots:
        enter_run(place.home.ledger_file, "other", age, verdict="quiet" if age >= ended else "failed")
    if ended not in slots:
        enter_run(place.home.ledger_file, "other", ended, slots=0)
    assert (why(place, "other") == "") == holds


def test_a_stretch_of_slots_that_ended_alike_tells_the_interval_too(place: Installation) -> None:
    enter_run(place.home.ledger_file, "other", 100, slots=30)  # every minute
    assert why(place, "other") == ""
    enter_run(place.home.ledger_file, "third", 200, slots=30)
    assert "it may be 3 min old" in why(place, "third")


def test_an_unknown_job_fails_and_the_names_near_it_are_told(place: Installation) -> None:
    assert "did you mean check?" in why(place, "chekc")
    assert "did you mean check?" in why(place, "vip-mail")
    place.home.ledger_file.unlink()
    open_ledger(place.home.ledger_file).close()
    assert why(place, "check").endswith("it knows none")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def foreign(path: Path) -> None:
    path.unlink()
    sqlite3.connect(path).execute("CREATE TABLE t (a)").connection.close()


def tear(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5_000])


@pytest.mark.parametrize(
    "damage",
    [
        Path.unlink,
        folder,
        pipe,
        foreign,
        tear,
        *[lambda path, c=c: path.write_bytes(c) for c in (b"", b"x", b"\0" * 9999)],
    ],
    ids=["missing", "folder", "pipe", "another database", "torn", "empty", "letter", "zeros"],
)
def test_a_ledger_that_cannot_be_read_never_proves_anything(
    place: Installation, damage: Callable[[Path], object]
) -> None:
    damage(place.home.ledger_file)
    begun = time.monotonic()
    assert why(place).startswith("cannot read ")
    assert time.monotonic() - begun < 3


def test_a_ledger_that_somebody_keeps_locked_costs_a_second(place: Installation) -> None:
    db = sqlite3.connect(place.home.ledger_file, isolation_level=None)
    db.execute("PRAGMA journal_mode = DELETE")
    db.execute("BEGIN EXCLUSIVE")
    (place.state / "ledger.db-shm").touch()
    (place.state / "ledger.db-wal").touch()
    begun = time.monotonic()
    assert "locked" in why(place)
    assert 0.5 < time.monotonic() - begun < 3
    db.close()


def test_it_reads_beside_a_daemon_that_writes_and_leaves_no_trace(place: Installation) -> None:
    files = {path.name for path in place.state.iterdir()}
    assert why(place) == ""
    assert {path.name for path in place.state.iterdir()} == files
    with open_ledger(place.home.ledger_file):
        writer = sqlite3.connect(place.home.ledger_file, isolation_level=None)
        enter_run(place.home.ledger_file, "fresh", 5)
        writer.execute("BEGIN IMMEDIATE")
        while_open = {path.name: path.read_bytes() for path in place.state.iterdir()}
        assert why(place, "fresh") == ""
        assert {path.name: path.read_bytes() for path in place.state.iterdir()} == while_open
        writer.close()


@given(st.integers(0, 10**5).map(lambda n: f"{n}m") | st.text("0123456789wdhms ", max_size=12))
def test_an_age_is_a_duration_as_everywhere_else(text: str) -> None:
    try:
        expected = parse_duration(text).total_seconds()
    except ValueError:
        expected = 0.0
    if expected:
        assert read_age(text) == expected
    else:
        with pytest.raises(ValueError, match="write it like 90m"):
            read_age(text)


# Instants


@given(st.integers(0, 253_402_300_799))
def test_an_instant_comes_back_from_its_text(at: int) -> None:
    assert seconds_of(text_of(at)) == at


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("1970-01-01T00:00:00.000000Z", 0.0),
        ("2024-02-29T12:00:00.500000Z", 1_709_208_000.5),
        ("2026-06-10T08:00:00.000000Z", 1_781_078_400.0),
        ("", None),
        ("x", None),
        ("2026-06-10", None),
        ("2026-06-10T08:00:00", None),
        ("2026-13-10T08:00:00Z", None),
        ("2026-00-10T08:00:00Z", None),
        ("2026-06-10T25:00:00Z", None),
        ("2026-06-10T08:00:nanZ", None),
        ("2026-06-10T08:00:infZ", None),
        ("\u0662026-06-10T08:00:00Z", None),
    ],
)
def test_what_is_no_instant_is_none(text: str, at: float | None) -> None:
    assert seconds_of(text) == at


@pytest.mark.parametrize("at", [float("inf"), float("nan"), 1e300, -1e300])
def test_what_no_calendar_shows_is_said_so(at: float) -> None:
    assert text_of(at) == "an unknown instant"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (119, "119 s"), (120, "2 min"), (7_199, "120 min"), (7_200, "2 h"), (172_800, "2 d")],
)
def test_a_span_is_told_in_the_unit_that_fits(seconds: float, text: str) -> None:
    assert span_of(seconds) == text
