"""What is picked from a calendar: no longer than it is useful, and no shorter, for that would read as called off."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from heartbeat.sources.meetings import Calendar, Wanted, Window, meetings
from heartbeat.sources.occurrence import Occurrence
from heartbeat.sources.rows import from_row, to_row

NOON = datetime(2026, 6, 10, 12, tzinfo=UTC)
MINUTES = st.integers(-180, 180).map(lambda minutes: NOON + timedelta(minutes=minutes))
TEXTS = st.text(max_size=20)
ONES = st.builds(lambda start, all_day: Occurrence("uid", "", "x", start, all_day=all_day), MINUTES, st.booleans())


@given(one=ONES, first_at=st.none() | MINUTES, moved=st.none() | MINUTES, lookahead=st.integers(1, 120), now=MINUTES)
def test_what_is_picked_is_picked_until_it_is_no_longer_useful(
    *, one: Occurrence, first_at: datetime | None, moved: datetime | None, lookahead: int, now: datetime
) -> None:
    row, news = to_row(one), {("uid", ""): moved.timestamp()} if moved else {}
    first_at = min(first_at, now) if first_at else None

    def picked(at: datetime) -> tuple[Window, list[Occurrence]]:
        window = Window(at, at + timedelta(minutes=lookahead), first_at, news)
        return window, window.pick([row], Wanted(all_day=True))

    window, found = picked(now)
    for _ in found:
        until = window.useful_until(one)
        assert until >= now
        for minutes in range(int((until - now).total_seconds() // 60) + 1):
            assert picked(now + timedelta(minutes=minutes))[1] == found
        assert picked(until)[1] == found


@given(
    one=st.builds(
        Occurrence,
        TEXTS, TEXTS, TEXTS, MINUTES, st.none() | MINUTES, st.booleans(), st.booleans(), st.booleans(), st.booleans(),
        st.booleans(), st.integers(0, 1000), TEXTS,
    )
)  # fmt: skip
def test_a_row_reads_back_as_the_occurrence_it_was(one: Occurrence) -> None:
    assert from_row(to_row(one)) == one


@given(st.lists(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), MINUTES), max_size=4), max_size=3))
def test_no_meeting_is_lost_because_several_calendars_hold_it(calendars: list[list[tuple[str, str, datetime]]]) -> None:
    window = Window(NOON, NOON + timedelta(hours=1))
    rows = [
        sorted(to_row(Occurrence(uid, "", title, start)) for uid, title, start in calendar) for calendar in calendars
    ]
    alone = [meetings([Calendar(one, Wanted(), window)])[0] for one in rows]
    together = meetings([Calendar(one, Wanted(), window) for one in rows])
    assert together[:1] == alone[:1]
    held = [from_row(row) for calendar in rows for row in calendar]
    for found, expected in zip(together, alone, strict=True):
        for lost in [one for one in expected if one not in found]:
            others = [one for one in held if one.uid == lost.uid and one is not lost]
            assert any(other.start == lost.start or other.title == lost.title for other in others)
