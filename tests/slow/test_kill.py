"""kill -9 at any instant loses nothing, tells nothing under two names, runs no slot twice and leaves no process."""

from __future__ import annotations

import os
import random
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from tests.slow.guarantees import breaches
from tests.slow.homes import Daemon, Home, wait_for

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("HEARTBEAT_TEST_KILLS", "300"))
SEED = int(os.environ.get("HEARTBEAT_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)

# Each of these reports what is true at the instant: from the instant alone anybody can reckon what it must have said.
# With the file `calm`, time stands still for them. `add KEY FIELDS` reports one finding.
_HEAD = """#!/bin/sh
now=$(cat "$HEARTBEAT_HOME/calm" 2>/dev/null || date +%s)
list= wake=true i=0
add() { list="$list${list:+,}{\\"key\\":\\"$1\\",\\"title\\":\\"$HEARTBEAT_JOB $1\\"${2:+,}$2}"; }
"""
_TAIL = """
printf '{"wakeAgent":%s,"findings":[%s]}\\n' "$wake" "$list"
"""
_LATEST = "n=$((now / 2)); i=$((n - 30)); while [ $i -le $n ]; do [ $((i * 7919 % 5)) -lt 2 ] && {}; i=$((i + 1)); done"
SCRIPTS = {
    "mails": ("1s", _LATEST.format('add "$i"')),
    "notes": ("1s", "wake=false\n" + _LATEST.format('add "$i"')),
    # What a quiet run has left for the brief may wake in the next one.
    "mixed": (
        "2s",
        "[ $((now / 7 % 2)) = 0 ] && wake=false\n"
        + _LATEST.format('add "$i" "\\"urgency\\":\\"$([ $((i % 3)) = 0 ] && echo low || echo high)\\""'),
    ),
    "condition": ("1s", '[ $((now / 3 % 2)) = 0 ] && add disk \'"when_absent":"forget"\''),
    "meetings": (
        "2s",
        'i=$((now / 6)); add "$i" \'"when_absent":"retract"\'; add "$((i - 1))" \'"when_absent":"retract"\'',
    ),
    "price": ("1s", 'add price "\\"version\\":\\"$((now / 4))\\""'),
}
# Leave children behind that hide in sessions of their own, one of them a grandchild whose parent is gone.
FORKS = """#!/bin/sh
setsid sleep 1000 &
(setsid sh -c 'sleep 1000 & exec sleep 1000' &)
echo '{"wakeAgent": false}'
"""
SLOW = """#!/bin/sh
sleep 1000 &
sleep 3
echo '{"wakeAgent": false}'
"""


@pytest.fixture
def busy(home: Home) -> Home:
    """Nine jobs, due every second or two, and an agent that is sometimes slow and sometimes fails."""
    for job, (_, body) in SCRIPTS.items():
        home.script(job, _HEAD + body + _TAIL)
    home.script("forks", FORKS)
    home.script("slow", SLOW)
    every = {job: period for job, (period, _) in SCRIPTS.items()} | {"forks": "2s", "slow": "2s", "due-queue": "2s"}
    home.configure("\n".join(f'[jobs.{job}]\nevery = "{period}"' for job, period in every.items()))
    home.file("agent-tires", "")
    return home


@contextmanager
def items_added_from_outside(home: Home) -> Iterator[list[subprocess.Popen[str]]]:
    """A list to which `add_item` adds calls that run beside the daemon; all of them must end well."""
    calls: list[subprocess.Popen[str]] = []
    yield calls
    for call in calls:
        out, _ = call.communicate(timeout=60)
        assert call.returncode == 0, out


def add_item(home: Home, calls: list[subprocess.Popen[str]]) -> None:
    due = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    number = len(calls)
    calls.append(home.begin("queue", "add", "--key", f"item-{number}", "--message", f"Item {number}", "--due", due))


def life(home: Home, chance: random.Random, number: int) -> Daemon:
    """Start the daemon, let it live for a random moment, kill it; what the one before left must be gone by then."""
    left = home.offspring()
    daemon = home.start()
    if number % 5 == 4:
        # While it still clears up what the one before has left.
        daemon.wait_for_pulse()
        time.sleep(chance.uniform(0, 0.3))
    else:
        daemon.wait_for_beat()
        survivors = [f"{peer.pid} {command}" for peer, command in left.items() if peer.lives()]
        assert survivors == [], f"in life {number} these of the one before still live: {survivors}"
        time.sleep(chance.uniform(0.05, 1.5))
    daemon.kill()
    return daemon


def let_everything_end(home: Home) -> int:
    """Time stands still for the scripts; a daemon runs until nothing is left to do, and is stopped."""
    home.file("calm", str(int(time.time())))
    (home.folder / "agent-tires").unlink(missing_ok=True)
    daemon = home.start()
    daemon.wait_for_beat()
    jobs = home.count("SELECT count(*) FROM jobs")
    begun = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    seen = "SELECT count(DISTINCT job) FROM runs WHERE verdict IN ('wake', 'quiet') AND started_at > ?"
    wait_for(lambda: home.count(seen, begun) == jobs, 60, "a good run of each job")
    wait_for(
        lambda: not home.count("SELECT count(*) FROM wakes WHERE state IN ('pending', 'sending')"), 90, "all wakes"
    )
    return daemon.stop()


def figures(home: Home, kills: int, seconds: float) -> str:
    tries = Counter(wake for wake, _ in home.handed())
    told = home.count("SELECT count(*) FROM findings WHERE state = 'told'")
    states = home.rows("SELECT state, count(*) AS number FROM runs GROUP BY state")
    runs = ", ".join(f"{row['number']} {row['state']}" for row in states)
    again = sum(number > 1 for number in tries.values())
    cut = home.count("SELECT count(DISTINCT wake_id) FROM attempts WHERE outcome = 'interrupted'")
    return (
        f"seed {SEED}: {kills} kills in {seconds:.0f} s; runs: {runs}; {len(tries)} wakes, {again} of them sent again, "
        f"{cut} because of a kill; {told} findings told"
    )


def test_three_hundred_kills_lose_nothing(busy: Home, capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(SEED)
    began = time.monotonic()
    print(f"HEARTBEAT_TEST_SEED={SEED} HEARTBEAT_TEST_KILLS={KILLS}")
    with items_added_from_outside(busy) as calls:
        for number in range(KILLS):
            life(busy, chance, number)
            if number % 5 == 0:
                add_item(busy, calls)
    status = let_everything_end(busy)

    assert status == 0
    assert breaches(busy) == []
    assert unreported(busy) == []
    with capsys.disabled():
        print(f"\n{figures(busy, KILLS, time.monotonic() - began)}")
    first, second = busy.data("brief", "--consume"), busy.data("brief", "--consume")
    assert first["items"]
    assert (second["items"], second["incidents"]) == ([], [])
    assert busy.count("SELECT count(*) FROM findings WHERE state = 'brief'") == 0


def unreported(home: Home) -> list[str]:
    """What was to be seen for a minute while the daemon was killed again and again, and is not in the ledger."""
    lost = []
    for job in ("mails", "notes", "mixed"):
        keys = {int(row["key"]) for row in home.rows("SELECT key FROM findings WHERE job = ?", job)}
        lost += [f"{job} {i}" for i in range(min(keys), max(keys)) if i * 7919 % 5 < 2 and i not in keys]
    items = home.rows("SELECT key FROM queue")
    told = {row["title"] for row in home.rows("SELECT title FROM findings WHERE job = 'due-queue' AND state = 'told'")}
    return lost + [row["key"] for row in items if row["key"].replace("item-", "Item ") not in told]
