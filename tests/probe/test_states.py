"""Evidence sets made of real files, locks and processes: the state, the problems, and whether each assertion holds."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from heartbeat.cli import examination
from heartbeat.cli.health import answer
from heartbeat.marker import Marker
from heartbeat.probe import own
from heartbeat.probe.instants import local_of
from heartbeat.probe.supervisor import Supervised
from heartbeat.starts import Start
from tests.probe.installation import BY_CRON, BY_INSTALLER, Actor, Installation, lived, zombie

NONE = "no such name"
DAY = 86_400.0


@pytest.fixture(scope="module")
def actor() -> Iterator[Actor]:
    found = Actor()
    yield found
    found.end()


@pytest.fixture
def place(tmp_path: Path, actor: Actor, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    made = Installation(tmp_path, actor)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("HEARTBEAT_LAUNCHCTL", str(tmp_path / "bin" / "launchctl"))
    # It looks at the whole machine; tests/probe/restarters has its own.
    monkeypatch.setattr(examination, "own_restarters", lambda _folders: ((), (), ""))
    yield made
    actor.go_on()
    actor.drop()


class Clock:
    """The two clocks that the probe reads, each moved."""

    def __init__(self, wall: float = 0.0, monotonic: float = 0.0) -> None:
        self._wall = wall
        self._monotonic = monotonic

    def time(self) -> float:
        return time.time() + self._wall

    def monotonic(self) -> float:
        return time.monotonic() + self._monotonic


def gone(place: Installation) -> Installation:
    place.state.rmdir()
    return place


def folder_at(name: str) -> Callable[[Installation], Installation]:
    def make(place: Installation) -> Installation:
        path = place.state / name
        path.unlink(missing_ok=True)
        path.mkdir()
        return place

    return make


def pipe_at(name: str) -> Callable[[Installation], Installation]:
    def make(place: Installation) -> Installation:
        path = place.state / name
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        return place

    return make


def stopped(place: Installation) -> Installation:
    place.works()
    place.actor.stop()
    return place


def restarted(age: float, why: str) -> Callable[[Installation], Installation]:
    """A daemon that was started so many seconds ago, after another life."""

    def make(place: Installation) -> Installation:
        here = time.monotonic()
        place.ledger().started(lived(5_000, "killed", "signal 9")).starts(age, why=why)
        return place.lock().pulse(age=0, started_monotonic=here - age, started_at=age)

    return make


def killed(place: Installation) -> Installation:
    return place.ledger().started(lived(5_000, "killed", "killed by SIGKILL", "77:1@b")).pulse(age=4_990)


P = Installation
Row = tuple[str, Callable[[Installation], object], str, list[str]]
ABSENT: list[Row] = [
    ("no state folder", gone, "absent", []),
    ("a bare state folder", lambda p: p, "absent", []),
    ("only a ledger, of ticks by hand", P.ledger, "absent", []),
    ("an empty configuration", lambda p: p.home.config_file.touch(), "absent", []),
]
DOWN: list[Row] = [
    ("detached, never started", lambda p: p.installed("none", "heartbeat run", ""), "down", ["installed_not_started"]),
    (
        "installed, never started, and its unit is idle",
        lambda p: p.unit(ActiveState="inactive", SubState="dead", MainPID=0),
        "down",
        ["installed_not_started"],
    ),
    ("installed, and no unit", P.installed, "down", ["installed_not_started", "unit_missing"]),
    (
        "a marker that is none",
        lambda p: p.write("service", b"\xff\0"),
        "down",
        ["installed_not_started", "marker_unreadable"],
    ),
    ("a lock that nobody holds", lambda p: p.write("daemon.lock", b"1:1"), "down", ["not_running"]),
    ("a fresh pulse without a lock", lambda p: p.ledger().pulse(), "down", ["not_running"]),
    ("a life that ended without a word", lambda p: p.ledger().started(), "down", ["not_running", "ended_lost"]),
    ("a life that was killed", killed, "down", ["not_running", "ended_killed"]),
    (
        "a life that was stopped",
        lambda p: p.started(lived(900, "stopped", "SIGTERM")),
        "down",
        ["not_running", "ended_stopped"],
    ),
    (
        "a life that failed",
        lambda p: p.started(lived(900, "failed", "OSError")),
        "down",
        ["not_running", "ended_failed"],
    ),
    (
        "a life that hung",
        lambda p: p.started(lived(900, "watchdog", "hung")),
        "down",
        ["not_running", "ended_watchdog"],
    ),
    (
        "a start in milliseconds",
        lambda p: p.write("starts.log", f"{time.time() * 1000}\tcrash\n".encode()),
        "down",
        ["not_running", "starts_malformed"],
    ),
    (
        "a log of nonsense",
        lambda p: p.write("starts.log", b"\0\xff[{" * 999),
        "down",
        ["not_running", "starts_malformed"],
    ),
    (
        "a log too large to be ours",
        lambda p: p.write("starts.log", b"x" * 999_999),
        "down",
        ["not_running", "starts_malformed"],
    ),
    ("a log that is a pipe", pipe_at("starts.log"), "down", ["not_running"]),
    ("a log that is a folder", folder_at("starts.log"), "down", ["not_running", "starts_unreadable"]),
    ("a lock that is a folder", folder_at("daemon.lock"), "down", ["not_running"]),
    ("a lock that is a pipe", pipe_at("daemon.lock"), "down", ["not_running"]),
    ("a pulse that is a folder", folder_at("pulse"), "down", ["not_running", "pulse_unreadable"]),
    ("a pulse that is a pipe", pipe_at("pulse"), "down", ["not_running", "pulse_unreadable"]),
    ("a start in the future", lambda p: p.starts(-DAY), "down", ["not_running", "ended_lost", "clock_wrong"]),
    (
        "a torn ledger",
        lambda p: p.started().write("ledger.db", b"SQLite for"),
        "down",
        ["not_running", "ended_lost", "ledger_corrupt"],
    ),
    ("an empty ledger", lambda p: p.started().write("ledger.db", b""), "down", ["not_running", "ended_lost"]),
    (
        "a unit that was given up",
        lambda p: p.started().unit(ActiveState="failed", SubState="failed", MainPID=0, NRestarts=4, Result="exit-code"),
        "down",
        ["not_running", "ended_lost", "start_limit"],
    ),
    (
        "a unit that was given up after clean exits",
        lambda p: p.started().unit(ActiveState="failed", MainPID=0, Result="start-limit-hit"),
        "down",
        ["not_running", "ended_lost", "start_limit"],
    ),
    (
        "a unit that failed once",
        lambda p: p.started().unit(ActiveState="failed", MainPID=0, Result="signal"),
        "down",
        ["not_running", "ended_lost", "unit_failed"],
    ),
    (
        "a configuration that is not valid",
        lambda p: p.started().unit(ActiveState="failed", MainPID=0, Result="exit-code", ExecMainStatus=4),
        "down",
        ["not_running", "ended_lost", "config_error"],
    ),
    (
        "a unit that was refused the lock",
        lambda p: p.started().unit(ActiveState="failed", MainPID=0, Result="exit-code", ExecMainStatus=5),
        "down",
        ["not_running", "ended_lost", "start_refused"],
    ),
    (
        "a unit that has been starting for long",
        lambda p: p.started().unit(
            ActiveState="activating", SubState="auto-restart", MainPID=0, changed=61, NRestarts=2
        ),
        "down",
        ["not_running", "ended_lost", "restarting"],
    ),
    (
        "a supervisor that refuses",
        lambda p: p.started().unit().refused(),
        "down",
        ["not_running", "ended_lost", "supervisor_silent"],
    ),
    (
        "a job of launchd that ended well",
        lambda p: p.started().job("state = not running", "runs = 1", "last exit code = 0"),
        "down",
        ["not_running", "ended_lost"],
    ),
    (
        "a job of launchd with a configuration that is not valid",
        lambda p: p.started().job("state = not running", "runs = 1", "last exit code = 4"),
        "down",
        ["not_running", "ended_lost", "config_error"],
    ),
    (
        "a job of launchd that waits to be started, for long",
        lambda p: p.started().job("state = spawn scheduled", "runs = 2"),
        "down",
        ["not_running", "ended_lost", "restarting"],
    ),
    (
        "detached, and gone",
        lambda p: p.started().installed("none", "heartbeat run --detach", ""),
        "down",
        ["not_running", "ended_lost"],
    ),
]
STALLED: list[Row] = [
    ("no pulse", lambda p: p.ledger().started().lock(), "stalled", ["pulse_missing"]),
    ("a pulse 46 s old", lambda p: p.works().pulse(age=46), "stalled", ["pulse_stale"]),
    ("a pulse hours old", lambda p: p.works().pulse(age=9_000), "stalled", ["pulse_stale"]),
    ("a pulse from the future", lambda p: p.works().pulse(age=-30), "stalled", ["pulse_future"]),
    ("another process's pulse", lambda p: p.works().pulse(owner="1:1"), "stalled", ["pulse_foreign"]),
    ("the pulse of the last life", lambda p: p.works().pulse(owner=f"{p.actor.pid}:1"), "stalled", ["pulse_foreign"]),
    ("a nameless lock", lambda p: p.works().lock_again(""), "stalled", ["pulse_foreign"]),
    ("an empty pulse", lambda p: p.works().write("pulse", b""), "stalled", ["pulse_missing", "pulse_unreadable"]),
    (
        "a torn pulse",
        lambda p: p.works().write("pulse", b"owner\t1:1\nmono"),
        "stalled",
        ["pulse_missing", "pulse_unreadable"],
    ),
    (
        "a pulse of zeros",
        lambda p: p.works().write("pulse", b"\0" * 700),
        "stalled",
        ["pulse_missing", "pulse_unreadable"],
    ),
    (
        "a huge pulse",
        lambda p: p.works().write("pulse", b"x" * 3_000_000),
        "stalled",
        ["pulse_missing", "pulse_unreadable"],
    ),
    ("a pulse that is a pipe", lambda p: pipe_at("pulse")(p.works()), "stalled", ["pulse_missing", "pulse_unreadable"]),
    (
        "a pulse that is a folder",
        lambda p: folder_at("pulse")(p.works()),
        "stalled",
        ["pulse_missing", "pulse_unreadable"],
    ),
    (
        "a pid that another process got",
        lambda p: p.works().lock_again(f"{os.getpid()}:1"),
        "stalled",
        ["lock_stranger"],
    ),
    ("a pid that nobody has", lambda p: p.works().lock_again("999999999:1"), "stalled", ["lock_stranger"]),
    ("a process of the last boot", lambda p: p.works().lock_again(f"{p.actor.owner}0"), "stalled", ["lock_stranger"]),
    ("a worker that hangs", lambda p: p.works().pulse(wedged="run of check"), "stalled", ["worker_wedged"]),
    ("a stopped process", stopped, "stalled", ["process_stopped"]),
    (
        "a process that was stopped long ago",
        lambda p: stopped(p).pulse(age=90),
        "stalled",
        ["process_stopped", "pulse_stale"],
    ),
    (
        "an old pulse and a torn ledger",
        lambda p: p.works().pulse(age=90).write("ledger.db", b"x"),
        "stalled",
        ["pulse_stale", "ledger_corrupt"],
    ),
]
FLAPPING: list[Row] = [
    ("four crashes in ten minutes", lambda p: p.works().starts(590, 400, 300, 200), "flapping", ["flapping"]),
    (
        "a crash every four minutes, three times",
        lambda p: p.works().starts(490, 250, 10),
        "flapping",
        ["flapping"],
    ),
    ("a slow loop that began hours ago", lambda p: p.works().starts(*range(9_600, 0, -240)), "flapping", ["flapping"]),
    (
        "starts of unknown cause",
        lambda p: p.works().starts(580, 420, 250, 110, why="unknown"),
        "flapping",
        ["flapping"],
    ),
    ("bites of the watchdog", lambda p: p.works().starts(580, 420, 250, 110, why="watchdog"), "flapping", ["flapping"]),
    ("a restarter every 20 s", lambda p: p.works().starts(60, 40, 20, why="unknown"), "flapping", ["flapping"]),
    ("down just now, in a loop", lambda p: p.starts(60, 40, 20), "flapping", ["flapping", "not_running", "ended_lost"]),
    (
        "stalled just now, in a loop",
        lambda p: p.works().pulse(age=99).starts(90, 60, 50),
        "flapping",
        ["flapping", "pulse_stale"],
    ),
    (
        "a loop that never comes as far as the log",
        lambda p: p.started().unit(
            ActiveState="activating", SubState="auto-restart", MainPID=0, NRestarts=9, began=3, changed=400
        ),
        "flapping",
        ["flapping", "not_running", "ended_lost", "restarting"],
    ),
    (
        "a job of launchd in such a loop",
        lambda p: p.started().job("state = spawn scheduled", "runs = 40", "last exit code = 1"),
        "flapping",
        ["flapping", "not_running", "ended_lost", "restarting"],
    ),
]
DEGRADED: list[Row] = [
    (
        "an incident",
        lambda p: p.works().pulse(problems=(("source_failed", "no answer"),)),
        "degraded",
        ["source_failed"],
    ),
    ("safe mode", lambda p: p.works().pulse(problems=(("safe_mode", "wakes nobody"),)), "degraded", ["safe_mode"]),
    ("no log of starts", lambda p: p.ledger().lock().pulse(), "degraded", ["starts_missing"]),
    ("a log of nonsense", lambda p: p.works().write("starts.log", b"nan\n"), "degraded", ["starts_malformed"]),
    ("a log that is a folder", lambda p: folder_at("starts.log")(p.works()), "degraded", ["starts_unreadable"]),
    (
        "a log with a line that is none",
        lambda p: p.works().append("starts.log", b"1e99\n"),
        "degraded",
        ["starts_malformed"],
    ),
    ("a job that waits for a worker", lambda p: p.works().pulse(overdue="check"), "degraded", ["overdue"]),
    ("what was due 121 s before the beat", lambda p: p.works().pulse(next_due_at=126), "degraded", ["overdue"]),
    ("a crash ten seconds ago", restarted(10, "crash"), "degraded", ["just_restarted"]),
    ("a start of unknown cause two seconds ago", restarted(2, "unknown"), "degraded", ["just_restarted"]),
    (
        "three starts that cron asked for",
        lambda p: p.works().starts(500, 300, 100, why="asked", by=BY_CRON),
        "degraded",
        ["restart_requests"],
    ),
    ("a start in the future", lambda p: p.works().starts(-3_600), "up", []),
    ("a pulse written in the future", lambda p: p.works().pulse(written_at=-3_600), "up", []),
    ("a run in the future", lambda p: p.works().pulse(last_run_at=-3_600), "up", []),
    ("no ledger", lambda p: p.works().remove("ledger.db"), "degraded", ["ledger_missing"]),
    ("an empty ledger", lambda p: p.works().write("ledger.db", b""), "degraded", ["ledger_corrupt"]),
    ("a ledger of zeros", lambda p: p.works().write("ledger.db", b"\0" * 9_000), "degraded", ["ledger_corrupt"]),
    ("a ledger that is a pipe", lambda p: pipe_at("ledger.db")(p.works()), "degraded", ["ledger_unreadable"]),
    ("a ledger that is a folder", lambda p: folder_at("ledger.db")(p.works()), "degraded", ["ledger_unreadable"]),
    ("a marker that is none", lambda p: p.works().write("service", b"systemd"), "degraded", ["marker_unreadable"]),
    ("run by hand beside its service", lambda p: p.works().unit(MainPID=1), "degraded", ["foreign_daemon"]),
    (
        "run by hand instead of its service",
        lambda p: p.works().unit(MainPID=0, ActiveState="inactive"),
        "degraded",
        ["foreign_daemon"],
    ),
    ("a unit that is gone", lambda p: p.works().installed(), "degraded", ["unit_missing"]),
    (
        "killed, and about to be started again",
        lambda p: killed(p).unit(ActiveState="activating", SubState="auto-restart", MainPID=0, NRestarts=1, changed=3),
        "degraded",
        ["restarting"],
    ),
    (
        "about to be started again for nearly a minute",
        lambda p: p.started().unit(ActiveState="activating", SubState="auto-restart", MainPID=0, changed=58),
        "degraded",
        ["restarting"],
    ),
    (
        "a service that has just been started and has not the lock yet",
        lambda p: p.started().unit(MainPID=os.getpid(), began=1),
        "degraded",
        ["restarting"],
    ),
    (
        "a job of launchd that was killed just now",
        lambda p: p.starts(20, why="asked").job("state = spawn scheduled", "runs = 2"),
        "degraded",
        ["restarting"],
    ),
]
UP: list[Row] = [
    ("all well", P.works, "up", []),
    ("a pulse of this instant", lambda p: p.works().pulse(age=0), "up", []),
    ("a pulse 44 s old", lambda p: p.works().pulse(age=44), "up", []),
    ("under its unit", lambda p: p.works().unit(), "up", []),
    ("under its job", lambda p: p.works().job("state = running", f"pid = {p.actor.pid}", "runs = 1"), "up", []),
    ("detached", lambda p: p.works().installed("none", "heartbeat run --detach", ""), "up", []),
    ("a supervisor that refuses", lambda p: p.works().unit().refused(), "up", []),
    ("a unit with many restarts long ago", lambda p: p.works().unit(NRestarts=40), "up", []),
    (
        "a unit with many restarts, which the log tells of",
        lambda p: p.works().unit(NRestarts=40, began=3_010),
        "up",
        [],
    ),
    ("three crashes in ten minutes", lambda p: p.works().starts(590, 250, 100), "up", []),
    ("four crashes in eleven minutes", lambda p: p.works().starts(660, 640, 355, 50), "up", []),
    ("a chain that ended six minutes ago", lambda p: p.works().starts(900, 700, 610, 360), "up", []),
    (
        "ten starts that the owner asked for",
        lambda p: p.works().starts(*range(500, 0, -50), why="asked", by="a terminal"),
        "up",
        [],
    ),
    ("two starts that cron asked for", lambda p: p.works().starts(300, 100, why="asked", by=BY_CRON), "up", []),
    (
        "installed twice and restarted once by a program",
        lambda p: p.works().starts(300, 100, why="asked", by=BY_INSTALLER).starts(50, why="asked", by=BY_CRON),
        "up",
        [],
    ),
    ("three boots", lambda p: p.works().starts(280, 160, 40, why="boot"), "up", []),
    (
        "the first start of all, two seconds ago",
        lambda p: p.ledger().starts(2, why="unknown").lock().pulse(age=0),
        "up",
        [],
    ),
    ("a restart that was asked for, two seconds ago", restarted(2, "asked"), "up", []),
    ("a crash sixteen seconds ago", restarted(16, "crash"), "up", []),
    ("what was due 119 s before the beat", lambda p: p.works().pulse(next_due_at=124), "up", []),
    ("a start half a minute ahead", lambda p: p.works().starts(-30, why="asked"), "up", []),
    ("no ledger yet, before the first beat", lambda p: p.started().lock().pulse(last_beat_at=""), "up", []),
]
TABLE = [*ABSENT, *DOWN, *STALLED, *FLAPPING, *DEGRADED, *UP]


def test_the_table_is_as_long_as_it_should_be() -> None:
    names = [(row[2], row[0]) for row in TABLE]
    assert len(set(names)) == len(names) >= 100


@pytest.mark.parametrize(
    ("make", "state", "problems"), [row[1:] for row in TABLE], ids=[f"{r[2]}: {r[0]}" for r in TABLE]
)
def test_a_state_is_what_the_evidence_proves(
    place: Installation,
    capsys: pytest.CaptureFixture[str],
    make: Callable[[Installation], object],
    state: str,
    problems: list[str],
) -> None:
    make(place)
    health = place.look(thorough=True)
    assert (health.state, [code for code, _ in health.problems]) == (state, problems), health
    assert all(message and message.isprintable() for _, message in health.problems)
    assert "\n" not in health.summary
    assert (health.state in {"up", "absent"}) == (not health.problems)
    # Files alone show it as well, or as badly.
    assert place.look().is_live == health.is_live
    # Each assertion: its exit status, and one line when it fails.
    dead = state in {"down", "stalled", "flapping"}
    folder = str(place.root)
    said: list[int] = []
    for words in (["--assert-live"], ["--assert-live", "--assert-no-restarter"]):
        said.append(answer(folder, words, as_json=False))
        out, err = capsys.readouterr()
        assert (out, err.count("\n")) == ("", int(dead)), err
    assert said == [int(dead)] * 2
    statuses = {"up": 0, "degraded": 1, "absent": 3}
    assert answer(folder, ["--nagios"], as_json=False) == statuses.get(state, 2)
    assert capsys.readouterr().out.count("\n") == 1


def test_every_problem_has_its_line_in_the_manual() -> None:
    manual = (Path(__file__).parents[2] / "docs" / "operating.md").read_text()
    codes = {code for *_, problems in TABLE for code in problems} - {"source_failed"}
    assert [code for code in sorted(codes) if f"`{code}`" not in manual] == []


# When it began


@pytest.mark.parametrize(
    ("make", "ago"),
    [
        (P.works, 105),
        (lambda p: p.works().pulse(age=90), 90),
        (killed, 4_940),
        (lambda p: p.ledger().started(ago=700), 700),
        (lambda p: p.works().starts(560, 400, 300, 200), 560),
        (lambda p: p.ledger().started(ago=700).lock(), 700),
        (lambda p: p, None),
        (P.installed, None),
    ],
    ids=["up", "stalled", "killed", "ended without a word", "flapping", "no pulse", "absent", "never started"],
)
def test_a_state_has_a_beginning_where_anything_tells_of_it(
    place: Installation, make: Callable[[Installation], object], ago: float | None
) -> None:
    make(place)
    since = place.look().since
    assert since == (None if ago is None else pytest.approx(time.time() - ago, abs=3))


# Clocks


@pytest.mark.parametrize(
    ("wall", "monotonic", "state"),
    [(8 * 3600, 0, "up"), (8 * 3600, 15, "up"), (30 * DAY, 0, "up"), (0, 60, "stalled"), (8 * 3600, 60, "stalled")],
    ids=[
        "just resumed",
        "a pulse period after",
        "a clock set forward",
        "a loop that stands",
        "a loop that stood still before",
    ],
)
def test_a_suspend_makes_nothing_stale_or_overdue(
    place: Installation, monkeypatch: pytest.MonkeyPatch, wall: float, monotonic: float, state: str
) -> None:
    place.works().pulse(next_due_at=-60)
    monkeypatch.setattr(own, "time", Clock(wall, monotonic))
    assert place.look().state == state


@pytest.mark.parametrize(
    ("wall", "codes"),
    [(-30.0, []), (-3_600.0, []), (-40 * 365 * DAY, ["clock_wrong"])],
    ids=["half a minute back", "an hour back", "never set"],
)
def test_a_clock_that_was_set_back_is_no_problem_of_what_beats_but_one_that_was_never_set_is(
    place: Installation, monkeypatch: pytest.MonkeyPatch, wall: float, codes: list[str]
) -> None:
    place.works()
    monkeypatch.setattr(own, "time", Clock(wall))
    health = place.look()
    assert (health.state, [code for code, _ in health.problems]) == ("degraded" if codes else "up", codes)


# What it says


def test_the_end_of_the_last_life_and_who_ended_it_is_told(place: Installation) -> None:
    killed(place)
    said = dict(place.look().problems)["ended_killed"]
    assert "killed by SIGKILL" in said
    assert said.endswith("; the signal came from process 77")
    assert local_of(time.time() - 4_940)[:13] in said


def test_whoever_ended_it_is_named_once(place: Installation) -> None:
    place.ledger().started(lived(5_000, "stopped", "SIGTERM from process 77 of ann (systemd --user)", "77:1@b"))
    said = dict(place.look().problems)["ended_stopped"]
    assert said.partition(": ")[2] == "SIGTERM from process 77 of ann (systemd --user)"


def test_programs_that_ask_again_and_again_are_named_the_latest_first_and_until_when(place: Installation) -> None:
    now = time.time()
    place.works().starts(550, 500, 300, why="asked", by=BY_CRON).starts(100, why="asked", by=f"z {BY_CRON}")
    said = dict(place.look().problems)["restart_requests"]
    assert said.startswith(f"programs asked for 4 starts within 10 minutes, the latest {local_of(now - 100)[:17]}")
    assert f": z {BY_CRON}; {BY_CRON}; take it out of that script or crontab" in said
    assert local_of(now + 100)[:16] in said.rpartition(" over at ")[2]  # then the third from the end is too old


def test_no_message_holds_the_name_of_a_process_as_the_files_write_it(place: Installation) -> None:
    owner = place.actor.owner
    place.works().pulse(owner="155:328310@805f")
    assert dict(place.look().problems)["pulse_foreign"] == (
        f"the pulse is of process 155, but process {place.actor.pid} holds the lock"
    )
    place.pulse(owner=f"{place.actor.pid}:1@805f")
    said = dict(place.look().problems)["pulse_foreign"]
    assert f"an earlier process {place.actor.pid}" in said
    assert owner not in said


@pytest.mark.parametrize(
    ("make", "remedy"),
    [
        (lambda p: p.started(), "heartbeat run --detach"),
        (lambda p: p.started().installed("none", "heartbeat run --detach", ""), "heartbeat run --detach"),
        (lambda p: p.started().installed(), "heartbeat start"),
    ],
    ids=["by hand", "detached", "a service"],
)
def test_what_is_down_comes_with_the_command_that_starts_it(
    place: Installation, make: Callable[[Installation], object], remedy: str
) -> None:
    make(place)
    assert dict(place.look().problems)["not_running"] == f"no process holds the lock; start it with `{remedy}`"


def test_a_service_that_was_given_up_comes_with_the_command_that_takes_it_up_again(place: Installation) -> None:
    place.started().unit(ActiveState="failed", MainPID=0, NRestarts=4, Result="watchdog")
    health = place.look()
    said = dict(health.problems)["start_limit"]
    assert "Result=watchdog" in said
    assert "systemctl --user reset-failed heartbeat.service" in said
    assert health.restarts == 4


def test_a_supervisor_is_asked_only_when_the_files_do_not_show_that_all_is_well(place: Installation) -> None:
    place.works().unit(NRestarts=7)
    assert place.look().restarts is None
    assert place.look(thorough=True).restarts == 7
    place.pulse(age=90)
    assert place.look().restarts == 7


def test_a_supervisor_that_does_not_answer_costs_a_second(place: Installation) -> None:
    place.started().unit()
    (place.root / "hangs").touch()
    begun = time.monotonic()
    health = place.look()
    assert time.monotonic() - begun < 2
    assert [code for code, _ in health.problems] == ["not_running", "ended_lost", "supervisor_silent"]


def test_a_daemon_that_is_restarted_between_two_looks_is_no_stranger(
    place: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.works().unit(MainPID=1)
    look = own._ask
    asked: list[int] = []

    def ask(state: str, marker: Marker | None) -> Supervised | None:
        asked.append(1)
        if len(asked) > 1:
            place.unit()
        return look(state, marker)

    monkeypatch.setattr(own, "_ask", ask)
    assert (place.look(thorough=True).state, len(asked)) == ("up", 2)


def test_a_zombie_holds_no_lock(place: Installation) -> None:
    with zombie() as name:
        place.works().lock_again(name).pulse(owner=name)
        assert [code for code, _ in place.look().problems] == ["lock_stranger"]


def test_a_hostile_command_line_in_an_ending_stays_one_line(place: Installation) -> None:
    place.started(Start(time.time() - 900).ended(time.time() - 60, "killed", "x\ny\x1b[2J\t\u2028z", "9:9\n\x07"))
    assert all(message.isprintable() for _, message in place.look().problems)
