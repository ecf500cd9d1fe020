"""Killed right after any step of the beat, the next process goes on from there."""

from __future__ import annotations

import signal
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.slow.guarantees import breaches
from tests.slow.homes import Home, wait_for

pytestmark = pytest.mark.slow

STEPS = ("claim", "run", "judge", "record", "begin", "act", "settle")
DIE_AT_STEP = Path(__file__).with_name("die_at_step.py")

# Reports three findings, one of them only in its first ten runs: it is taken back later if it was told.
SCRIPT = """#!/bin/sh
echo . >> "$HEARTBEAT_HOME/runs"
third=
[ "$(wc -l < "$HEARTBEAT_HOME/runs")" -gt 3 ] || third=',{"key":"c","title":"C","when_absent":"retract"}'
printf '{"wakeAgent":true,"findings":[{"key":"a","title":"A"},{"key":"b","title":"B"}%s]}\\n' "$third"
"""


@pytest.fixture
def small(home: Home) -> Home:
    home.script("check", SCRIPT)
    home.script("calm")
    home.configure('[jobs.check]\nevery = "1s"\n[jobs.calm]\nevery = "1s"')
    return home


def dying(step: str, times: int) -> tuple[str, ...]:
    return (sys.executable, "-P", str(DIE_AT_STEP), step, str(times))


def go_on(home: Home) -> None:
    """A daemon that nobody kills, until every wake is settled and both jobs have run again."""
    runs = home.count("SELECT count(*) FROM runs WHERE state = 'ended'")
    daemon = home.start()
    wait_for(lambda: home.count("SELECT count(*) FROM runs WHERE state = 'ended'") >= runs + 4, 60, "more runs")
    wait_for(
        lambda: not home.count("SELECT count(*) FROM wakes WHERE state IN ('pending', 'sending')"), 60, "all wakes"
    )
    assert daemon.stop() == 0


def calls(home: Home) -> Counter[str]:
    return Counter(wake for wake, _ in home.handed())


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("step", STEPS)
def test_a_daemon_killed_after_a_step_loses_nothing(small: Home, step: str, times: int) -> None:
    daemon = small.start(*dying(step, times))
    # The second wake is that which takes C back.
    assert daemon.wait(60) == -signal.SIGKILL

    go_on(small)

    assert breaches(small) == []
    told = Counter((row["key"], row["change"]) for row in small.rows("SELECT * FROM findings WHERE state = 'told'"))
    assert set(told.values()) == {1}
    assert {("a", "new"), ("b", "new")} <= set(told)
    # Only when the answer of the agent was lost is it asked again, and by the name it knows.
    assert max(calls(small).values()) == (2 if step == "act" else 1)


@pytest.mark.parametrize("step", STEPS)
def test_a_tick_by_hand_killed_after_a_step_is_made_good_by_the_next_daemon(small: Home, step: str) -> None:
    status, _ = small.run("tick", "check", program=dying(step, 1))
    assert status == -signal.SIGKILL

    go_on(small)

    assert breaches(small) == []
    assert max(calls(small).values()) == (2 if step == "act" else 1)


@pytest.mark.parametrize("step", ["run", "begin", "act"])
def test_a_tick_by_hand_killed_beside_a_daemon_is_made_good_by_that_daemon(home: Home, step: str) -> None:
    home.script("check", SCRIPT)
    home.script("calm")
    home.configure('[jobs.check]\nevery = "1h"\n[jobs.calm]\nevery = "1s"')
    daemon = home.start()
    wait_for(lambda: home.count("SELECT count(*) FROM wakes WHERE state = 'settled'"), 30, "the first wake")
    home.file("runs", "." * 9 + "\n" * 9)  # C is gone: there is something new to tell
    status, _ = home.run("tick", "check", program=dying(step, 1))
    assert status == -signal.SIGKILL

    half_done = """
        SELECT (SELECT count(*) FROM runs WHERE state = 'running' AND job = 'check')
        + (SELECT count(*) FROM wakes WHERE state IN ('pending', 'sending'))"""
    wait_for(lambda: not home.count(half_done), 30, "the daemon to take over")
    assert daemon.stop() == 0
    assert breaches(home) == []


def test_a_daemon_killed_while_it_clears_up_leaves_no_child_for_good(home: Home) -> None:
    home.script("hides", "#!/bin/sh\nsetsid sleep 1000 &\nsleep 1000\n")
    home.configure('[jobs.hides]\nevery = "1h"')
    daemon = home.start()
    wait_for(lambda: len(home.offspring()) >= 2, 30, "the children")
    daemon.kill()
    left = home.offspring()
    assert home.start(*dying("interrupt", 1)).wait(60) == -signal.SIGKILL

    daemon = home.start()
    daemon.wait_for_beat()
    assert [command for peer, command in left.items() if peer.lives()] == []
    assert daemon.stop() == 0
