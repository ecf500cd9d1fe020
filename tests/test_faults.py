"""Faults in a row: counted, raised once, resolved once, slowed down for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.config.telling import IncidentSettings
from heartbeat.faults import INCIDENT_AFTER, STALE_AFTER, backoff_until, weigh
from heartbeat.model import FaultChange, Gate, JobState, Judgement, Source, Streak, Verdict, View

NOW = datetime(2026, 6, 10, 8, tzinfo=UTC)
JOB = "vip-mail"
FAULTS = (Verdict.FAILED, Verdict.TIMEOUT, Verdict.MALFORMED)


def judged(verdict: Verdict, *sources: Source, gate: bool = True) -> Judgement:
    return Judgement(
        verdict, f"code_{verdict}", "because", gate=Gate(verdict is Verdict.WAKE, sources=sources) if gate else None
    )


def view(*streaks: Streak) -> View:
    return View(JobState(JOB, NOW), streaks={streak.subject: streak for streak in streaks})


def play(runs: Iterable[Judgement], job: str = JOB) -> list[dict[str, FaultChange]]:
    """Run after run, each seeing the streaks the one before left."""
    streaks: dict[str, Streak] = {}
    history = []
    for number, judgement in enumerate(runs):
        changes = weigh(job, judgement, view(*streaks.values()), NOW + timedelta(minutes=number))
        by_subject = {change.streak.subject: change for change in changes}
        assert len(by_subject) == len(changes)
        streaks.update({subject: change.streak for subject, change in by_subject.items()})
        history.append(by_subject)
    return history


def ok(name: str) -> Source:
    return Source(name, ok=True)


def bad(name: str, message: str = "no answer") -> Source:
    return Source(name, ok=False, message=message)


QUIET = judged(Verdict.QUIET)
FAILED = judged(Verdict.FAILED, gate=False)


@pytest.mark.parametrize("verdict", FAULTS)
@pytest.mark.parametrize("gate", [False, True])
def test_the_third_fault_in_a_row_opens_an_incident_and_not_the_second(verdict: Verdict, gate: bool) -> None:
    changes = [run[f"job:{JOB}"] for run in play([judged(verdict, gate=gate)] * 3)]
    assert [change.opens for change in changes] == [False, False, True]
    assert [change.streak.faults for change in changes] == [1, 2, 3]
    assert not any(change.resolves for change in changes)
    assert changes[2].code == f"code_{verdict}"
    assert changes[2].streak.message == f"{verdict}: because"


def test_different_faults_are_one_streak_with_the_latest_message() -> None:
    changes = [run[f"job:{JOB}"] for run in play(judged(verdict, gate=False) for verdict in FAULTS)]
    assert changes[2].opens
    assert changes[2].streak.message == "malformed: because"


@pytest.mark.parametrize("verdict", [Verdict.QUIET, Verdict.WAKE])
def test_two_faults_and_a_success_open_nothing_and_the_count_begins_again(verdict: Verdict) -> None:
    runs = [FAILED, FAILED, judged(verdict)] * 4
    assert not any(run[f"job:{JOB}"].opens for run in play(runs))


@pytest.mark.parametrize("verdict", [Verdict.QUIET, Verdict.WAKE])
def test_a_success_resolves_and_says_when_it_was(verdict: Verdict) -> None:
    change = play([FAILED, FAILED, FAILED, judged(verdict)])[-1][f"job:{JOB}"]
    assert change.resolves
    assert not change.opens
    assert change.streak == Streak(f"job:{JOB}", 0, "", NOW + timedelta(minutes=3))


def test_a_second_success_has_nothing_to_resolve() -> None:
    assert not play([FAILED, QUIET, QUIET])[-1][f"job:{JOB}"].resolves


def test_a_streak_remembers_its_last_success() -> None:
    change = play([QUIET, FAILED, FAILED])[-1][f"job:{JOB}"]
    assert change.streak.last_ok_at == NOW


def test_a_source_that_fails_has_its_own_streak_and_touches_no_other() -> None:
    runs = [judged(Verdict.QUIET, ok("a"), bad("b", "timed out"))] * 3
    last = play(runs)[-1]
    assert last[f"source:{JOB}/b"] == FaultChange(
        Streak(f"source:{JOB}/b", 3, "timed out"), opens=True, code="source_failed"
    )
    for subject in (f"source:{JOB}/a", f"job:{JOB}"):
        assert last[subject].streak.faults == 0
        assert not last[subject].opens
        assert not last[subject].resolves


def test_a_source_that_works_again_resolves_alone() -> None:
    last = play([judged(Verdict.WAKE, bad("a"), bad("b"))] * 3 + [judged(Verdict.WAKE, ok("a"), bad("b"))])[-1]
    assert last[f"source:{JOB}/a"].resolves
    assert not last[f"source:{JOB}/b"].resolves
    assert last[f"source:{JOB}/b"].streak.faults == 4


def test_a_source_without_a_message_still_fails() -> None:
    change = play([judged(Verdict.QUIET, bad("a", ""))] * 3)[-1][f"source:{JOB}/a"]
    assert change.opens
    assert change.streak.message == "it failed without a message"


def test_a_source_no_longer_asked_resolves_once() -> None:
    history = play([judged(Verdict.QUIET, bad("a"))] * 3 + [judged(Verdict.QUIET, ok("b"))] * 2)
    assert history[3][f"source:{JOB}/a"].resolves
    assert history[3][f"source:{JOB}/a"].streak.faults == 0
    assert f"source:{JOB}/a" not in history[4]


@pytest.mark.parametrize("run", [FAILED, judged(Verdict.FAILED), judged(Verdict.MALFORMED, gate=False)])
def test_a_failed_run_that_did_not_ask_a_source_says_nothing_of_it(run: Judgement) -> None:
    history = play([judged(Verdict.QUIET, bad("a"))] * 3 + [run])
    assert set(history[-1]) == {f"job:{JOB}"}


def test_a_failed_run_that_asked_a_source_counts_for_both() -> None:
    last = play([judged(Verdict.FAILED, bad("a"), ok("b"))] * 3)[-1]
    assert last[f"job:{JOB}"].opens
    assert last[f"source:{JOB}/a"].opens
    assert not last[f"source:{JOB}/b"].opens


@pytest.mark.parametrize("sources", [(ok("a"), bad("a")), (bad("a"), ok("a"))])
def test_of_two_sources_with_one_name_the_failing_one_counts(sources: tuple[Source, ...]) -> None:
    assert play([judged(Verdict.QUIET, *sources)])[0][f"source:{JOB}/a"].streak.faults == 1


def test_streaks_of_other_subjects_are_left_alone() -> None:
    others = view(Streak("agent:claude", 5, "x"), Streak("source:vip-mail-2/a", 5, "x"), Streak("job:other", 5, "x"))
    assert [change.streak.subject for change in weigh(JOB, QUIET, others, NOW)] == [f"job:{JOB}"]


@pytest.mark.parametrize(
    ("faults", "minutes"),
    [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 32), (7, 60), (8, 60), (100, 60), (10_000, 60)],
)
def test_a_failing_job_is_slowed_down_step_by_step_to_an_hour_at_most(faults: int, minutes: int) -> None:
    changes = weigh(JOB, FAILED, view(Streak(f"job:{JOB}", faults - 1)), NOW)
    assert backoff_until(JOB, changes, NOW) == NOW + timedelta(minutes=minutes)


def test_a_success_ends_the_slowing_down() -> None:
    assert backoff_until(JOB, weigh(JOB, QUIET, view(Streak(f"job:{JOB}", 9)), NOW), NOW) is None


def opened(runs: int, *, last_ok_at: datetime | None, now: datetime = NOW, **limits: Any) -> bool:
    """Whether the last of so many faults in a row makes an incident."""
    before = view(Streak(f"job:{JOB}", runs - 1, "x", last_ok_at))
    return weigh(JOB, FAILED, before, now, **limits)[0].opens


@pytest.mark.parametrize("after", [1, 2, 10])
def test_the_owner_says_how_many_faults_are_an_incident(after: int) -> None:
    assert [opened(runs, last_ok_at=None, after=after) for runs in (after - 1 or after, after)] == [after == 1, True]


def test_without_a_word_of_the_owner_the_limits_are_those_of_the_configuration() -> None:
    assert IncidentSettings() == IncidentSettings(after=INCIDENT_AFTER, stale=STALE_AFTER)


@pytest.mark.parametrize(("late", "opens"), [(timedelta(microseconds=-1), False), (timedelta(), True)])
@pytest.mark.parametrize("stale", [timedelta(hours=26), timedelta(hours=1)])
def test_one_fault_is_an_incident_when_the_last_success_is_long_ago(
    late: timedelta, opens: bool, stale: timedelta
) -> None:
    assert opened(1, last_ok_at=NOW - stale - late, stale=stale) is opens


def test_what_never_worked_is_an_incident_by_its_faults_alone() -> None:
    assert not opened(2, last_ok_at=None, now=NOW + timedelta(days=1000))


def test_a_source_goes_stale_by_itself() -> None:
    streaks = [Streak(f"source:{JOB}/{name}", 0, "", NOW - timedelta(days=2)) for name in ("a", "b")]
    changes = weigh(JOB, judged(Verdict.QUIET, bad("a"), ok("b")), view(*streaks), NOW)
    assert [change.streak.subject for change in changes if change.opens] == [f"source:{JOB}/a"]


def test_a_success_after_a_long_time_is_no_incident() -> None:
    changes = weigh(JOB, QUIET, view(Streak(f"job:{JOB}", 0, "", NOW - timedelta(days=99))), NOW)
    assert not any(change.opens for change in changes)


def test_a_failing_source_does_not_slow_its_job_down() -> None:
    run = judged(Verdict.QUIET, bad("a"))
    assert backoff_until(JOB, weigh(JOB, run, view(Streak(f"source:{JOB}/a", 9)), NOW), NOW) is None


sources = st.lists(st.builds(Source, st.sampled_from(["a", "b", "c/d", ""]), st.booleans()), max_size=4)
judgements = st.builds(
    lambda verdict, asked, gate: judged(verdict, *asked, gate=gate or not verdict.is_fault),
    st.sampled_from(Verdict),
    sources,
    st.booleans(),
)


@given(st.lists(judgements, max_size=30))
def test_each_subject_is_raised_once_for_three_faults_in_a_row_and_resolved_once(runs: list[Judgement]) -> None:
    open_now: set[str] = set()
    in_a_row: dict[str, int] = {}
    for judgement, changes in zip(runs, play(runs), strict=True):
        said = {f"job:{JOB}": not judgement.verdict.is_fault}
        for source in judgement.gate.sources if judgement.gate else ():
            subject = f"source:{JOB}/{source.name}"
            said[subject] = said.get(subject, True) and source.ok
        for subject, fine in said.items():
            in_a_row[subject] = 0 if fine else in_a_row.get(subject, 0) + 1
            assert changes[subject].streak.faults == in_a_row[subject]
            assert changes[subject].opens == (in_a_row[subject] >= 3)
        for subject, change in changes.items():
            assert not (change.opens and change.resolves)
            if change.opens:
                open_now.add(subject)
            if change.resolves:
                open_now.discard(subject)
            if subject not in said:
                in_a_row[subject] = 0
        assert open_now == {subject for subject, count in in_a_row.items() if count >= 3}
