"""Google calendars through a stand-in for `gws`: what is asked, what is read, what each failure costs."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.sources import SourceFailed
from heartbeat.sources.calendars import gws
from heartbeat.sources.calendars.asking import Listed
from tests.calendar_sources.asking import asking, entry, install, is_clean, path_with, see, starts


class Google:
    """The calendars that the stand-in serves."""

    def __init__(self, folder: Path) -> None:
        self.place = folder / "calendars.json"
        self.has(primary={"events": []})

    def has(self, **calendars: Any) -> None:
        self.place.write_text(json.dumps(calendars))

    @property
    def calls(self) -> list[list[str]]:
        return [json.loads(line) for line in Path(f"{self.place}.calls").read_text().splitlines()]


@pytest.fixture
def google(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Google:
    made = Google(tmp_path)
    monkeypatch.setenv("PATH", path_with(install(tmp_path, "gws", "gws_calendar.py")))
    monkeypatch.setenv("GWS_CALENDARS", str(made.place))
    return made


def timed(clock: str, **more: Any) -> dict[str, Any]:
    return {
        "id": clock,
        "status": "confirmed",
        "summary": f"At {clock}",
        "start": {"dateTime": f"2026-06-10T{clock}:00+02:00", "timeZone": "Europe/Berlin"},
        "end": {"dateTime": f"2026-06-10T{clock[:3]}30:00+02:00", "timeZone": "Europe/Berlin"},
        **more,
    }


def read(*names: str, **more: Any) -> Listed:
    content = gws.read(entry("gws", names[0] if names else "primary", calendars=list(names[1:])), asking(**more))
    assert isinstance(content, Listed)
    return content


def occurrence(google: Google, item: dict[str, Any]) -> Any:
    google.has(primary={"events": [item]})
    (one,) = read().occurrences
    return one


def test_the_question_names_the_span_the_calendar_and_every_page(google: Google) -> None:
    read()
    ((*words, limit),) = google.calls
    assert words[:4] == ["calendar", "events", "list", "--params"]
    assert words[5:] == ["--page-all", "--page-limit"]
    assert int(limit) > 10
    question = json.loads(words[4])
    fields = question.pop("fields")
    assert question == {
        "calendarId": "primary",
        "timeMin": "2026-06-10T07:45:00Z",
        "timeMax": "2026-06-10T11:45:01Z",
        "singleEvents": True,
        "orderBy": "startTime",
        "maxResults": 250,
    }
    assert "description" not in fields
    read(description=True)
    assert "description" in google.calls[1][4]


def test_a_meeting_is_shown(google: Google) -> None:
    google.has(primary={"events": [timed("10:00"), timed("11:00")]})
    assert starts(see(entry("gws", "primary"))) == [("At 10:00", "08:00"), ("At 11:00", "09:00")]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({"status": "cancelled"}, {"cancelled": True}),
        ({"status": "tentative"}, {"tentative": True}),
        ({"transparency": "transparent"}, {"free": True}),
        ({"attendees": [{"email": "me@x.org", "self": True, "responseStatus": "declined"}]}, {"declined": True}),
        ({"attendees": [{"email": "Me@X.org", "responseStatus": "declined"}]}, {"declined": True}),
        ({"attendees": [{"email": "eve@x.org", "responseStatus": "declined"}]}, {"declined": False}),
        ({"attendees": [{"displayName": "me@x.org", "responseStatus": "declined"}]}, {"declined": False}),
        ({"attendees": [{"email": "me@x.org", "responseStatus": "tentative"}]}, {"tentative": True}),
        ({"attendees": [{"email": "me@x.org", "responseStatus": "needsAction"}]}, {"declined": False, "attendees": 1}),
        (
            {
                "organizer": {"email": "boss@x.org"},
                "attendees": [{"email": "me@x.org"}, {"email": "room@x.org", "resource": True}],
            },
            {"attendees": 2},
        ),
        ({"organizer": {"email": "me@x.org"}}, {"attendees": 0}),
        ({"summary": "Two\nlines\u202e"}, {"title": "Two lines"}),
        ({"summary": "x" * 301}, {"title": "x" * 299 + "…"}),
        ({"description": "secret"}, {"description": ""}),
        ({}, {"uid": "10:00", "slot": ""}),
        (
            {"recurringEventId": "series", "originalStartTime": {"dateTime": "2026-06-09T10:00:00+02:00"}},
            {"uid": "series", "slot": "20260609T080000Z"},
        ),
        (
            {"recurringEventId": "days", "originalStartTime": {"date": "2026-06-09"}},
            {"uid": "days", "slot": "20260608T220000Z"},
        ),
        ({"start": {"date": "2026-06-10"}, "end": {"date": "2026-06-11"}}, {"all_day": True}),
        ({"start": {"dateTime": "2026-06-10T10:15:00"}}, {"all_day": False}),
    ],
)
def test_what_google_says_of_an_event_is_read(google: Google, more: dict[str, Any], expected: dict[str, Any]) -> None:
    google.has(primary={"events": [timed("10:00", **more)]})
    (one,) = read(owner=("me@x.org",)).occurrences
    assert {name: getattr(one, name) for name in expected} == expected


def test_an_all_day_event_begins_at_the_owners_midnight(google: Google) -> None:
    one = occurrence(google, timed("10:00", start={"date": "2026-06-10"}, end={"date": "2026-06-12"}))
    assert (f"{one.start:%d %H:%M}", f"{one.end:%d %H:%M}") == ("09 22:00", "11 22:00")


@pytest.mark.parametrize(
    ("kind", "shown"),
    [("default", 1), ("focusTime", 1), ("outOfOffice", 1), ("fromGmail", 1), ("workingLocation", 0), ("birthday", 0)],
)
def test_places_of_work_and_birthdays_are_no_meetings(google: Google, kind: str, shown: int) -> None:
    google.has(primary={"events": [timed("10:00", eventType=kind)]})
    assert len(read().occurrences) == shown


def test_every_page_is_read_and_what_goes_beyond_them_is_told(google: Google, monkeypatch: pytest.MonkeyPatch) -> None:
    google.has(primary={"events": [timed("10:00", id=f"e{number}") for number in range(501)]})
    assert len(read().occurrences) == 501
    monkeypatch.setattr(gws, "MOST_PAGES", 2)
    content = read()
    assert len(content.occurrences) == 500
    assert (content.whole, content.warnings) == (False, ("only the first 500 events of a calendar were read",))
    google.has(primary={"events": [timed("10:00", id=f"e{number}") for number in range(500)]})
    assert read().whole


def test_a_calendar_that_fails_is_told_and_the_others_stay(google: Google) -> None:
    google.has(primary={"events": [timed("10:00")]}, third={"events": [timed("11:00")]})
    content = read("primary", "team@group.calendar.google.com", "third")
    assert [one.title for one in content.occurrences] == ["At 10:00", "At 11:00"]
    assert not content.whole
    (told,) = content.warnings
    assert told.startswith(
        "calendar 'team@group.calendar.google.com': cannot read it: gws ends with status 1 (404, notF"
    )


@pytest.mark.parametrize(
    ("status", "error", "why"),
    [
        (1, {"code": 404, "reason": "notFound"}, "status 1 (404, notFound); see whether the calendar's id is right"),
        (1, {"code": 403, "reason": "accessNotConfigured"}, "status 1 (403, accessNotConfigured)"),
        (2, {"code": 401, "reason": "authError"}, "status 2 (401, authError); log in again: run `gws auth login`"),
        (3, {"code": 400, "reason": "validationError"}, "status 3"),
        (4, {"code": 500, "reason": "discoveryError"}, "see whether the network is up"),
        (5, {}, "status 5; run it by hand to see why"),
        (9, {"reason": "x\n\x1b[31m" + "y" * 100}, "status 9 (x [31my"),
    ],
)
def test_each_way_to_fail_says_what_to_do(google: Google, status: int, error: dict[str, Any], why: str) -> None:
    google.has(primary={"status": status, "error": {**error, "message": "canary of a stranger"}})
    with pytest.raises(SourceFailed) as failed:
        read()
    assert why in str(failed.value)
    assert str(failed.value).isprintable()
    assert "canary" not in str(failed.value)


@pytest.mark.parametrize(
    "raw",
    ["", "\n", "no events\n", "<html>log in</html>", "{", '{"kind":"calendar#events","items":[', '{"items":[]}', "[]",
     "null", '{"error":{"code":500}}',
     '{"kind":"calendar#events","items":3}', '{"kind":"calendar#event"}', "{" * 200_000,
     '{"kind":' + "9" * 5000 + "}"],
    ids=lambda raw: raw[:30],
)  # fmt: skip
def test_what_is_no_list_of_events_is_a_failure_and_never_an_empty_day(google: Google, raw: str) -> None:
    google.has(primary={"raw": raw})
    with pytest.raises(SourceFailed, match="cannot use the answer of gws"):
        read()


@pytest.mark.parametrize("between", ["\n", "", " ", "\r\n", "\n\n", "\nUsing keyring backend: file\n"])
def test_pages_may_come_on_a_line_or_not_and_among_chatter(google: Google, between: str) -> None:
    pages = [json.dumps({"kind": "calendar#events", "items": [timed(start)]}) for start in ("10:00", "11:00")]
    pretty = json.dumps({"kind": "calendar#events", "items": [timed("12:00")]}, indent=2)
    google.has(primary={"raw": f"Using keyring backend: keyring\n{between.join([*pages, pretty])}"})
    assert [one.title for one in read().occurrences] == ["At 10:00", "At 11:00", "At 12:00"]


@pytest.mark.parametrize(
    "broken",
    [{"start": {}}, {"start": None}, {"start": {"dateTime": "soon"}}, {"start": {"date": "2026-02-30"}},
     {"attendees": 3}, {"start": {"dateTime": "0001-01-01T00:00:00+14:00"}}],
    ids=repr,
)  # fmt: skip
def test_a_broken_event_costs_only_itself(google: Google, broken: dict[str, Any]) -> None:
    google.has(
        primary={"raw": json.dumps({"kind": "calendar#events", "items": [timed("10:00", **broken), timed("11:00"), 3]})}
    )
    content = read()
    assert [one.title for one in content.occurrences] == ["At 11:00"]
    assert content.warnings == ("an event without a usable start was left out (2 times)",)


@given(st.text())
def test_no_title_changes_the_number_of_events(title: str) -> None:
    page = json.dumps({"kind": "calendar#events", "items": [timed("10:00", summary=title), timed("11:00")]})
    found, missing = gws.parse(page.encode(), asking())
    assert (len(found), missing) == (2, [])
    assert is_clean(found[0].title)


def test_a_hanging_gws_is_ended_whole_and_costs_only_its_share(google: Google) -> None:
    google.has(primary={"hang": True}, second={"events": [timed("10:00")]})
    content = read("primary", "second", deadline=time.monotonic() + 6)
    assert [one.title for one in content.occurrences] == ["At 10:00"]
    assert "not done in" in content.warnings[0]
    child = int(Path(f"{google.place}.pid").read_text())
    end = time.monotonic() + 30
    while Path(f"/proc/{child}/stat").exists() and " Z " not in Path(f"/proc/{child}/stat").read_text():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_without_gws_the_failure_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceFailed, match="cannot start gws: no such program in PATH"):
        read()


def test_another_program_may_be_named(google: Google, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "google", "gws_calendar.py")
    google.has(primary={"events": [timed("10:00")]})
    content = gws.read(entry("gws", "primary", program=str(tmp_path / "bin/google")), asking())
    assert isinstance(content, Listed)
    assert len(content.occurrences) == 1


def test_one_meeting_in_two_calendars_is_one_and_that_which_is_on_wins(google: Google) -> None:
    declined = {"attendees": [{"email": "x@example.org", "self": True, "responseStatus": "declined"}]}
    google.has(
        primary={"events": [timed("10:00", summary="Mine"), timed("11:00", summary="Off", **declined)]},
        team={"events": [timed("10:00", summary="Theirs"), timed("11:00", summary="On")]},
    )
    assert sorted(one.title for one in read("primary", "team").occurrences) == ["Mine", "On"]


def test_a_meeting_has_the_uid_that_it_has_in_a_feed(google: Google) -> None:
    assert occurrence(google, timed("10:00", iCalUID="abc@google.com", recurringEventId="abc")).uid == "abc@google.com"
    assert occurrence(google, timed("10:00")).uid == "10:00"
