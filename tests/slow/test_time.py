"""Whatever happens to the clock under a running daemon, each due instant of each job gets exactly one fate."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from tests.slow.clocks import HOUR, MINUTE, MONTH
from tests.slow.due import any_of, each_time, every, multiples, once_a_day
from tests.slow.homes import wait_for
from tests.slow.scenarios import Job, Outcomes, Patient, Scenario, at_text, kinds, played

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets us move the clock of one process"),
]

BERLIN = "Europe/Berlin"
JOBS = {
    "fives": Job('cron = "*/5 * * * * *"', multiples(5)),
    "sevens": Job('every = "7s"', every(7)),
    "tens": Job('every = "10s"', every(10)),
    "lists": Job('cron = ["*/15 * * * * *", "*/20 * * * * *"]', any_of(multiples(15), multiples(20))),
    "minutes": Job(f'cron = "* * * * *"\nzone = "{BERLIN}"', each_time(BERLIN)),
    "nightly": Job(f'cron = "30 2 * * *"\nzone = "{BERLIN}"', once_a_day(BERLIN, "02:30")),
}
MOST_ROWS = 62
"""What one thing that happens to the clock may add for one job: up to sixty rows for slots that pass, and its run."""


def berlin(cron: str) -> str:
    return f'cron = {cron}\nzone = "{BERLIN}"'


DAYS = {
    "minutes": Job(berlin('"* * * * *"'), each_time(BERLIN)),
    "halves": Job(berlin('"*/30 * * * *"'), each_time(BERLIN, (0, 30))),
    "hours": Job(berlin('"0 */1 * * *"'), each_time(BERLIN, (0,))),
    "two": Job(berlin('"0 2 * * *"'), once_a_day(BERLIN, "02:00")),
    "half-past": Job(berlin('"30 2 * * *"'), once_a_day(BERLIN, "02:30")),
    "last": Job(berlin('"59 2 * * *"'), once_a_day(BERLIN, "02:59")),
    "three": Job(berlin('"0 3 * * *"'), once_a_day(BERLIN, "03:00")),
    "twice": Job(berlin('["10 2 * * *", "20 2 * * *"]'), once_a_day(BERLIN, "02:10", "02:20")),
    "elsewhere": Job('cron = "30 2 * * *"\nzone = "UTC"', once_a_day("UTC", "02:30")),
    "elapsed": Job('every = "10m"', every(600)),
}


def stop(patient: Patient, well_since: float) -> None:
    """End the daemon, which was well all the time, and look at what it leaves."""
    states = patient.states_since(well_since)
    assert patient.home.daemons[-1].stop() == 0
    assert states == {"up"}
    assert patient.faults() == []


def setting_the_clock(patient: Patient, *steps: int) -> None:
    home = patient.home
    patient.configure(JOBS)
    patient.start()
    began = time.monotonic()
    patient.wait_for_runs("fives", 2)
    patient.wait_for_runs("sevens", 2)
    for step in steps:
        rows = home.count("SELECT count(*) FROM slots")
        before = at_text(patient.clock.now())
        patient.set_clock(step)
        after = at_text(patient.clock.now())
        patient.wait_for_event("forward" if step > 0 else "back", step)
        # Set back by a few minutes, a clock is waited for.
        patient.wait_for_runs("sevens", 2, seconds=130 if step == -MINUTE else 30)
        if (step, steps) != (-HOUR, (HOUR, -HOUR)):  # these slots have their fates
            patient.wait_for_runs("fives", 2)
        if step > 0:
            it_is_bounded(patient, rows, before, after)
        if step == MONTH:
            it_says_what_became_of(patient, "fives", before, after)
    stop(patient, began)
    assert kinds(home) == ["forward" if step > 0 else "back" for step in steps]
    said = home.daemons[0].log.count("clock_set_back")
    assert said <= len(JOBS) * sum(1 for step in steps if step < 0), "it says so again and again"


def it_is_bounded(patient: Patient, rows: int, before: str, after: str) -> None:
    """What is run, and what is written, for the time that was skipped."""
    runs = patient.home.rows("SELECT * FROM runs WHERE slot_at > ? AND slot_at <= ?", before, after)
    assert len({run["job"] for run in runs}) == len(runs), runs
    assert patient.home.count("SELECT count(*) FROM slots") - rows < len(patient.jobs) * MOST_ROWS
    asked = "SELECT count(*) FROM slots WHERE job = 'tens' AND last_at > ? AND slot_at <= ?"
    assert patient.home.count(asked, before, after) <= (4 if seconds_from(before, after) > HOUR else MOST_ROWS)


def seconds_from(begin: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()


def it_says_what_became_of(patient: Patient, job: str, before: str, after: str) -> None:
    """Of an instant in the middle of what was passed over."""
    begin, end = datetime.fromisoformat(before), datetime.fromisoformat(after)
    middle = (begin + (end - begin) / 2).replace(second=5, microsecond=0)
    why = patient.home.data("why", f"{job}@{at_text(middle)}")
    assert why["kind"] == "slot"
    assert why["steps"][0]["outcome"] == "skipped"
    assert "coalesced into" in why["steps"][0]["reason"]


def set_while_it_is_down(patient: Patient, step: int) -> None:
    home = patient.home
    patient.configure(JOBS)
    daemon = patient.start()
    patient.wait_for_runs("fives", 3)
    assert daemon.stop() == 0
    rows = home.count("SELECT count(*) FROM slots")
    before = at_text(patient.clock.now())
    patient.set_clock(step)
    after = at_text(patient.clock.now())
    patient.start()
    began = time.monotonic()
    patient.wait_for_runs("fives", 2)
    patient.wait_for_runs("sevens", 2)
    if step > 0:
        it_is_bounded(patient, rows, before, after)
    stop(patient, began)


def a_machine_that_is_years_behind(patient: Patient) -> None:
    """As small ones are after a start, until they hear what time it is."""
    patient.clock.set_to("2017-01-01T00:00:30Z")
    patient.configure({job: JOBS[job] for job in ("fives", "sevens", "tens")})
    patient.start()
    patient.wait_for_runs("fives", 2)
    assert "up" not in patient.states_since(0), "no clock that shows such a year is right"
    rows = patient.home.count("SELECT count(*) FROM slots")
    before = at_text(patient.clock.now())
    step = (datetime(2026, 6, 10, 8, tzinfo=UTC) - patient.clock.now()).total_seconds()
    patient.set_clock(step)
    after = at_text(patient.clock.now())
    patient.wait_for_event("forward", step)
    began = time.monotonic()
    patient.wait_for_runs("fives", 2)
    patient.wait_for_runs("sevens", 2)
    it_is_bounded(patient, rows, before, after)
    stop(patient, began)
    assert kinds(patient.home) == ["forward"]


def adjusting_bit_by_bit(patient: Patient) -> None:
    """The clock gains two seconds, and loses them again."""
    patient.configure({**JOBS, "ones": Job('every = "1s"', every(1))})
    patient.start()
    began = time.monotonic()
    for adjustment in (0.05, -0.05) * 20 + (0.05,) * 40 + (-0.05,) * 40:
        patient.clock.set(adjustment)
        time.sleep(0.3)
    stop(patient, began)
    assert kinds(patient.home) == []
    assert patient.ran("ones") > 30


def a_suspend(patient: Patient) -> None:
    patient.configure(JOBS)
    patient.start()
    began = time.monotonic()
    patient.wait_for_runs("fives", 2)
    before = at_text(patient.clock.now())
    patient.clock.suspend(2 * MINUTE)
    after = at_text(patient.clock.now())
    patient.wait_for_event("suspend", 2 * MINUTE)
    patient.wait_for_runs("fives", 2)
    runs = patient.home.rows("SELECT * FROM runs WHERE slot_at > ? AND slot_at <= ?", before, after)
    assert len({run["job"] for run in runs}) == len(runs), runs
    stop(patient, began)
    assert kinds(patient.home) == ["suspend"]


def an_idle_daemon(patient: Patient) -> None:
    """Nothing is due, so nothing but the look at the clock can notice."""
    patient.configure({"hours": Job('every = "1h"', every(HOUR))})
    patient.start()
    began = time.monotonic()
    wait_for(lambda: patient.ran("hours") == 1, 30, "the first run")
    time.sleep(20)
    for step, kind in ((20 * MINUTE, "forward"), (20 * MINUTE, "suspend"), (20 * MINUTE, "forward")):
        patient.clock.suspend(step) if kind == "suspend" else patient.clock.set(step)
        patient.wait_for_event(kind, step)
    wait_for(lambda: patient.ran("hours") == 2, 30, "the second run")
    stop(patient, began)
    assert kinds(patient.home) == ["forward", "suspend", "forward"]


def standing_still(patient: Patient) -> None:
    """SIGSTOP for two minutes."""
    home = patient.home
    patient.configure(JOBS)
    daemon = patient.start()
    patient.wait_for_runs("fives", 2)
    before = at_text(patient.clock.now())
    daemon.process.send_signal(signal.SIGSTOP)
    time.sleep(2 * MINUTE)
    assert home.health().state == "stalled"
    after = at_text(patient.clock.now())
    daemon.process.send_signal(signal.SIGCONT)
    patient.wait_for_event("frozen", 2 * MINUTE)
    wait_for(lambda: home.health().state == "up", 10, "health to be up again")
    began = time.monotonic()
    patient.wait_for_runs("fives", 2)
    # One of them may have been going on.
    runs = home.rows("SELECT * FROM runs WHERE started_at > ? AND slot_at > ? AND slot_at <= ?", after, before, after)
    assert len({run["job"] for run in runs}) == len(runs), runs
    stop(patient, began)
    assert kinds(home) == ["frozen"]


def a_change_to_summer_time(patient: Patient) -> None:
    """At 01:00 UTC the clocks of Berlin go from 02:00 to 03:00."""
    days_pass(
        patient,
        begin="2026-03-29T00:59:15Z",
        stations=(
            ("", "2026-03-29T01:00:10Z"),
            ("2026-03-29T01:29:40Z", "2026-03-29T01:30:08Z"),
            ("2026-03-30T00:29:40Z", "2026-03-30T00:30:08Z"),
        ),
    )
    gap, next_day = "2026-03-29T01:00:00.000000Z", "2026-03-30T00:00:00.000000Z"
    for job in ("two", "half-past", "last", "three", "twice"):
        assert [row["state"] for row in slots_of(patient, job, since=gap, until=next_day)] == ["ran"], job
        assert slots_of(patient, job, since=gap, until=next_day)[0]["slot_at"] == gap
    (half_past,) = slots_of(patient, "half-past", since=next_day)
    assert (half_past["slot_at"], half_past["state"]) == ("2026-03-30T00:30:00.000000Z", "ran")


def a_change_to_winter_time(patient: Patient) -> None:
    """At 01:00 UTC the clocks of Berlin go from 03:00 to 02:00."""
    days_pass(
        patient,
        begin="2026-10-25T00:29:15Z",
        stations=(
            ("", "2026-10-25T00:30:08Z"),
            ("2026-10-25T00:59:40Z", "2026-10-25T01:00:08Z"),
            ("2026-10-25T01:29:40Z", "2026-10-25T01:30:08Z"),
            ("2026-10-26T01:29:40Z", "2026-10-26T01:30:08Z"),
        ),
    )
    ran = [row["slot_at"] for row in slots_of(patient, "half-past")]
    assert ran == ["2026-10-25T00:30:00.000000Z", "2026-10-26T01:30:00.000000Z"]
    in_both_passes = [row["slot_at"][11:16] for row in slots_of(patient, "halves", until="2026-10-25T01:31")]
    assert in_both_passes == ["00:30", "01:00", "01:30"]
    assert slots_of(patient, "two", until="2026-10-25T12:00") == []


def days_pass(patient: Patient, begin: str, stations: tuple[tuple[str, str], ...]) -> None:
    """Live from each first instant to the second; between them the clock is set forward."""
    patient.clock.set_to(begin)
    patient.configure(DAYS)
    patient.start()
    began = time.monotonic()
    for start, end in stations:
        if start:
            step = (datetime.fromisoformat(start) - patient.clock.now()).total_seconds()
            patient.clock.set(step)
            patient.wait_for_event("forward", step)
        left = (datetime.fromisoformat(end) - patient.clock.now()).total_seconds()
        assert left > 0, "it took too long to get here"
        time.sleep(left)
    stop(patient, began)
    assert kinds(patient.home) == ["forward"] * sum(1 for start, _ in stations if start)


def slots_of(patient: Patient, job: str, since: str = "", until: str = "9") -> list[dict[str, str]]:
    sql = "SELECT * FROM slots WHERE job = ? AND slot_at >= ? AND slot_at < ? ORDER BY slot_at"
    return patient.home.rows(sql, job, since, until)


SCENARIOS: dict[str, Scenario] = {
    "a minute forward": lambda patient: setting_the_clock(patient, MINUTE),
    "an hour forward": lambda patient: setting_the_clock(patient, HOUR),
    "a month forward": lambda patient: setting_the_clock(patient, MONTH),
    "a minute back": lambda patient: setting_the_clock(patient, -MINUTE),
    "an hour back": lambda patient: setting_the_clock(patient, -HOUR),
    "a month back": lambda patient: setting_the_clock(patient, -MONTH),
    "an hour forward and back": lambda patient: setting_the_clock(patient, HOUR, -HOUR),
    "a month forward and back": lambda patient: setting_the_clock(patient, MONTH, -MONTH),
    "an hour forward while it is down": lambda patient: set_while_it_is_down(patient, HOUR),
    "an hour back while it is down": lambda patient: set_while_it_is_down(patient, -HOUR),
    "a month back while it is down": lambda patient: set_while_it_is_down(patient, -MONTH),
    "a machine that is years behind": a_machine_that_is_years_behind,
    "adjusting the clock bit by bit": adjusting_bit_by_bit,
    "a suspend": a_suspend,
    "an idle daemon": an_idle_daemon,
    "standing still": standing_still,
    "a change to summer time": a_change_to_summer_time,
    "a change to winter time": a_change_to_winter_time,
}


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcomes]:
    with played(request, tmp_path_factory.mktemp("time"), SCENARIOS) as found:
        yield found


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_due_instant_has_exactly_one_fate_after(outcomes: Outcomes, name: str) -> None:
    patient, end = outcomes[name]
    print(patient.home.report())
    end.result()
