"""Budgets: one more interruption is allowed at the first instant at which no limit is broken, and not before."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.decide.budget import Budget, over_interruptions, over_spending
from heartbeat.model import Interruption, Past, Spending

NOW = datetime(2026, 6, 10, 8, tzinfo=UTC)
INSTANT = timedelta.resolution
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
NONE = Budget(timedelta(), None, None, None)


def ago(*spans: timedelta, critical: bool = False) -> tuple[Interruption, ...]:
    return tuple(Interruption(NOW - span, critical) for span in spans)


def minutes(*numbers: float) -> tuple[timedelta, ...]:
    return tuple(timedelta(minutes=number) for number in numbers)


def over(
    budget: Budget, *interruptions: Interruption, critical: bool = False, now: datetime = NOW
) -> tuple[datetime, str] | None:
    return over_interruptions(budget, Past(interruptions), now, critical=critical)


def test_nobody_was_interrupted_yet() -> None:
    assert over(Budget()) is None
    assert over(Budget(), critical=True) is None


GAP = replace(NONE, min_gap=timedelta(minutes=2))


def test_the_gap_is_kept_to_the_microsecond() -> None:
    found = over(GAP, *ago(timedelta(minutes=2) - INSTANT))
    assert found == (NOW + INSTANT, "min_gap is 2m: the latest interruption was 1m59s ago")
    assert over(GAP, *ago(timedelta(minutes=2))) is None
    assert over(GAP, *ago(timedelta())) == (
        NOW + timedelta(minutes=2),
        "min_gap is 2m: the latest interruption was 0s ago",
    )


PER_HOUR = replace(NONE, per_hour=3)


def test_in_any_hour_there_are_so_many_and_the_oldest_of_them_makes_room() -> None:
    edge = HOUR - INSTANT
    found = over(PER_HOUR, *ago(edge, *minutes(20, 10)))
    assert found == (NOW + INSTANT, "per_hour is 3: there were 3 interruptions in the last 60 minutes")
    assert over(PER_HOUR, *ago(HOUR, *minutes(20, 10))) is None
    assert over(PER_HOUR, *ago(*minutes(20, 10))) is None


def test_more_than_the_limit_allows_make_room_only_when_enough_of_them_are_past() -> None:
    found = over(PER_HOUR, *ago(*minutes(50, 40, 30, 20, 10)))
    assert found == (NOW + timedelta(minutes=30), "per_hour is 3: there were 5 interruptions in the last 60 minutes")


def test_in_any_day_there_are_so_many() -> None:
    budget = replace(NONE, per_day=2)
    found = over(budget, *ago(DAY - INSTANT, HOUR))
    assert found == (NOW + INSTANT, "per_day is 2: there were 2 interruptions in the last 24 hours")
    assert over(budget, *ago(DAY, HOUR)) is None


def test_of_several_limits_the_one_that_lasts_longest_is_told() -> None:
    budget = Budget(timedelta(minutes=2), 3, 3, None)
    found = over(budget, *ago(*minutes(30, 20, 1)))
    assert found is not None
    assert found[0] == NOW - timedelta(minutes=30) + DAY
    assert found[1].startswith("per_day is 3")


def test_the_critical_count_apart() -> None:
    budget = Budget(timedelta(minutes=2), 1, 1, 2)
    assert over(budget, *ago(*minutes(1, 1), critical=True)) is None
    assert over(budget, *ago(*minutes(1, 1)), critical=True) is None
    assert over(budget, *ago(timedelta(), critical=True), critical=True) is None
    assert over(budget, *ago(HOUR - INSTANT, timedelta(), critical=True), critical=True) == (
        NOW + INSTANT,
        "critical_per_hour is 2: there were 2 critical interruptions in the last 60 minutes",
    )
    assert over(budget, *ago(HOUR, timedelta(), critical=True), critical=True) is None


@pytest.mark.parametrize(
    ("budget", "critical"),
    [
        (replace(NONE, per_hour=0), False),
        (replace(NONE, per_day=0), False),
        (replace(NONE, critical_per_hour=0), True),
    ],
)
def test_a_limit_of_0_never_allows_one_and_is_looked_at_again_a_day_later(budget: Budget, critical: bool) -> None:
    for interruptions in ((), ago(*minutes(1), critical=critical)):
        found = over(budget, *interruptions, critical=critical)
        assert found is not None
        assert found[0] == NOW + DAY
        assert "is 0: nobody is ever interrupted" in found[1]


def test_no_limit_is_none() -> None:
    many = ago(*[timedelta()] * 500)
    assert over(NONE, *many) is None
    assert over(NONE, *ago(*[timedelta()] * 500, critical=True), critical=True) is None


def test_what_is_dated_in_the_future_counts_for_nothing() -> None:
    budget = Budget(timedelta(minutes=2), 1, 1, 1)
    assert over(budget, *ago(-INSTANT, -DAY)) is None
    assert over(budget, *ago(-INSTANT, critical=True), critical=True) is None
    assert over(budget, *ago(timedelta())) is not None


def test_the_order_of_what_was_does_not_matter() -> None:
    # The oldest first by when they were made: a clock that was set back has them out of order.
    budget = Budget(timedelta(minutes=2), 3, 3, None)
    in_order, mixed = ago(*minutes(30, 20, 1)), ago(*minutes(1, 30, 20))
    assert over(budget, *in_order) == over(budget, *mixed)


BUDGETS = st.builds(
    Budget,
    st.integers(0, 40).map(lambda number: timedelta(minutes=number)),
    st.none() | st.integers(1, 5),
    st.none() | st.integers(1, 8),
    st.none() | st.integers(1, 5),
)


def breaks(budget: Budget, times: list[datetime], at: datetime, *, critical: bool) -> bool:
    """Whether one more at that instant would break a limit, by counting."""

    def full(limit: int | None, span: timedelta) -> bool:
        return limit is not None and sum(at - span < each <= at for each in times) + 1 > limit

    if critical:
        return full(budget.critical_per_hour, HOUR)
    close = bool(times) and at - max(times) < budget.min_gap
    return close or full(budget.per_hour, HOUR) or full(budget.per_day, DAY)


@given(BUDGETS, st.booleans(), st.lists(st.integers(0, 90), min_size=1, max_size=25))
def test_whoever_goes_on_as_early_as_allowed_never_breaks_a_limit_and_could_not_go_on_earlier(
    budget: Budget, critical: bool, pauses: list[int]
) -> None:
    now, made = NOW, list[Interruption]()
    for pause in pauses:
        now += timedelta(minutes=pause)
        # Those of the other sort, to be left alone.
        made.append(Interruption(now, not critical))
        times = [each.at for each in made if each.critical == critical]
        found = over_interruptions(budget, Past(tuple(made)), now, critical=critical)
        assert (found is not None) == breaks(budget, times, now, critical=critical)
        if found is not None:
            then, reason = found
            assert then > now
            assert reason
            assert breaks(budget, times, then - INSTANT, critical=critical)
            now = then
        assert not breaks(budget, times, now, critical=critical)
        assert over_interruptions(budget, Past(tuple(made)), now, critical=critical) is None
        made.append(Interruption(now, critical))


# Money and tokens

BERLIN = ZoneInfo("Europe/Berlin")
TODAY, TOMORROW = datetime(2026, 6, 9, 22, tzinfo=UTC), datetime(2026, 6, 10, 22, tzinfo=UTC)


def spent(*usd: float, at: datetime = NOW, tokens: int = 0) -> Past:
    return Past(spending=tuple(Spending(at, tokens, each) for each in usd))


DOLLAR = Budget(usd_per_day=1.0)


def test_money_is_used_up_at_the_limit_and_not_just_below() -> None:
    assert over_spending(DOLLAR, spent(0.99), BERLIN, NOW) is None
    # Ten times a tenth: added up one by one they stay below one.
    found = over_spending(DOLLAR, spent(*[0.1] * 10), BERLIN, NOW)
    assert found == (TOMORROW, "usd_per_day is 1: 1.00 USD were spent today")


def test_tokens_are_used_up_at_the_limit_and_not_just_below() -> None:
    budget = Budget(tokens_per_day=1000)
    assert over_spending(budget, spent(0, 0, tokens=499), BERLIN, NOW) is None
    found = over_spending(budget, spent(0, 0, tokens=500), BERLIN, NOW)
    assert found == (TOMORROW, "tokens_per_day is 1000: 1000 were used today")


def test_both_are_told() -> None:
    found = over_spending(Budget(usd_per_day=1, tokens_per_day=1), spent(2.5, tokens=7), BERLIN, NOW)
    assert found is not None
    assert found[1] == "usd_per_day is 1: 2.50 USD were spent today; tokens_per_day is 1: 7 were used today"


def test_without_a_limit_nothing_is_ever_used_up_and_a_limit_of_0_always_is() -> None:
    assert over_spending(Budget(), spent(1e9, tokens=10**9), BERLIN, NOW) is None
    assert over_spending(Budget(usd_per_day=0), Past(), BERLIN, NOW) is not None


@pytest.mark.parametrize(
    ("at", "counts"),
    [(TODAY - INSTANT, False), (TODAY, True), (TOMORROW - INSTANT, True), (TOMORROW, False)],
)
def test_only_what_was_spent_on_the_owners_day_counts_even_if_it_is_dated_later(at: datetime, counts: bool) -> None:
    assert (over_spending(DOLLAR, spent(1, at=at), BERLIN, NOW) is not None) == counts


@pytest.mark.parametrize(
    ("zone", "now", "next_day"),
    [
        ("Europe/Berlin", "2026-06-10T21:59:59.999999", "2026-06-10T22:00"),
        ("Europe/Berlin", "2026-06-10T22:00", "2026-06-11T22:00"),
        ("Europe/Berlin", "2026-10-25T12:00", "2026-10-25T23:00"),
        ("Asia/Beirut", "2026-03-28T12:00", "2026-03-28T22:00"),  # the 29th begins at 01:00
        ("America/Havana", "2026-03-07T12:00", "2026-03-08T05:00"),  # so does the 8th
        ("America/Havana", "2026-10-31T12:00", "2026-11-01T04:00"),  # midnight comes twice
        ("America/St_Johns", "2006-10-29T02:00", "2006-10-29T02:30"),  # the 29th
        ("America/St_Johns", "2006-10-29T02:40", "2006-10-29T03:30"),  # began, and the 28th came again
        ("Pacific/Apia", "2011-12-30T09:00", "2011-12-30T10:00"),  # the 31st follows the 29th
    ],
)
def test_the_next_day_begins_where_the_date_on_the_wall_becomes_it(zone: str, now: str, next_day: str) -> None:
    at = datetime.fromisoformat(now).replace(tzinfo=UTC)
    found = over_spending(DOLLAR, spent(1, at=at), ZoneInfo(zone), at)
    assert found is not None
    assert found[0] == datetime.fromisoformat(next_day).replace(tzinfo=UTC)
    assert found[0].astimezone(ZoneInfo(zone)).date() > at.astimezone(ZoneInfo(zone)).date()
