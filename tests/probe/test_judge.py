"""Evidence and what it proves: never more than is there. Pure; `test_states.py` has the same with real files."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.probe import Evidence, Health, judge_health
from heartbeat.pulse import Pulse
from heartbeat.starts import Start

MONOTONIC, NOW = 5_000.0, 1_781_078_400.0
OWNER = "321:7777"
FAULT = ("starts_unreadable", "cannot read starts.log: no")
INCIDENT = ("source_failed", "source:vip-mail/imap: no answer")
GROUND = ("disk_full", "no room")


def pulse(**fields: Any) -> Pulse:
    usual: dict[str, Any] = {
        "owner": OWNER,
        "monotonic": MONOTONIC - 5,
        "started_monotonic": MONOTONIC - 100,
        "started_at": "2026-06-10T07:58:20.000000Z",
        "written_at": "2026-06-10T07:59:55.000000Z",
        "last_beat_at": "2026-06-10T07:59:55.000000Z",
        "next_due_at": "",
        "jobs": 3,
        "version": "0.1.0",
    }
    return Pulse(**usual | fields)


def life(at: float, why: str = "asked", owner: str = OWNER) -> Start:
    return Start(at, why, owner=owner)


def evidence(**fields: Any) -> Evidence:
    usual: dict[str, Any] = {"starts": (life(NOW - 100),), "holder": OWNER, "pulse": pulse(), "was_started": True}
    return Evidence(**usual | fields)


def judge(found: Evidence) -> Health:
    return judge_health(found, monotonic=MONOTONIC, now=NOW)


def codes(health: Health) -> list[str]:
    return [code for code, _ in health.problems]


NAN, INF = float("nan"), float("inf")
LOST = ["not_running", "ended_lost"]
TABLE = [
    # Nobody holds the lock
    ("nothing at all", Evidence(), "absent", []),
    ("only the marks of a start", Evidence(was_started=True), "down", ["not_running"]),
    ("a start long ago", Evidence(starts=(life(NOW - 90_000),)), "down", LOST),
    ("a start in the future", Evidence(starts=(life(NOW + 90_000),)), "down", [*LOST, "clock_wrong"]),
    ("a fresh pulse without a lock", Evidence(pulse=pulse()), "down", ["not_running"]),
    ("a fresh pulse, a start, no lock", evidence(holder=None), "down", LOST),
    ("a pulse with problems, no lock", evidence(holder=None, pulse=pulse(problems=(INCIDENT,))), "down", LOST),
    ("an old pulse, no lock", evidence(holder=None, pulse=pulse(monotonic=1.0)), "down", LOST),
    ("unreadable evidence alone", Evidence(faults=(FAULT,)), "down", ["not_running", "starts_unreadable"]),
    ("unreadable, no lock", evidence(holder=None, faults=(FAULT,)), "down", [*LOST, "starts_unreadable"]),
    ("no lock, no room", evidence(holder=None, ground=(GROUND,)), "down", [*LOST, "disk_full"]),
    ("installed, and nothing else", Evidence(is_installed=True), "down", ["installed_not_started"]),
    ("no room, and never started", Evidence(ground=(GROUND,)), "absent", []),
    # Somebody holds the lock
    ("a lock, no pulse", evidence(pulse=None), "stalled", ["pulse_missing"]),
    ("a lock and nothing else", Evidence(holder=OWNER), "stalled", ["pulse_missing"]),
    ("a nameless lock, no pulse", evidence(holder="", pulse=None), "stalled", ["pulse_missing"]),
    ("a nameless lock, a pulse", evidence(holder=""), "stalled", ["pulse_foreign"]),
    ("a nameless lock, a nameless pulse", evidence(holder="", pulse=pulse(owner="")), "stalled", ["pulse_foreign"]),
    ("another process's pulse", evidence(holder="999:1"), "stalled", ["pulse_foreign"]),
    ("the same pid, started at another time", evidence(holder="321:7778"), "stalled", ["pulse_foreign"]),
    ("a holder that begins alike", evidence(holder=OWNER + "7"), "stalled", ["pulse_foreign"]),
    ("a pulse 46 s old", evidence(pulse=pulse(monotonic=MONOTONIC - 46)), "stalled", ["pulse_stale"]),
    ("a pulse just too old", evidence(pulse=pulse(monotonic=MONOTONIC - 45.001)), "stalled", ["pulse_stale"]),
    ("a pulse of yesterday", evidence(pulse=pulse(monotonic=0.0)), "stalled", ["pulse_stale"]),
    ("a pulse from the future", evidence(pulse=pulse(monotonic=MONOTONIC + 0.001)), "stalled", ["pulse_future"]),
    ("a pulse of the day after", evidence(pulse=pulse(monotonic=MONOTONIC + 86_400)), "stalled", ["pulse_future"]),
    ("a pulse at no time", evidence(pulse=pulse(monotonic=NAN)), "stalled", ["pulse_stale"]),
    ("a pulse at the end of time", evidence(pulse=pulse(monotonic=INF)), "stalled", ["pulse_future"]),
    ("a pulse before all time", evidence(pulse=pulse(monotonic=-INF)), "stalled", ["pulse_stale"]),
    (
        "an old pulse with problems",
        evidence(pulse=pulse(monotonic=1.0, problems=(INCIDENT,))),
        "stalled",
        ["pulse_stale"],
    ),
    (
        "an old pulse and a fault",
        evidence(pulse=pulse(monotonic=1.0), faults=(FAULT,)),
        "stalled",
        ["pulse_stale", "starts_unreadable"],
    ),
    (
        "an unreadable pulse",
        evidence(pulse=None, faults=(("pulse_unreadable", "x"),)),
        "stalled",
        ["pulse_missing", "pulse_unreadable"],
    ),
    # The lock names a process that is gone
    ("a stranger's lock, a fresh pulse", evidence(holder_alive=False), "stalled", ["lock_stranger"]),
    ("a stranger's lock, no pulse", evidence(holder_alive=False, pulse=None), "stalled", ["lock_stranger"]),
    (
        "a stranger's lock, a pulse with problems, a fault",
        evidence(holder_alive=False, pulse=pulse(problems=(INCIDENT,)), faults=(FAULT,)),
        "stalled",
        ["lock_stranger", "starts_unreadable"],
    ),
    # It beats
    ("all well", evidence(), "up", []),
    ("a pulse of this instant", evidence(pulse=pulse(monotonic=MONOTONIC)), "up", []),
    ("a pulse at the limit", evidence(pulse=pulse(monotonic=MONOTONIC - 45)), "up", []),
    ("no starts in the log", evidence(starts=()), "degraded", ["starts_missing"]),
    ("only another life in the log", evidence(starts=(life(NOW - 9, owner="1:1"),)), "degraded", ["starts_missing"]),
    ("one incident", evidence(pulse=pulse(problems=(INCIDENT,))), "degraded", ["source_failed"]),
    ("two incidents", evidence(pulse=pulse(problems=(INCIDENT, INCIDENT))), "degraded", ["source_failed"] * 2),
    ("unreadable starts", evidence(faults=(FAULT,)), "degraded", ["starts_unreadable"]),
    (
        "both",
        evidence(pulse=pulse(problems=(INCIDENT,)), faults=(FAULT,)),
        "degraded",
        ["source_failed", "starts_unreadable"],
    ),
    ("a start that comes a minute later", evidence(starts=(life(NOW - 9), life(NOW + 60))), "up", []),
    ("a start that comes later", evidence(starts=(life(NOW - 9), life(NOW + 61))), "up", []),
]


@pytest.mark.parametrize(("found", "state", "problems"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_state_is_what_the_evidence_proves(found: Evidence, state: str, problems: list[str]) -> None:
    health = judge(found)
    assert health.state == state
    assert codes(health) == problems
    assert health.is_live == (state in {"up", "degraded", "absent"})
    assert health.pid == (int(found.holder.split(":")[0]) if found.holder and found.holder_alive else None)
    assert all("\n" not in message and message for _, message in health.problems)


def test_the_facts_of_a_beating_daemon_are_shown() -> None:
    health = judge(evidence(pulse=pulse(items=4, findings=5, wakes=6, messages=7)))
    assert (health.pid, health.uptime_seconds, health.last_beat_at) == (321, 100.0, "2026-06-10T07:59:55.000000Z")
    waiting = {"jobs": 3.0, "items": 4.0, "findings": 5.0, "wakes": 6.0, "messages": 7.0}
    assert dict(health.facts) == {"pulse_age_seconds": 5.0, **waiting}
    assert health.summary == "heartbeat is up, 3 jobs"
    assert judge(evidence(pulse=pulse(jobs=1, problems=(INCIDENT,)))).summary == "heartbeat is up, 1 job, 1 problem"


@pytest.mark.parametrize("holder", ["", "x:1", "\u00b2:1", "-3:1", ":", "\ufffd"])
def test_a_holder_without_a_pid_is_still_a_holder(holder: str) -> None:
    health = judge(evidence(holder=holder))
    assert (health.state, health.pid) == ("stalled", None)


@pytest.mark.parametrize(("ago", "counted"), [(-0.001, 0), (0, 1), (599.9, 1), (600, 1), (600.001, 0), (-3_000_000, 0)])
def test_a_start_counts_as_recent_for_ten_minutes(ago: float, counted: int) -> None:
    assert judge(evidence(starts=(life(NOW - ago),))).recent_starts == counted
    assert judge(evidence(starts=(life(NOW - ago),), holder=None)).recent_starts == counted


@pytest.mark.parametrize(
    ("uptime", "why", "lives", "codes_"),
    [
        (14.9, "crash", 2, ["just_restarted"]),
        (15.0, "crash", 2, []),
        (14.9, "crash", 1, []),
        (14.9, "asked", 2, []),
        (14.9, "boot", 2, []),
        (14.9, "watchdog", 2, ["just_restarted"]),
    ],
)
def test_a_restart_that_nobody_asked_for_proves_nothing_for_a_quarter_of_a_minute(
    uptime: float, why: str, lives: int, codes_: list[str]
) -> None:
    starts = (*(life(NOW - 90_000) for _ in range(lives - 1)), life(NOW - uptime, why))
    found = evidence(starts=starts, pulse=pulse(monotonic=MONOTONIC, started_monotonic=MONOTONIC - uptime))
    assert codes(judge(found)) == codes_


owners = st.sampled_from(["", OWNER, "321:7778", "4:4"])
instants = st.floats() | st.floats(MONOTONIC - 100, MONOTONIC + 100)
lives = st.builds(
    life,
    at=st.floats() | st.floats(NOW - 900, NOW + 900),
    why=st.sampled_from(["asked", "crash", "boot"]),
    owner=owners,
)
stamps = st.sampled_from(
    ["", "2026-06-10T07:59:55.000000Z", "2026-06-10T09:59:55.000000Z", "9999-12-31T23:59:59.0Z", "x"]
)


@given(
    st.builds(
        Evidence,
        starts=st.lists(lives, max_size=5).map(tuple),
        holder=st.none() | owners,
        holder_alive=st.booleans(),
        holder_stopped=st.booleans(),
        pulse=st.none()
        | st.builds(
            pulse,
            owner=owners,
            monotonic=instants,
            written_at=stamps,
            next_due_at=stamps,
            wedged=st.sampled_from(["", "run of x"]),
            problems=st.sampled_from([(), (INCIDENT,)]),
        ),
        faults=st.sampled_from([(), (FAULT,)]),
        ground=st.sampled_from([(), (GROUND,)]),
        was_started=st.booleans(),
        is_installed=st.booleans(),
    )
)
def test_only_a_fresh_pulse_of_the_holder_of_the_lock_is_up(found: Evidence) -> None:
    health = judge(found)
    proven = (
        found.pulse is not None
        and found.holder not in {None, ""}
        and found.holder_alive
        and not found.holder_stopped
        and not found.pulse.wedged
        and found.pulse.owner == found.holder
        and MONOTONIC - 45 <= found.pulse.monotonic <= MONOTONIC
    )
    assert health.state in ({"up", "degraded", "flapping"} if proven else {"absent", "down", "stalled", "flapping"})
    nothing = Evidence(holder_alive=found.holder_alive, holder_stopped=found.holder_stopped, ground=found.ground)
    assert (health.state == "absent") == (found == nothing)
    assert (health.state in {"up", "absent"}) == (not health.problems)
    if health.state == "absent":
        return
    assert {*found.faults, *found.ground} <= set(health.problems)
    if health.state == "up":
        assert found.pulse is not None
        assert any(start.owner == found.holder for start in found.starts)
        assert all(not start.at > NOW + 60 for start in found.starts)
        assert found.pulse.written_at < "2026-06-10T08:01"
