"""Each due instant gets exactly one fate, the one that its job's policy asks for, whatever keeps it from running."""

from __future__ import annotations

import itertools
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.slow.due import any_of, each_time, every, multiples, once, once_a_day
from tests.slow.guarantees import Phase, phase_of
from tests.slow.homes import COMMAND, LASTS, wait_for
from tests.slow.scenarios import Job, Outcomes, Patient, Scenario, at_text, kinds, played

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets us move the clock of one process"),
]

SEED = int(os.environ.get("HEARTBEAT_TEST_SEED", "0")) or random.SystemRandom().randrange(1, 10**6)
LIVES = 30


def lasting(seconds: float) -> str:
    return LASTS.replace("SECONDS", str(seconds))


def reasons(patient: Patient, job: str) -> Counter[str]:
    """State and first word of the reason of each slot that did not run."""
    rows = patient.home.rows("SELECT state, reason FROM slots WHERE job = ? AND state <> 'ran'", job)
    return Counter(f"{row['state']}: {row['reason'].split(':')[0].split(' ')[0]}" for row in rows)


def end(patient: Patient) -> None:
    assert patient.home.daemons[-1].stop() == 0
    assert patient.faults() == []


def a_storm_of_restarts(patient: Patient) -> None:
    home, chance = patient.home, random.Random(SEED)
    patient.configure(
        {
            "ones": Job('every = "1s"', every(1)),
            "fives": Job('cron = "*/5 * * * * *"', multiples(5)),
            "lists": Job('cron = ["*/3 * * * * *", "*/4 * * * * *"]', any_of(multiples(3), multiples(4))),
            "slow": Job('every = "3s"', every(3), lasting(1.5)),
            "again": Job('every = "11s"\nrerun_interrupted = true', every(11), lasting(3)),
        },
        daemon='drain = "0s"',
    )
    patient.start()
    for number in range(LIVES):
        daemon = home.daemons[-1]
        if number % 3:
            daemon.wait_for_beat()
            time.sleep(chance.uniform(0, 2))
        else:
            time.sleep(chance.uniform(1, 3))  # it may not have come to its first beat
        daemon.kill() if chance.random() < 0.6 else daemon.stop()
        home.start(**patient.clock.environment)
    home.daemons[-1].wait_for_beat()
    patient.wait_for_runs("again", 1, seconds=60)
    patient.wait_for_runs("fives", 2)
    end(patient)
    attempts = home.rows("SELECT job, max(attempts) AS most FROM slots GROUP BY job")
    most = {row["job"]: row["most"] for row in attempts}
    assert 2 <= most.pop("again") <= 3, attempts
    assert set(most.values()) == {1}, attempts
    interrupted = home.rows("SELECT job, attempts, reason FROM slots WHERE state = 'interrupted'")
    assert {"slow"} <= {row["job"] for row in interrupted}


def a_run_that_is_cut_off(patient: Patient) -> None:
    home = patient.home
    patient.configure(
        {
            "once": Job('every = "1h"', every(3600), lasting(5)),
            "again": Job('every = "1h"\nrerun_interrupted = true', every(3600), lasting(5)),
        }
    )
    patient.start()
    wait_for(lambda: home.count("SELECT count(*) FROM runs WHERE state = 'running'") == 2, 30, "both runs")
    home.daemons[-1].kill()
    home.start(**patient.clock.environment)
    wait_for(lambda: home.count("SELECT count(*) FROM slots WHERE job = 'again' AND state = 'ran'"), 60, "the second")
    end(patient)
    assert home.rows("SELECT job, state, attempts FROM slots ORDER BY job") == [
        {"job": "again", "state": "ran", "attempts": 2},
        {"job": "once", "state": "interrupted", "attempts": 1},
    ]


def two_daemons_and_ticks_by_hand(patient: Patient) -> None:
    home = patient.home
    patient.configure(
        {
            "ones": Job('every = "1s"', every(1)),
            "fives": Job('cron = "*/5 * * * * *"', multiples(5)),
            "slow": Job('every = "2s"', every(2), lasting(0.7)),
        }
    )
    first = patient.start()
    statuses = Counter[int]()
    until = time.monotonic() + 30
    while time.monotonic() < until:
        second = home.start()
        ticks = [home.begin("tick", job) for job in ("slow", "ones", "slow", "fives")]
        for process in ticks:
            out, _ = process.communicate(timeout=60)
            assert process.returncode in {0, 5}, out
            statuses[process.returncode] += 1
        assert second.wait(30) == 5
        assert f"cannot start: process {first.process.pid} already runs heartbeat" in second.log
    assert home.health().pid == first.process.pid
    time.sleep(20)  # what was refused while somebody else ran the job is tried again after a while
    assert first.stop() == 0
    assert patient.faults() == []
    assert home.count("SELECT count(*) FROM runs WHERE trigger = 'manual' AND state = 'ended'") == statuses[0]
    assert statuses[0]
    assert statuses[5]
    assert all(patient.ran(job) > 5 for job in patient.jobs)


# Tells when it runs beside itself.
ALONE = """#!/bin/sh
mkdir "$HEARTBEAT_HOME/$HEARTBEAT_JOB.runs" || echo "$HEARTBEAT_JOB" >> "$HEARTBEAT_HOME/not-alone"
echo "$HEARTBEAT_JOB $HEARTBEAT_SLOT" >> "$HEARTBEAT_HOME/begun.log"
sleep SECONDS
rmdir "$HEARTBEAT_HOME/$HEARTBEAT_JOB.runs"
echo '{"wakeAgent": false}'
"""


def scripts_that_take_longer_than_their_period(patient: Patient) -> None:
    home = patient.home
    patient.configure(
        {
            "skips": Job('every = "2s"', every(2), ALONE.replace("SECONDS", "5")),
            "queues": Job('every = "2s"\noverlap = "queue"', every(2), ALONE.replace("SECONDS", "5")),
            "all": Job('every = "2s"\ncatch_up = "all"', every(2), ALONE.replace("SECONDS", "3")),
            "replaces": Job('every = "2s"\noverlap = "replace"', every(2), lasting(30)),
        },
        daemon='drain = "8s"',
    )
    patient.start()
    patient.wait_for_runs("skips", 5, seconds=60)
    end(patient)
    assert not (home.folder / "not-alone").exists()
    assert set(reasons(patient, "skips")) == {"skipped: overlap"}
    assert set(reasons(patient, "queues")) == {"skipped: coalesced"}
    assert set(reasons(patient, "all")) == set()
    assert patient.ran("queues") >= 4
    # One waits always, and so begins right when the one before ends.
    queued = home.rows("SELECT * FROM runs WHERE job = 'queues' ORDER BY rowid")
    for one, other in itertools.pairwise(queued):
        assert one["slot_at"] < other["slot_at"]
        assert seconds_between(one["ended_at"], other["started_at"]) < 1.5
    # In their order, and later and later.
    assert [row["slot_at"] for row in home.rows("SELECT slot_at FROM runs WHERE job = 'all' ORDER BY rowid")] == [
        row["slot_at"] for row in home.rows("SELECT slot_at FROM slots WHERE job = 'all' ORDER BY slot_at")
    ]
    replaced = home.rows("SELECT * FROM slots WHERE job = 'replaces' ORDER BY slot_at")
    assert {row["state"] for row in replaced} == {"interrupted"}
    assert len(replaced) > 8
    assert {row["reason"] for row in replaced[:-1]} == {"a newer slot replaced it"}
    assert "stopping" in replaced[-1]["reason"]


def seconds_between(one: str, other: str) -> float:
    return (datetime.fromisoformat(other) - datetime.fromisoformat(one)).total_seconds()


MINUTELY = 'cron = "* * * * *"\nzone = "UTC"'
MINUTES = each_time("UTC")
LATE = {
    "catches-up": Job(MINUTELY, MINUTES),
    "all": Job(f'{MINUTELY}\ncatch_up = "all"', MINUTES),
    "skips": Job(f'{MINUTELY}\ncatch_up = "skip"', MINUTES),
    "limited": Job(f'{MINUTELY}\nmax_late = "170s"', MINUTES),
    "all-limited": Job(f'{MINUTELY}\ncatch_up = "all"\nmax_late = "170s"', MINUTES),
    "skips-limited": Job(f'{MINUTELY}\ncatch_up = "skip"\nmax_late = "170s"', MINUTES),
    "paused": Job(f"{MINUTELY}\npaused = true", MINUTES),
    "at-once": Job('at = "2026-06-10T08:05:00Z"', once("2026-06-10T08:05:00Z")),
    "at-skip": Job('at = "2026-06-10T08:05:00Z"\ncatch_up = "skip"', once("2026-06-10T08:05:00Z")),
    "overlooked": Job('at = "2026-06-10T07:30:00Z"', once("2026-06-10T07:30:00Z")),
}
"""Down from before 08:01 until after 08:10."""
RAN = ("ran", "")
INTO_THE_LAST = ("skipped", "coalesced into 2026-06-10T08:10:00Z")
FATES = {
    "catches-up": [INTO_THE_LAST] * 9 + [RAN],
    "all": [RAN] * 10,
    "skips": [("missed", "too late: more than 1m after its instant")] * 9 + [RAN],
    "limited": [("skipped", "too late: more than 2m50s after its instant")] * 7 + [INTO_THE_LAST] * 2 + [RAN],
    "all-limited": [("skipped", "too late: more than 2m50s after its instant")] * 7 + [RAN] * 3,
    "skips-limited": [("missed", "too late: more than 2m50s after its instant")] * 7 + [INTO_THE_LAST] * 2 + [RAN],
    "paused": [("skipped", "paused: the job is paused in the configuration")] * 10,
    "at-once": [RAN],
    "at-skip": [("missed", "too late: more than 1m after its instant")],
    "overlooked": [("missed", "it had passed before heartbeat first saw this schedule")],
}


def a_downtime_of_ten_minutes(patient: Patient) -> None:
    home = patient.home
    patient.clock.set_to("2026-06-10T08:00:05Z")
    patient.configure(LATE)
    daemon = patient.start()
    assert daemon.stop() == 0
    assert patient.clock.now() < datetime(2026, 6, 10, 8, 1, tzinfo=UTC), "it took too long to get here"
    patient.clock.set_to("2026-06-10T08:10:04Z")
    patient.start()
    decided = """
        SELECT count(DISTINCT job) FROM slots
        WHERE slot_at >= CASE WHEN job LIKE 'at-%' THEN '' ELSE '2026-06-10T08:10' END AND state <> 'claimed'"""
    wait_for(lambda: home.count(decided) == len(LATE) - 1, 45, "the fates of all but what was overlooked")
    assert patient.clock.now() < datetime(2026, 6, 10, 8, 11, tzinfo=UTC), "it took too long to get here"
    end(patient)
    for job, expected in FATES.items():
        rows = home.rows("SELECT * FROM slots WHERE job = ? AND slot_at < '2026-06-10T08:11' ORDER BY slot_at", job)
        found = [(row["state"], row["reason"] if row["state"] != "ran" else "") for row in rows]
        assert found == expected, job
    for job in ("all", "all-limited"):
        runs = [row["slot_at"] for row in home.rows("SELECT slot_at FROM runs WHERE job = ? ORDER BY rowid", job)]
        assert runs == sorted(runs)
    (late,) = home.rows("SELECT reason FROM slots WHERE job = 'at-once'")
    assert late["reason"].endswith(" late")


def forty_jobs_that_are_late(patient: Patient) -> None:
    """And one that is not."""
    home = patient.home
    hourly = {f"late-{number}": Job('cron = "0 * * * *"', each_time("UTC", (0,))) for number in range(40)}
    patient.clock.set_to("2026-06-10T08:20:00Z")
    patient.configure(hourly)
    daemon = patient.start()
    time.sleep(5)
    assert daemon.stop() == 0
    assert home.count("SELECT count(*) FROM runs") == 0
    patient.clock.set_to("2026-06-10T11:20:00Z")
    patient.configure(hourly | {"prompt": Job('every = "2s"', every(2))})
    patient.start()
    began = patient.clock.now()
    late = "SELECT count(*) FROM runs WHERE job <> 'prompt' AND state = 'ended'"
    wait_for(lambda: home.count(late) == 40, 75, "forty runs")
    patient.wait_for_runs("prompt", 2)
    end(patient)

    started = [row["started_at"] for row in home.rows("SELECT * FROM runs WHERE job <> 'prompt' ORDER BY started_at")]
    after = [seconds_between(started[0], each) for each in started]
    assert len([each for each in after if each < 5]) <= 8, after
    assert after[-1] < 60, after
    assert home.rows("SELECT state, slot_at FROM slots WHERE job <> 'prompt' AND state = 'ran' GROUP BY slot_at") == [
        {"state": "ran", "slot_at": "2026-06-10T11:00:00.000000Z"}
    ]
    assert set(reasons(patient, "late-0")) == {"skipped: coalesced"}
    prompt = home.rows("SELECT * FROM runs WHERE job = 'prompt' AND started_at > ?", at_text(began))
    lateness = [seconds_between(row["slot_at"], row["started_at"]) for row in prompt]
    assert len(lateness) > 15, lateness
    assert statistics.median(lateness) < 0.5, lateness
    assert max(lateness) < 5, lateness


HOST = """
mount -t tmpfs heartbeat-test "$0"
cp -a /etc/. "$0"
mount --bind "$0" /etc
ln -sfn /usr/share/zoneinfo/UTC /etc/localtime
exec "$@"
"""
FAR_AWAY = "Asia/Kolkata"  # half an hour off as well, at any time of the year


def may_have_an_etc_of_its_own() -> bool:
    return os.geteuid() == 0 and subprocess.run(["unshare", "--mount", "true"], check=False).returncode == 0


def another_zone_of_the_host(patient: Patient) -> None:
    """It has an /etc of its own, and no zone is configured."""
    if not may_have_an_etc_of_its_own():
        pytest.skip("only root, and where mount namespaces are permitted, may give a process an /etc of its own")
    home = patient.home
    soon = (datetime.now(UTC) + timedelta(seconds=150)).replace(second=0)
    there = soon.astimezone(ZoneInfo(FAR_AWAY))
    at = f"{there:%H:%M}"
    patient.configure(
        {
            "fives": Job('cron = "*/5 * * * * *"', multiples(5)),
            "daily": Job(f'cron = "{there.minute} {there.hour} * * *"', once_a_day(FAR_AWAY, at)),
        },
        owner="",
    )
    etc = home.folder.with_name(f"{home.folder.name}.etc")
    etc.mkdir()
    host = ("env", "-u", "TZ", "unshare", "--mount", "sh", "-ec", HOST, str(etc), str(COMMAND))
    daemon = home.start(*host, **patient.clock.environment)
    daemon.wait_for_beat()
    inside = ("nsenter", f"--mount=/proc/{daemon.process.pid}/ns/mnt", "env", "-u", "TZ")
    here = (*inside, str(COMMAND))
    status, before = home.run("next", "daily", program=here)
    assert (status, f"{at}" in before, FAR_AWAY in before) == (0, True, False), before
    patient.wait_for_runs("fives", 1)
    time.sleep(1)  # so that it is noticed at the very instant at which the next slot is due
    former = phase_of(home, "fives")
    subprocess.run([*inside, "ln", "-sfn", f"/usr/share/zoneinfo/{FAR_AWAY}", "/etc/localtime"], check=True)
    patient.wait_for_event("zone")
    wait_for(lambda: phase_of(home, "fives").anchor != former.anchor, 10, "the schedules to begin anew")
    patient.before["fives"] = [Phase(former.anchor, phase_of(home, "fives").anchor)]
    status, after = home.run("next", "daily", "--json", "-n", "1", program=here)
    assert (status, f"T{at}:00+05:30" in after) == (0, True), after
    patient.wait_for_runs("daily", 1, seconds=180)
    assert home.health().state == "up"
    end(patient)
    assert kinds(home) == ["zone"]
    assert home.rows("SELECT slot_at FROM slots WHERE job = 'daily'") == [
        {"slot_at": at_text(soon)[:17] + "00.000000Z"}
    ]


def a_job_that_is_paused_for_a_while(patient: Patient) -> None:
    home = patient.home
    settings, due = 'cron = "*/3 * * * * *"', multiples(3)
    on, off = {"calm": Job(settings, due)}, {"calm": Job(f"{settings}\npaused = true", due)}

    def skipped() -> int:
        return home.count("SELECT count(*) FROM slots WHERE state = 'skipped' AND reason LIKE 'paused%'")

    patient.configure(off)
    daemon = patient.start()
    wait_for(lambda: skipped() >= 3, 30, "three slots")
    assert patient.ran("calm") == 0
    assert [entry["note"] for entry in home.data("next", "calm", "-n", "1")["next"]] == ["paused"]
    patient.configure(on)
    daemon.process.send_signal(signal.SIGHUP)
    patient.wait_for_runs("calm", 3)
    before = skipped()
    patient.configure(off)
    daemon.process.send_signal(signal.SIGHUP)
    wait_for(lambda: skipped() >= before + 3, 30, "three more slots")
    end(patient)
    assert set(reasons(patient, "calm")) == {"skipped: paused"}
    states = [row["state"] for row in home.rows("SELECT state FROM slots ORDER BY slot_at")]
    changes = [state for state, former in zip(states, ["", *states], strict=False) if state != former]
    assert changes == ["skipped", "ran", "skipped"]


SCENARIOS: dict[str, Scenario] = {
    "a storm of restarts": a_storm_of_restarts,
    "a run that is cut off": a_run_that_is_cut_off,
    "two daemons and ticks by hand": two_daemons_and_ticks_by_hand,
    "scripts that take longer than their period": scripts_that_take_longer_than_their_period,
    "a downtime of ten minutes": a_downtime_of_ten_minutes,
    "forty jobs that are late": forty_jobs_that_are_late,
    "another zone of the host": another_zone_of_the_host,
    "a job that is paused for a while": a_job_that_is_paused_for_a_while,
}


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcomes]:
    with played(request, tmp_path_factory.mktemp("fates"), SCENARIOS) as found:
        yield found


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_due_instant_has_the_fate_that_is_right_for_it_with(outcomes: Outcomes, name: str) -> None:
    patient, outcome = outcomes[name]
    print(f"HEARTBEAT_TEST_SEED={SEED}")
    print(patient.home.report())
    outcome.result()
