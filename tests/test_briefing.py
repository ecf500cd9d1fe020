"""The brief at its time and messages about incidents, with a real ledger in memory and a clock that the test sets."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from heartbeat import brief_file as brief_file_room
from heartbeat.beat import House
from heartbeat.briefing import issue_due, tell_incidents
from heartbeat.config import Settings
from heartbeat.config.telling import BriefSettings
from heartbeat.errors import LedgerError
from heartbeat.job import Config
from heartbeat.model import Call, MessageKind, Reply, Urgency
from heartbeat.paths import Home
from heartbeat.recovery import close_removed
from heartbeat.routing import Route
from heartbeat.stores.memory import open_memory

EIGHT = datetime(2026, 6, 10, 6, tzinfo=UTC)  # a Wednesday, 8 o'clock in Berlin
TODAY = date(2026, 6, 10)
MICROSECOND = timedelta(microseconds=1)
PHONE, MAIL = Route("phone"), Route("mail")


@dataclass(frozen=True)
class Writer:
    """An agent that is only there."""

    name: str = "writer"

    def call(self, call: Call) -> Reply:
        raise NotImplementedError


@dataclass
class Stand:
    """A house whose clock, configuration and routes the test sets."""

    folder: Path
    now: datetime = EIGHT
    said: dict[str, Any] = field(default_factory=dict)
    routes: tuple[Route, ...] = (PHONE,)
    agent: Writer | None = None

    def __post_init__(self) -> None:
        self.ledger = open_memory()
        self._stop = threading.Event()

    @property
    def house(self) -> House:
        configured = Settings.model_validate({"owner": {"zone": "Europe/Berlin"}, **self.said})
        home = Home(self.folder, self.folder / "state", self.folder / "cache")
        environ = {"HOME": str(self.folder)}
        house = House(self.ledger, home, Config(configured, {}), self.agent, environ, self._stop, lambda: self.now)
        return replace(house, routes=self.routes)

    def at(self, hours: float) -> Stand:
        self.now = EIGHT + timedelta(hours=hours)
        return self

    def issue(self) -> bool:
        return issue_due(self.house)

    def tell(self) -> int:
        return tell_incidents(self.house)

    def fault(self, subject: str = "job:check", message: str = "exit status 1") -> None:
        self.ledger.fault(subject, "exit_status", message, self.now)

    def sent(self) -> list[tuple[str, str, str]]:
        """Channel, title and text of every message, oldest first."""
        return [(message.channel, message.title, message.body) for message in reversed(self.ledger.messages())]


@pytest.fixture
def stand(tmp_path: Path) -> Iterator[Stand]:
    made = Stand(tmp_path)
    yield made
    made.ledger.close()


QUIET = {"quiet": {"windows": [{"start": "23:30", "end": "09:00"}]}}


# When


def test_it_is_made_at_its_time_not_a_microsecond_before_and_once(stand: Stand) -> None:
    stand.now = EIGHT - MICROSECOND
    assert not stand.issue()
    stand.now = EIGHT
    assert stand.issue()
    assert [stand.issue(), stand.at(5).issue()] == [False, False]
    assert [channel for channel, *_ in stand.sent()] == ["phone"]
    assert stand.at(23.9).issue() is False
    assert stand.at(24).issue()


def test_one_that_was_missed_comes_later_the_same_day(stand: Stand) -> None:
    assert stand.at(15.99).issue()


def test_one_that_was_missed_all_day_does_not_come_on_another(stand: Stand) -> None:
    assert not stand.at(16).issue()
    assert not stand.at(23.99).issue()
    assert not stand.ledger.has_brief(TODAY, stand.now)


def test_off_never_by_itself(stand: Stand) -> None:
    stand.said = {"brief": {"at": "off"}}
    assert not any(stand.at(hour).issue() for hour in range(48))


def test_it_waits_for_the_end_of_the_quiet(stand: Stand) -> None:
    stand.said = QUIET
    stand.now = EIGHT + timedelta(hours=1) - MICROSECOND
    assert not stand.issue()
    assert stand.at(1).issue()


def test_it_waits_while_the_owner_wants_quiet_and_comes_when_he_takes_it_back(stand: Stand) -> None:
    stand.ledger.override("quiet", "", EIGHT + timedelta(hours=3), EIGHT - timedelta(hours=1))
    assert not stand.at(2).issue()
    stand.ledger.take_back("quiet")
    assert stand.issue()


def test_it_goes_by_the_clock_where_the_owner_is(stand: Stand) -> None:
    stand.ledger.override("zone", "America/New_York", None, EIGHT)
    assert not stand.at(5.99).issue()
    assert stand.at(6).issue()
    assert "since" not in stand.sent()[0][2]


def test_flying_over_the_date_line_gives_no_date_two_briefs(stand: Stand) -> None:
    stand.ledger.override("zone", "Pacific/Kiritimati", None, EIGHT)
    assert stand.at(-10).issue()  # 10:00 of TODAY there
    stand.ledger.override("zone", "Pacific/Honolulu", None, EIGHT)
    assert stand.at(-9).issue()  # 11:00 of the day before
    assert not any(stand.at(hour).issue() for hour in range(-8, 36))  # TODAY again, to the end
    assert stand.at(36).issue()


names = st.sampled_from(["Europe/Berlin", "America/Los_Angeles", "Asia/Tokyo", "Pacific/Apia", "Pacific/Pago_Pago"])


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(1, 1500), names, st.booleans()), max_size=40))
def test_whatever_the_owner_does_each_date_has_one_brief_at_most_and_at_its_time(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str, bool]]
) -> None:
    stand = Stand(Path("/nowhere"))
    made: list[date] = []
    for minutes, name, is_quiet in steps:
        stand.now += timedelta(minutes=minutes)
        stand.ledger.override("zone", name, None, stand.now)
        stand.ledger.take_back("quiet")
        if is_quiet:
            stand.ledger.override("quiet", "", stand.now + timedelta(hours=1), stand.now)
        wall = stand.now.astimezone(ZoneInfo(name))
        expected = wall.hour >= 8 and not is_quiet and wall.date() not in made
        assert stand.issue() is expected
        made += [wall.date()] if expected else []
    stand.ledger.close()


def test_two_processes_make_one(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stand.ledger, "has_brief", lambda day, now: False)  # the other was a moment faster
    assert [stand.issue(), stand.issue()] == [True, False]
    assert len(stand.sent()) == 1


# To whom


def test_it_goes_to_every_channel_that_takes_briefs_of_its_urgency(stand: Stand) -> None:
    only_urgent = Route("pager", urgencies=frozenset({Urgency.HIGH, Urgency.CRITICAL}))
    stand.routes = (PHONE, Route("log", frozenset({MessageKind.REPLY})), only_urgent, MAIL)
    stand.fault()
    assert stand.issue()
    assert [channel for channel, *_ in stand.sent()] == ["phone", "mail"]
    (message, _) = stand.ledger.messages()
    assert (message.kind, message.urgency, message.title) == (MessageKind.BRIEF, Urgency.NORMAL, "While you slept")
    assert message.body.startswith("While you slept: 1 incident.\n")
    assert message.brief_id is not None
    assert stand.ledger.brief_text(message.brief_id).startswith("# While you slept: 1 incident.\n")
    assert stand.ledger.brief_urgency(message.brief_id) is Urgency.NORMAL


def test_without_anybody_to_take_it_nothing_counts_as_told(stand: Stand) -> None:
    stand.routes = (Route("log", frozenset({MessageKind.REPLY})),)
    stand.fault()
    assert not stand.issue()
    assert not stand.ledger.has_brief(TODAY, stand.now)
    assert len(stand.ledger.brief(stand.now).incidents) == 1
    stand.routes = (PHONE,)
    assert stand.issue()
    assert stand.ledger.brief(stand.now).incidents == ()


@pytest.mark.parametrize(("empty", "messages"), [("line", 1), ("none", 0)])
def test_an_empty_one_is_a_line_or_nothing_and_either_way_the_days_one(stand: Stand, empty: str, messages: int) -> None:
    stand.said = {"brief": {"empty": empty, "file": "brief.md"}}
    assert stand.issue()
    assert [body for *_, body in stand.sent()] == ["While you slept: nothing to tell. No tick ran."] * messages
    assert (stand.folder / "brief.md").exists() is bool(messages)
    assert not stand.at(1).issue()


def test_an_agent_writes_it_up_and_the_channels_wait_for_that(stand: Stand) -> None:
    stand.said, stand.agent, stand.routes = {"brief": {"agent": True}}, Writer(), ()
    stand.fault()
    assert stand.issue()
    (wake_id,) = stand.ledger.due_wakes(stand.now)
    wake = stand.ledger.wake(wake_id)
    assert (wake.agent, wake.profile, wake.findings) == ("writer", "", ())
    assert wake.brief_id is not None
    assert "job:check: exit status 1" in stand.ledger.brief_text(wake.brief_id)
    assert stand.sent() == []


def test_no_agent_is_woken_to_say_that_there_is_nothing(stand: Stand) -> None:
    stand.said, stand.agent = {"brief": {"agent": True}}, Writer()
    assert stand.issue()
    assert stand.ledger.due_wakes(stand.now) == []
    assert len(stand.sent()) == 1


def test_without_an_agent_it_is_sent_as_it_is(stand: Stand) -> None:
    stand.said = {"brief": {"agent": True}}
    stand.fault()
    assert stand.issue()
    assert len(stand.sent()) == 1


# The file


def brief_file(stand: Stand, name: str = "~/briefs/{day}.md") -> Path:
    stand.said = {"brief": {"file": name}}
    return stand.folder / "briefs" / "2026-06-10.md"


def test_it_is_kept_in_a_file_of_the_day_for_its_owner_alone(stand: Stand) -> None:
    path = brief_file(stand)
    stand.routes = ()
    stand.fault()
    assert stand.issue()
    assert path.read_text().startswith("# While you slept: 1 incident.\n")
    assert [path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777] == [0o600, 0o700]
    assert os.listdir(path.parent) == [path.name]


def test_a_file_of_one_name_is_replaced_each_day(stand: Stand) -> None:
    brief_file(stand, "brief.md")
    stand.issue()
    first = (stand.folder / "brief.md").read_text()
    stand.at(24).fault()
    assert stand.issue()
    assert (stand.folder / "brief.md").read_text() != first


def open_subjects(stand: Stand) -> list[str]:
    return [incident.subject for incident in stand.ledger.incidents(open_only=True)]


def test_a_file_that_cannot_be_written_is_an_incident_and_tried_again(stand: Stand) -> None:
    path = brief_file(stand)
    path.parent.write_text("in the way")
    assert stand.issue()
    assert len(stand.sent()) == 1
    assert open_subjects(stand) == ["brief:file"]
    assert str(path) in stand.ledger.incidents()[0].message
    assert not stand.at(1).issue()
    assert open_subjects(stand) == ["brief:file"]
    path.parent.unlink()
    assert not stand.at(2).issue()
    assert path.exists()
    assert open_subjects(stand) == []
    path.unlink()
    assert not stand.at(3).issue()
    assert not path.exists()


def test_the_brief_of_another_day_is_still_written_into_the_file_of_its_day(stand: Stand) -> None:
    path = brief_file(stand)
    path.parent.write_text("in the way")
    stand.fault()
    stand.issue()
    assert stand.at(24).issue()
    path.parent.unlink()
    assert not stand.at(40).issue()
    assert "job:check" in path.read_text()
    assert sorted(os.listdir(path.parent)) == ["2026-06-10.md", "2026-06-11.md"]
    assert open_subjects(stand) == ["job:check"]


def test_briefs_of_several_days_that_wait_for_one_file_are_all_in_it(stand: Stand) -> None:
    brief_file(stand, "~/briefs/brief.md")
    (stand.folder / "briefs").write_text("in the way")
    stand.fault()
    stand.issue()
    stand.at(20).ledger.recover("job:check", stand.now)
    stand.at(24).issue()
    (stand.folder / "briefs").unlink()
    stand.at(25).issue()
    text = (stand.folder / "briefs" / "brief.md").read_text()
    assert 0 < text.index("over since") < text.index("still open")


def test_after_a_kill_before_the_file_the_next_start_writes_it_and_leaves_nothing_else(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = brief_file(stand)
    stand.routes = ()
    stand.fault()

    def killed(*_: object) -> None:
        (path.parent / f".{stand.ledger.unfiled_briefs()[0][0]}").write_text("hal")  # what it had written by then
        raise KeyboardInterrupt

    path.parent.mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(brief_file_room, "_replace", killed)
        with pytest.raises(KeyboardInterrupt):
            stand.issue()
    assert not path.exists()
    stand.at(1).issue()
    assert "job:check" in path.read_text()
    assert os.listdir(path.parent) == [path.name]


def test_what_the_file_has_is_not_told_again_when_a_channel_fails(stand: Stand) -> None:
    brief_file(stand)
    stand.fault()
    stand.issue()
    (message,) = stand.ledger.messages()
    stand.ledger.give_up_message(message.id, "503", stand.now)
    assert stand.ledger.brief(stand.now).incidents == ()


def test_without_a_file_any_more_what_was_to_stand_in_it_is_in_the_next_brief(stand: Stand) -> None:
    brief_file(stand).parent.write_text("in the way")
    stand.routes = ()
    stand.fault()
    stand.issue()
    stand.said = {}
    stand.at(1).issue()
    assert [each.subject for each in stand.ledger.brief(stand.now).incidents] == ["job:check", "brief:file"]
    assert open_subjects(stand) == ["job:check"]


def test_a_link_is_followed_and_stays(stand: Stand) -> None:
    brief_file(stand, "brief.md")
    (stand.folder / "brief.md").symlink_to("notes/today.md")
    stand.issue()
    assert (stand.folder / "brief.md").is_symlink()
    assert (stand.folder / "notes" / "today.md").read_text().startswith("While you slept")


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_told_by_check_and_never_replaced(stand: Stand, kind: str) -> None:
    brief_file(stand, "brief.md")
    path = stand.folder / "brief.md"
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    house = stand.house
    (problem,) = brief_file_room.check_brief(house.config.settings, house.home, house.environ, "config.toml")
    assert problem.key == "brief.file"
    stand.issue()
    assert not path.is_file()
    assert open_subjects(stand) == ["brief:file"]


def test_half_a_brief_is_never_seen(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    path = brief_file(stand)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert stand.issue()
    assert os.listdir(path.parent) == []
    assert "No space left on device" in stand.ledger.incidents()[0].message


def test_the_incident_of_a_file_that_is_wanted_no_more_is_over_with_the_next_brief(stand: Stand) -> None:
    brief_file(stand).parent.write_text("in the way")
    stand.issue()
    stand.said = {}
    stand.at(24).issue()
    assert open_subjects(stand) == []


# Incidents


def test_more_than_three_at_once_are_one_message_of_each_channel(stand: Stand) -> None:
    stand.routes = (PHONE, MAIL)
    for number in range(3):
        stand.fault(f"source:check/{number}")
    assert stand.tell() == 3
    assert len(stand.sent()) == 6
    for number in range(3, 203):
        stand.fault(f"source:check/{number}")
    stand.fault("channel:mail")
    assert stand.tell() == 201
    first, second = stand.sent()[6:]
    assert [first[:2], second[:2]] == [
        ("phone", "heartbeat: 201 things are failing"),
        ("mail", "heartbeat: 200 things are failing"),
    ]
    lines = second[2].splitlines()
    assert (lines[0], lines[20:]) == (
        "source:check/3 is failing, since 08:00: exit status 1",
        ["and 180 more: heartbeat incidents"],
    )
    assert {incident.told for incident in stand.ledger.incidents(limit=999)} == {1}


def test_what_comes_and_goes_is_told_once_and_again_when_it_has_lasted(stand: Stand) -> None:
    for number in range(60):
        stand.at(number / 6)
        if number % 2:
            stand.ledger.recover("job:check", stand.now)
        else:
            stand.fault()
        stand.tell()
    assert [title for _, title, _ in stand.sent()] == [
        "heartbeat: job:check is failing",
        "heartbeat: job:check is well again",
    ]
    stand.at(10).fault()
    assert [stand.tell(), stand.at(10.99).tell(), stand.at(11).tell()] == [0, 0, 1]


def test_what_is_closed_because_it_is_configured_no_more_is_not_called_well(stand: Stand) -> None:
    stand.fault("channel:gone")
    stand.tell()
    close_removed(stand.house, stand.at(1).now)
    assert stand.at(2).tell() == 0
    (incident,) = stand.ledger.brief(stand.now).incidents
    assert incident.message == "closed, for it is not configured any more; it was: exit status 1"


def test_an_incident_is_told_when_it_begins_while_it_lasts_and_when_it_is_over(stand: Stand) -> None:
    stand.fault()
    assert [stand.at(hours).tell() for hours in (0, 0.5, 1, 3.9, 4, 12, 24, 47, 48)] == [1, 0, 1, 0, 1, 1, 1, 0, 1]
    stand.at(50).ledger.recover("job:check", stand.now)
    assert [stand.tell(), stand.at(200).tell()] == [1, 0]
    titles = [title for _, title, _ in stand.sent()]
    failing = "heartbeat: job:check is still failing"
    assert titles == ["heartbeat: job:check is failing", *[failing] * 5, "heartbeat: job:check is well again"]
    assert {message.kind for message in stand.ledger.messages()} == {MessageKind.INCIDENT}


def test_a_message_is_of_use_until_the_next_is_due(stand: Stand) -> None:
    stand.fault()
    stand.tell()
    stand.ledger.recover("job:check", stand.now)
    stand.tell()
    last, first = stand.ledger.messages()
    assert (first.useful_until, last.useful_until) == (EIGHT + timedelta(hours=1), None)


def test_in_the_quiet_nobody_is_told_and_afterwards_the_truth(stand: Stand) -> None:
    stand.said = QUIET
    stand.at(-4).fault("job:lasts")
    stand.fault("job:over")
    assert stand.tell() == 0
    stand.at(-2).ledger.recover("job:over", stand.now)
    assert stand.at(0.99).tell() == 0
    assert stand.at(1).tell() == 1
    assert stand.sent() == [("phone", "heartbeat: job:lasts is failing", "since 04:00: exit status 1")]
    assert [incident.subject for incident in stand.ledger.brief(stand.now).incidents] == ["job:lasts", "job:over"]


def test_one_that_ends_in_the_quiet_is_told_as_over_when_it_was_told_before(stand: Stand) -> None:
    stand.said = QUIET
    stand.at(15).fault()
    stand.tell()
    stand.at(16).ledger.recover("job:check", stand.now)
    assert stand.tell() == 0
    assert stand.at(25).tell() == 1
    assert stand.sent()[-1][1:] == (
        "heartbeat: job:check is well again",
        "over since 00:00, after 1 h: exit status 1",
    )


def test_a_channel_does_not_tell_of_its_own_failure(stand: Stand) -> None:
    stand.routes = (PHONE, MAIL)
    stand.fault("channel:phone")
    assert stand.tell() == 1
    assert [channel for channel, *_ in stand.sent()] == ["mail"]


@pytest.mark.parametrize("routes", [(), (Route("phone", frozenset({MessageKind.BRIEF})),)])
def test_when_no_channel_takes_it_it_is_left_to_the_brief(stand: Stand, routes: tuple[Route, ...]) -> None:
    stand.routes = routes
    stand.fault()
    assert stand.tell() == 0
    assert stand.ledger.due_notices(stand.at(100).now) == []
    (incident,) = stand.ledger.brief(stand.now).incidents
    assert incident.told == 0


def test_the_only_channel_is_not_told_of_itself_again_and_again(stand: Stand) -> None:
    stand.fault("channel:phone")
    assert [stand.at(hours).tell() for hours in (0, 1, 24)] == [0, 0, 0]
    assert stand.sent() == []


def test_what_another_process_told_meanwhile_is_not_told_twice(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    stand.fault()
    seen = stand.ledger.due_notices(stand.now)
    assert stand.tell() == 1
    monkeypatch.setattr(stand.ledger, "due_notices", lambda now: seen)
    assert stand.tell() == 0
    assert len(stand.sent()) == 1


def test_a_ledger_in_trouble_is_the_callers_to_hear_of_and_nothing_is_lost(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise LedgerError("cannot write: the disk is full")

    stand.fault()
    with monkeypatch.context() as patch:
        patch.setattr(stand.ledger, "issue_brief", full)
        patch.setattr(stand.ledger, "enter_notice", full)
        for step in (stand.issue, stand.tell):
            with pytest.raises(LedgerError):
                step()
    assert stand.tell() == 1
    assert stand.issue()


# The configuration


@pytest.mark.parametrize("text", ["00:00", "08:00", "19:59", "20:00", "23:59", "off"])
def test_a_time_of_day_or_off_can_be_written(text: str) -> None:
    assert BriefSettings(at=text).at == text


@pytest.mark.parametrize("text", ["24:00", "8:00", "08:60", "08:00:00", "08:00\n", "", "never", "٠٨:00", "08.00"])
def test_nothing_else_can_be_written_as_its_time(text: str) -> None:
    with pytest.raises(ValidationError, match='write it like "08:00", from 00:00 to 23:59, or "off"'):
        BriefSettings(at=text)


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        (None, range(7)),
        ("weekdays", range(5)),
        (["mon", "fri-sun"], {0, 4, 5, 6}),
    ],
)
def test_its_days_are_written_as_those_of_a_job(days: Any, expected: Any) -> None:
    assert BriefSettings.model_validate({} if days is None else {"days": days}).weekdays == frozenset(expected)


@pytest.mark.parametrize(
    ("section", "given"),
    [
        ("brief", {"days": "someday"}),
        ("brief", {"empty": "maybe"}),
        ("brief", {"file": "a\0b"}),
        ("incidents", {"after": 0}),
        ("incidents", {"after": 1001}),
        ("incidents", {"stale": "0s"}),
        ("incidents", {"stale": "367d"}),
        ("ping", {"every": "59s"}),
        ("ping", {"every": "86401s"}),
        ("ping", {"url": "https://hc-ping.com/uuid"}),
    ],
)
def test_what_is_out_of_bounds_is_refused(section: str, given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Settings.model_validate({"owner": {"zone": "UTC"}, section: given})


def test_what_is_at_its_bounds_is_taken() -> None:
    said = {"incidents": {"after": 1000, "stale": "366d"}, "ping": {"every": "24h"}}
    assert Settings.model_validate({"owner": {"zone": "UTC"}, **said}).ping.every == timedelta(days=1)
    said = {"incidents": {"after": 1, "stale": "1s"}, "ping": {"every": "1m"}}
    assert Settings.model_validate({"owner": {"zone": "UTC"}, **said}).incidents.after == 1
