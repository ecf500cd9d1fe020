"""Events and zones at the edge of time and sense cost only themselves."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.sources import apart, timetable
from heartbeat.sources.occurrence import LONGEST, Occurrence
from heartbeat.sources.rows import from_row, to_row
from heartbeat.sources.timetable import Workshop
from heartbeat.sources.zones import to_utc
from tests.lookahead.support import AT_8, BERLIN, DTSTART, GOOD, NOW, WEEKLY, Tell, calendar, event, look, tell

DAILY = (f"DTSTART;{BERLIN}:20260601T100000", "RRULE:FREQ=DAILY", "SUMMARY:Daily")


def definition(name: str, rule: str, start: str = "16010101T030000") -> str:
    return f"""BEGIN:VTIMEZONE
TZID:{name}
BEGIN:STANDARD
DTSTART:{start}
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
{rule.replace("MONTH", "BYMONTH=10")}
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:{start.replace("T03", "T02")}
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
{rule.replace("MONTH", "BYMONTH=3")}
END:DAYLIGHT
END:VTIMEZONE"""


LAST_SUNDAY = "RRULE:FREQ=YEARLY;BYDAY=-1SU;MONTH"


@pytest.mark.parametrize(
    ("events", "starts"),
    [
        ([event(DTSTART, "DTEND:99991231T235959Z")], [AT_8]),
        ([event(DTSTART, "DTEND;VALUE=DATE:99991231")], [AT_8]),
        ([event(DTSTART), event(DTSTART.replace("08", "09"), "RECURRENCE-ID:99991231T235959Z")], [AT_8]),
        ([event(*DAILY), event(DTSTART, f"RECURRENCE-ID;{BERLIN}:00010101T000000")], [AT_8]),
        ([event(*DAILY, "EXDATE:99991231T235959Z,00010101T000000Z")], [AT_8]),
        ([event(*DAILY, "RDATE:99991231T235959Z")], [AT_8]),
        ([event(DAILY[0], "RRULE:FREQ=DAILY;UNTIL=99991231T235959Z")], [AT_8]),
        ([event("DTSTART;TZID=America/New_York:20260601T040000", "RRULE:FREQ=DAILY;UNTIL=99991231T235959Z")], [AT_8]),
        ([event(DAILY[0], "RRULE:FREQ=DAILY;UNTIL=00010101T000000Z")], []),
        ([event(*DAILY, "EXDATE:20260610T100000")], []),
        ([event("DTSTART;TZID=America/New_York:20260601T040000", "RRULE:FREQ=DAILY", "EXDATE:20260610T040000")], []),
        (
            [
                event("DTSTART;TZID=America/New_York:20260601T040000", "RRULE:FREQ=DAILY"),
                event("DTSTART:20260610T081000Z", "RECURRENCE-ID:20260610T040000"),
            ],
            ["2026-06-10T08:10:00Z"],
        ),
        ([event(DTSTART, "ATTENDEE;CN=" + "a" * 3_000_000 + ":mailto:q@example.org")], [AT_8]),
        ([event(DTSTART, "ATTENDEE" + ";A=b" * 750_000 + ":mailto:q@example.org")], [AT_8]),
    ],
)
def test_what_is_impossible_costs_only_itself(events: list[str], starts: list[str]) -> None:
    good = GOOD.replace("T080000Z", "T080100Z")
    assert [at for title, at in look(calendar(*events, good)).events if title != "Good one"] == starts
    assert ("Good one", "2026-06-10T08:01:00Z") in look(calendar(*events, good)).events


def test_an_end_at_the_end_of_time_fails_no_tick(told: Tell) -> None:
    finding = told(calendar(event(DTSTART, "DTEND:99991231T235959Z"))).only
    assert finding.version == "2026-06-10T08:00:00Z/"


@pytest.mark.parametrize(("more", "kept"), [(timedelta(0), True), (timedelta(seconds=1), False)])
def test_an_end_after_a_century_is_none(more: timedelta, kept: bool) -> None:
    one = Occurrence("u", "", "x", NOW, NOW + LONGEST + more)
    assert (from_row(to_row(one)).end is not None) is kept


@pytest.mark.parametrize(
    "rule",
    [
        "RRULE:FREQ=SECONDLY",
        "RRULE:FREQ=MINUTELY;MONTH",
        "RRULE:FREQ=DAILY;BYHOUR=0,1",
        "RRULE:FREQ=YEARLY;INTERVAL=0;MONTH",
        "RRULE:FREQ=YEARLY;BYMINUTE=1;MONTH",
        "RRULE:FREQ=YEARLY;MONTH;BYMONTHDAY=" + ",".join(["1"] * 32),
    ],
)
def test_a_zone_whose_rules_are_not_honest_is_read_in_the_owners(rule: str) -> None:
    odd = event("DTSTART;TZID=Odd:20260610T100000", "SUMMARY:Odd")
    found = look(calendar(GOOD, odd, head=definition("Odd", rule)))
    assert found.events == [("Good one", AT_8), ("Odd", AT_8)]
    assert found.expanded.warnings == ("a time in an unknown zone was read in yours",)


def test_zones_have_a_limit_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = definition("Odd", LAST_SUNDAY).splitlines()[1:-1]
    assert Workshop().make(lines) is not None
    assert Workshop(left=0.0).make(lines) is None


@given(
    st.datetimes(datetime(1996, 1, 1), datetime(2090, 1, 1)),  # noqa: DTZ001  # wall clocks
    st.integers(0, 1),
)
def test_a_zone_from_1601_is_the_one_it_describes(wall: datetime, fold: int) -> None:
    zone, berlin = WORKSHOP.make(definition("Odd", LAST_SUNDAY).splitlines()[1:-1]), ZoneInfo("Europe/Berlin")
    assert zone is not None
    # Two thirds of the walls are put near a change, where it matters.
    walls = [wall, wall.replace(month=3, day=29, hour=2), wall.replace(month=10, day=29, hour=2)]
    for one in [*walls, *(one + timedelta(days=day) for one in walls for day in range(-5, 3))]:
        assert one.replace(tzinfo=zone, fold=fold).utcoffset() == one.replace(tzinfo=berlin, fold=fold).utcoffset()
        assert to_utc(one, zone) == to_utc(one, berlin)
        back = one.replace(tzinfo=UTC).astimezone(zone)
        expected = one.replace(tzinfo=UTC).astimezone(berlin)
        assert (back.replace(tzinfo=None), back.fold) == (expected.replace(tzinfo=None), expected.fold)


WORKSHOP = Workshop()


def test_a_definition_that_many_events_and_files_share_is_followed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[int] = []
    real = timetable._timetable

    def noted(lines: Sequence[str]) -> timetable.Timetable:
        built.append(1)
        return real(lines)

    monkeypatch.setattr(timetable, "_timetable", noted)
    zone = "DTSTART;TZID=Customized Time Zone"
    text = calendar(
        *[event(f"{zone}:20260603T100000", "RRULE:FREQ=WEEKLY", uid=str(n)) for n in range(20)],
        head=definition("Customized Time Zone", LAST_SUNDAY),
    )
    assert len(look(text, text.replace("UID:", "UID:b")).events) == 40
    assert built == [1]


def test_a_whole_day_is_the_owners_whatever_the_zone_of_the_feed(told: Tell) -> None:
    day = event("DTSTART;VALUE=DATE:20260611")
    text = calendar(day, head="X-WR-TIMEZONE:Asia/Tokyo")
    assert told(text, now=NOW, lookahead="14h", all_day=True).events == []
    assert told(text, now=NOW, lookahead="15h", all_day=True).events == [("(no title)", "2026-06-10T22:00:00Z")]


def test_a_file_of_a_folder_that_never_could_be_read_hides_no_deletion(tmp_path: Path) -> None:
    folder, cache = tmp_path / "cal", tmp_path / "cache"
    folder.mkdir()
    (folder / "a.ics").write_text(calendar(GOOD))
    (folder / "b.ics").write_text(calendar(event(*WEEKLY)))
    (folder / "junk.ics").write_text("")
    options = {"sources": [{"vdir": str(folder)}]}
    assert len(tell(options, cache=cache).findings) == 2
    (folder / "a.ics").unlink()
    (folder / "b.ics").write_text("")
    gate = tell(options, NOW + timedelta(minutes=5), cache=cache)
    assert [finding.title for finding in gate.findings] == ["Weekly"]
    assert gate.sources[0].ok


@pytest.mark.parametrize(
    ("lines", "body"),
    [
        (("STATUS:TENTATIVE",), "10:00, tentative"),
        (("ATTENDEE;PARTSTAT=DECLINED:mailto:pat@example.org",), "10:00, you declined"),
        (("STATUS:CONFIRMED",), "10:00"),
    ],
)
def test_the_body_says_whether_the_owner_will_be_there(told: Tell, lines: tuple[str, ...], body: str) -> None:
    assert told(calendar(event(DTSTART, *lines)), owner="pat@example.org", declined=True).only.body == body


def test_a_kept_record_that_a_disk_damaged_is_read_anew(tmp_path: Path, workers: list[int]) -> None:
    (tmp_path / "me.ics").write_text(calendar(GOOD))
    options, cache = {"sources": [{"file": str(tmp_path / "me.ics")}]}, tmp_path / "cache"
    good = tell(options, cache=cache)
    (kept,) = (cache / "calendars").iterdir()
    kept.write_bytes(kept.read_bytes().replace(b"Good one", b"Bad  one"))
    assert tell(options, cache=cache).findings == good.findings
    assert workers == [1, 1]


def test_a_disk_that_fails_keeps_no_half_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "me.ics").write_text(calendar(GOOD))

    def full(*_: object) -> None:
        raise OSError

    monkeypatch.setattr(os, "replace", full)
    assert tell({"sources": [{"file": str(tmp_path / "me.ics")}]}, cache=tmp_path / "cache").sources[0].ok
    assert list((tmp_path / "cache" / "calendars").iterdir()) == []


def test_a_reader_that_is_killed_from_outside_is_no_fault_of_the_calendar(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "me.ics").write_text(calendar(GOOD))
    options, cache = {"sources": [{"file": str(tmp_path / "me.ics")}]}, tmp_path / "cache"
    with monkeypatch.context() as patch:
        patch.setattr(apart, "_run", lambda *_: (-9, b""))
        assert "ended from outside" in tell(options, cache=cache).sources[0].message
    assert tell(options, cache=cache).sources[0].ok
