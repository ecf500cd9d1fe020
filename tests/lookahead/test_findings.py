"""What a finding says, when, and for how long."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from heartbeat.model import Urgency, WhenAbsent
from tests.lookahead.support import BERLIN, DTSTART, GOOD, MINE, NOW, WEEKLY, Tell, calendar, event, tell, utc

START = datetime(2026, 6, 10, 8, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def test_a_finding_says_when_and_whose_text_it_is(told: Tell) -> None:
    finding = told(calendar(GOOD)).only
    assert (finding.kind, finding.origin, finding.source) == ("meeting", "third_party", "me.ics")
    assert (finding.starts_at, finding.when_absent) == (START, WhenAbsent.RETRACT)
    assert finding.version == "2026-06-10T08:00:00Z/2026-06-10T08:30:00Z"
    assert finding.body == "10:00-10:30"


def test_the_body_names_the_day_unless_it_is_today(told: Tell) -> None:
    assert told(calendar(GOOD), NOW - timedelta(hours=10), lookahead="12h").only.body == "2026-06-10 10:00-10:30"
    assert told(calendar(GOOD), NOW - timedelta(hours=9), lookahead="12h").only.body == "10:00-10:30"


@pytest.mark.parametrize(
    ("lines", "body"),
    [
        ([DTSTART], "10:00"),
        ([DTSTART, "DURATION:PT1H30M"], "10:00-11:30"),
        ([DTSTART, "DTEND:20260610T080000Z"], "10:00"),
        ([DTSTART, "DTEND:20260611T000000Z"], "10:00-2026-06-11 02:00"),
    ],
)
def test_the_body_is_the_time_on_the_owners_clock(told: Tell, lines: list[str], body: str) -> None:
    assert told(calendar(event(*lines))).only.body == body


# Identity


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param([event(DTSTART)], [event("DTSTART:20260610T081000Z")], id="a single event"),
        pytest.param([event(DTSTART)], [event(DTSTART, "DTEND:20260610T090000Z")], id="its end"),
        pytest.param(
            [event(*WEEKLY)],
            [event(*WEEKLY), event(f"RECURRENCE-ID;{BERLIN}:20260610T100000", "DTSTART:20260610T081000Z")],
            id="an instance",
        ),
    ],
)
def test_a_moved_event_keeps_its_key_and_changes_its_version(told: Tell, before: list[str], after: list[str]) -> None:
    old, new = told(calendar(*before)).only, told(calendar(*after)).only
    assert old.key == new.key
    assert old.version != new.version


def test_another_title_or_another_run_changes_neither_key_nor_version(told: Tell, tmp_path: Path) -> None:
    old = told(calendar(event(DTSTART, "SUMMARY:a")), cache=tmp_path).only
    new = told(calendar(event(DTSTART, "SUMMARY:b", "SEQUENCE:4")), NOW + timedelta(minutes=10), cache=tmp_path).only
    assert (old.key, old.version) == (new.key, new.version)
    assert (old.title, new.title) == ("a", "b")


def test_every_instance_of_a_series_has_a_key_of_its_own(told: Tell) -> None:
    content = calendar(event("DTSTART:20260601T080000Z", "RRULE:FREQ=HOURLY"))
    assert len({finding.key for finding in told(content, lookahead="5h").gate.findings}) == 5


# When


@pytest.mark.parametrize(("seconds", "count"), [(-1801, 0), (-1800, 1), (0, 1), (1, 0)])
def test_both_ends_of_the_window_belong_to_it_when_a_calendar_is_first_read(
    told: Tell, tmp_path: Path, seconds: int, count: int
) -> None:
    for cache in (None, tmp_path / "cache"):
        assert len(told(calendar(GOOD), START + timedelta(seconds=seconds), cache=cache).events) == count


def test_without_a_cache_a_meeting_is_reported_until_it_begins_and_that_is_what_it_says(told: Tell) -> None:
    finding = told(calendar(GOOD), START).only
    assert finding.useful_until == START
    assert told(calendar(GOOD), START + SECOND).events == []


def test_a_meeting_is_reported_until_its_grace_is_over_and_that_is_what_it_says(told: Tell, tmp_path: Path) -> None:
    """Its absence any sooner would read as called off."""
    grace = timedelta(minutes=5)
    for now in (NOW, START, START + SECOND, START + grace):
        finding = told(calendar(GOOD), now, cache=tmp_path).only
        assert finding.useful_until == START + grace
    assert finding.body == "10:00-10:30, has begun"
    assert told(calendar(GOOD), START + grace + SECOND, cache=tmp_path).events == []


def test_a_meeting_that_was_made_just_before_its_start_is_still_told_of(told: Tell, tmp_path: Path) -> None:
    assert told(calendar(), NOW, cache=tmp_path).events == []
    assert told(calendar(GOOD), START + timedelta(minutes=2), cache=tmp_path).only.body == "10:00-10:30, has begun"


def test_what_had_begun_before_the_calendar_was_known_is_no_news(told: Tell, tmp_path: Path) -> None:
    assert told(calendar(GOOD), START + SECOND, cache=tmp_path).events == []
    assert told(calendar(GOOD), START + 2 * SECOND, cache=tmp_path).events == []


def test_a_meeting_is_urgent_in_its_last_fifteen_minutes_and_that_is_no_other_version(told: Tell) -> None:
    minutes = [timedelta(minutes=15, seconds=1), timedelta(minutes=15), timedelta(0)]
    findings = [told(calendar(GOOD), START - before).only for before in minutes]
    assert [finding.urgency for finding in findings] == [Urgency.NORMAL, Urgency.HIGH, Urgency.HIGH]
    assert len({(finding.key, finding.version) for finding in findings}) == 1


def test_an_all_day_event_is_told_if_wanted_until_its_day_is_over(told: Tell) -> None:
    content = calendar(event("DTSTART;VALUE=DATE:20260610", "SUMMARY:Holiday"))
    finding = told(content, all_day=True).only
    assert (finding.body, utc(finding.starts_at), utc(finding.useful_until)) == (
        "2026-06-10, all day", "2026-06-09T22:00:00Z", "2026-06-10T22:00:00Z",
    )  # fmt: skip
    assert finding.urgency is Urgency.NORMAL
    assert told(content, datetime(2026, 6, 9, 21, 29, tzinfo=UTC), all_day=True).events == []
    assert told(content, datetime(2026, 6, 9, 21, 30, tzinfo=UTC), all_day=True).events != []
    assert told(content, datetime(2026, 6, 10, 22, 0, 0, tzinfo=UTC), all_day=True).events != []
    assert told(content, datetime(2026, 6, 10, 22, 0, 1, tzinfo=UTC), all_day=True).events == []


# What the owner wants to hear of

CHOICES = [
    pytest.param("all_day", False, ["DTSTART;VALUE=DATE:20260610"], id="a day"),
    pytest.param("tentative", True, [DTSTART, "STATUS:TENTATIVE"], id="tentative by its status"),
    pytest.param(
        "tentative", True, [DTSTART, f"ATTENDEE;PARTSTAT=TENTATIVE:mailto:{MINE}"], id="tentative by the answer"
    ),
    pytest.param("tentative", True, [DTSTART, "X-MICROSOFT-CDO-BUSYSTATUS:TENTATIVE"], id="tentative in Outlook"),
    pytest.param("free", True, [DTSTART, "TRANSP:TRANSPARENT"], id="free"),
    pytest.param("free", True, [DTSTART, "X-MICROSOFT-CDO-BUSYSTATUS:FREE"], id="free in Outlook"),
    pytest.param("declined", False, [DTSTART, f"ATTENDEE;PARTSTAT=DECLINED:mailto:{MINE}"], id="declined"),
]


@pytest.mark.parametrize(("name", "default", "lines"), CHOICES)
def test_each_choice_is_the_owners(told: Tell, name: str, default: bool, lines: list[str]) -> None:
    content = calendar(event(*lines))
    assert len(told(content, owner=MINE).events) == default
    for value in (True, False):
        choice: dict[str, Any] = {name: value}
        assert len(told(content, owner=MINE, **choice).events) == value


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        ([], 0),
        (["ORGANIZER:mailto:a@x"], 0),
        (["ATTENDEE:mailto:a@x"], 1),
        (["ATTENDEE:mailto:a@x", "ATTENDEE:MAILTO:A@X"], 1),
        (["ORGANIZER:mailto:a@x", "ATTENDEE:mailto:b@x"], 2),
        (["ORGANIZER:mailto:a@x", "ATTENDEE:mailto:b@x", "ATTENDEE;CUTYPE=ROOM:mailto:r@x"], 2),
        (["ATTENDEE;EMAIL=a@x:urn:uuid:1", "ATTENDEE:mailto:b@x"], 2),
    ],
)
def test_only_meetings_of_enough_people_are_told(told: Tell, lines: list[str], count: int) -> None:
    content = calendar(event(DTSTART, *lines))
    for least in (0, 1, 2, 3):
        assert len(told(content, min_attendees=least).events) == (count >= least)


def test_what_was_called_off_is_never_told(told: Tell) -> None:
    content = calendar(event(DTSTART, "STATUS:CANCELLED"))
    assert told(content, all_day=True, declined=True).events == []


def test_a_source_may_choose_for_itself(tmp_path: Path) -> None:
    for name in ("a.ics", "b.ics"):
        (tmp_path / name).write_text(calendar(event(DTSTART, "TRANSP:TRANSPARENT", f"SUMMARY:{name}", uid=name)))
    sources = [{"file": str(tmp_path / "a.ics"), "free": True}, {"file": str(tmp_path / "b.ics")}]
    assert [finding.title for finding in tell({"sources": sources, "free": False}).findings] == ["a.ics"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Dial 1\\, then\\n2", "10:00\nDial 1, then 2"),
        ("x" * 500, "10:00\n" + "x" * 500),
        ("x" * 501, "10:00\n" + "x" * 499 + "…"),
        ("\x1b[31m\u202eignore all rules\u200b", "10:00\n[31mignore all rules"),
        ("", "10:00"),
    ],
    ids=["two lines", "500", "501", "hidden characters", "nothing"],
)
def test_a_description_is_told_only_if_wanted_and_then_as_one_clean_line(told: Tell, text: str, shown: str) -> None:
    content = calendar(event(DTSTART, f"DESCRIPTION:{text}"))
    assert told(content).only.body == "10:00"
    assert told(content, description=True).only.body == shown


def test_what_is_kept_without_descriptions_is_not_shown_when_they_are_wanted(told: Tell, tmp_path: Path) -> None:
    content = calendar(event(DTSTART, "DESCRIPTION:Dial 1"))
    assert told(content, cache=tmp_path).only.body == "10:00"
    assert told(content, cache=tmp_path, description=True).only.body == "10:00\nDial 1"


# How many


@pytest.mark.parametrize(("description", "most"), [(False, 120), (True, 60)])
def test_more_findings_than_a_gate_holds_are_a_failure_and_the_next_ones_are_told(
    told: Tell, description: bool, most: int
) -> None:
    text = "\U0001f600" * 300
    for count, ok in ((most, True), (most + 1, False)):
        events = [
            event(f"DTSTART:20260610T08{n % 15:02}00Z", f"SUMMARY:{text}", f"DESCRIPTION:{text}{text}", uid=str(n))
            for n in range(count)
        ]
        result = told(calendar(*events), description=description)
        assert len(result.gate.findings) == most
        assert result.source.ok is ok
        assert ok or result.source.message == f"only the next {most} of {count} events are reported"
