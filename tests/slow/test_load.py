"""Scripts that misbehave in every way at once, and more due jobs than workers: each costs only itself."""

from __future__ import annotations

import itertools
import time
from datetime import datetime, timedelta

import psutil
import pytest

from tests.slow.guarantees import breaches
from tests.slow.homes import Home, wait_for

pytestmark = pytest.mark.slow

GATE = "echo '{\"wakeAgent\": false}'"
# Each with the verdict it must get.
MISBEHAVING = {
    "floods": (f"head -c 50000000 /dev/zero | tr '\\0' x; echo; {GATE}", "quiet"),
    "floods-stderr": (f"head -c 50000000 /dev/zero | tr '\\0' x >&2; {GATE}", "quiet"),
    "never-ends": ("exec yes", "timeout"),
    "hangs": ("trap '' TERM; sleep 1000; sleep 1000; sleep 1000", "timeout"),
    "stops-itself": ("kill -STOP $$; sleep 1000", "timeout"),
    "forks": (f"for i in $(seq 30); do setsid sh -c \"trap '' TERM; sleep 1000; sleep 1000\" & done; {GATE}", "quiet"),
    "forks-and-hangs": ("for i in $(seq 30); do (setsid sleep 1000 &); done; sleep 1000", "timeout"),
    "closes-stdout": ("exec >&- 2>&-; sleep 1000", "timeout"),
    "holds-the-pipe": (f"{GATE}; sleep 1000 &", "quiet"),
    "binary": (f"head -c 200000 /dev/urandom; echo; {GATE}", "quiet"),
    "only-binary": ("head -c 200000 /dev/urandom", "malformed"),
    "kills-itself": (f"{GATE}; kill -9 $$", "failed"),
    "kills-its-group": (f"{GATE}; kill -9 0", "failed"),
}
LATE = timedelta(seconds=4)
"""How late a slot may start: two busy cores, and a hundred processes that come and go."""


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_scripts_that_misbehave_cost_only_themselves(home: Home) -> None:
    tables = ['[jobs.healthy]\nevery = "1s"']
    home.script("healthy")
    for name, (body, _) in MISBEHAVING.items():
        home.script(name, f"#!/bin/sh\n{body}\n")
        tables.append(f'[jobs.{name}]\nevery = "20s"\ntimeout = "{"2s" if "hang" in name else "6s"}"')
    home.configure("\n".join(tables), daemon="workers = 16")
    daemon = home.start()
    over = "SELECT count(DISTINCT job) FROM runs WHERE verdict IS NOT NULL"
    wait_for(lambda: home.count(over) == len(MISBEHAVING) + 1, 60, "a run of each")
    time.sleep(8)
    assert home.health().state in ("up", "degraded")
    memory = psutil.Process(daemon.process.pid).memory_info().rss
    descriptors = psutil.Process(daemon.process.pid).num_fds()
    assert daemon.stop() == 0

    assert breaches(home) == []
    verdicts = {row["job"]: row["verdict"] for row in home.rows("SELECT job, verdict FROM runs ORDER BY rowid DESC")}
    assert {job: verdicts[job] for job in MISBEHAVING} == {job: verdict for job, (_, verdict) in MISBEHAVING.items()}
    assert slots_that_were_late(home, "healthy", timedelta(seconds=1)) == []
    assert memory < 200_000_000
    assert descriptors < 40


def slots_that_were_late(home: Home, job: str, period: timedelta) -> list[str]:
    """And those that did not run at all."""
    rows = home.rows("SELECT slot_at, started_at, state FROM runs WHERE job = ? ORDER BY slot_at", job)
    late = [str(row) for row in rows if instant(row["started_at"]) - instant(row["slot_at"]) > LATE]
    gaps = itertools.pairwise(instant(row["slot_at"]) for row in rows)
    return late + [f"nothing between {one} and {other}" for one, other in gaps if other - one != period]


def test_two_hundred_jobs_that_are_due_at_once_all_run_a_few_at_a_time(home: Home) -> None:
    home.script("one", "#!/bin/sh\nsleep 0.1\necho '{\"wakeAgent\": false}'\n")
    jobs = [f'[jobs.job-{number}]\nscript = "jobs/one.sh"\nevery = "1h"' for number in range(200)]
    home.configure("\n".join(jobs), daemon="workers = 4")
    daemon = home.start()
    states = set()

    def all_ran() -> bool:
        states.add(home.health().state)
        return home.count("SELECT count(*) FROM runs WHERE state = 'ended'") == 200

    daemon.wait_for_beat()
    wait_for(all_ran, 90, "200 runs", every=0.2)
    assert daemon.stop() == 0
    assert breaches(home) == []
    assert states == {"up"}
    assert home.count("SELECT count(*) FROM slots WHERE state = 'ran'") == 200
    assert most_at_once(home) == 4


def most_at_once(home: Home) -> int:
    rows = home.rows("SELECT started_at, ended_at FROM runs")
    # At the same instant an end comes before a start.
    changes = sorted([(row["started_at"], 1) for row in rows] + [(row["ended_at"], -1) for row in rows])
    return max(itertools.accumulate(change for _, change in changes))
