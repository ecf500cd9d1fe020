"""The brief as people read it: pure text."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.brief import as_document, as_markdown, as_plain, as_text, brief_day
from heartbeat.model import Brief, Change, Finding, Incident, LedgerFinding, State, Tally, Urgency

NOW = datetime(2026, 6, 10, 6, tzinfo=UTC)  # a Wednesday, 8 o'clock in Berlin
BERLIN = ZoneInfo("Europe/Berlin")


def at(hours: float) -> datetime:
    return NOW + timedelta(hours=hours)


def item(title: str = "A meeting", *, job: str = "check", reason: str = "because", **more: Any) -> LedgerFinding:
    change, seen, state = more.pop("change", Change.NEW), more.pop("seen", NOW), more.pop("state", State.BRIEF)
    row = {name: more.pop(name) for name in ("wake_id", "held_until") if name in more}
    finding = Finding("k", title, **more)
    return LedgerFinding("fnd_1", job, finding, change, state, "quiet", reason, True, seen, seen, "run_1", **row)


def brief(
    *items: LedgerFinding, incidents: tuple[Incident, ...] = (), since: datetime | None = None, **more: Any
) -> Brief:
    return Brief("brief_1", since, NOW, items, incidents, **more)


def incident(message: str = "gone", resolved_at: datetime | None = None) -> Incident:
    return Incident("inc_1", "job:check", "exit_status", message, at(-9), resolved_at)


@pytest.mark.parametrize(
    ("tally", "facts"),
    [
        (Tally(), "No tick ran."),
        (Tally(runs=1, avoided=1), "1 tick ran, nobody was woken."),
        (Tally(runs=144, avoided=144), "144 ticks ran, nobody was woken."),
        (Tally(runs=1440, faults=3, avoided=1440), "1,440 ticks ran (3 failed), nobody was woken."),
        (Tally(runs=9, wakes=1, notices=2, avoided=8), "9 ticks ran, 1 wake, 2 notices, 8 calls avoided."),
        (Tally(runs=9, notices=1, avoided=9), "9 ticks ran, 0 wakes, 1 notice, 9 calls avoided."),
        (Tally(wakes=2), "No tick ran, 2 wakes, 0 notices, 0 calls avoided."),
        (
            Tally(runs=9, wakes=2, avoided=7, tokens=12_345, usd=0.456),
            "9 ticks ran, 2 wakes, 0 notices, 7 calls avoided, 12,345 tokens, $0.46.",
        ),
    ],
)
def test_an_empty_night_is_one_line_with_what_it_took(tally: Tally, facts: str) -> None:
    assert as_text(brief(tally=tally), BERLIN) == f"While you slept: nothing to tell. {facts}"
    assert as_read(as_markdown(brief(tally=tally), BERLIN)) == f"While you slept: nothing to tell. {facts}"


def test_the_brief_says_since_when() -> None:
    shown = as_text(brief(since=at(-24)), BERLIN)
    assert shown == "While you slept since Tue 09 Jun 08:00: nothing to tell. No tick ran."


def test_the_most_urgent_stands_first_and_the_rest_goes_job_by_job() -> None:
    shown = as_text(
        brief(
            item("Later", seen=at(-1)),
            item("Low", urgency=Urgency.LOW, seen=at(-5)),
            item("Mail", job="a-job", reason="its urgency is low", urgency=Urgency.LOW),
            item("Fire", urgency=Urgency.CRITICAL),
            item("Earlier", seen=at(-2)),
            incidents=(incident(), incident("back", at(-8))),
        ),
        BERLIN,
    )
    assert shown.splitlines() == [
        "While you slept: 5 things not told yet, 2 incidents.",
        "",
        "urgent",
        "  seen 08:00  check  [critical] Fire",
        "         not told: because",
        "",
        "check",
        "  seen 06:00  Earlier",
        "         not told: because",
        "  seen 07:00  Later",
        "         not told: because",
        "  seen 03:00  Low",
        "         not told: because",
        "",
        "a-job",
        "  seen 08:00  Mail",
        "         not told: its urgency is low",
        "",
        "incidents",
        "  Tue 23:00, still open  job:check: gone",
        "  Tue 23:00, over since Wed 00:00  job:check: back",
        "",
        "No tick ran.",
    ]


def test_what_was_missed_what_waits_and_what_never_arrived_is_said_too() -> None:
    made = brief(
        waiting=(
            item("Call", state=State.HELD, held_until=at(1), reason="it is quiet"),
            item("Trip", state=State.HELD, held_until=at(17), reason="it is quiet", urgency=Urgency.HIGH),
            item("Odd", state=State.HELD, reason="held"),
            item("Mail", state=State.WAKE, wake_id="wake_1", reason="it is new"),
            item("Door", state=State.WAKE, wake_id="wake_2", reason="it is new"),
        ),
        for_owner=frozenset({"wake_2"}),
        with_agent=((date(2026, 6, 9), "claude"),),
        undelivered=("msg_1", "msg_2"),
        tally=Tally(
            runs=3, missed=(("check", 2, "backing off until 2026-06-10T05:36:25.006385Z"), ("other", 1, "it still ran"))
        ),
    )
    assert as_text(made, BERLIN).splitlines() == [
        "While you slept: 2 messages not delivered.",
        "",
        "missed",
        "  check  2 due instants not run: backing off until 07:36",
        "  other  1 due instant not run: it still ran",
        "",
        "still waiting",
        "  the brief of 2026-06-09 waits for the agent claude",
        "  check  Call (held until 09:00: it is quiet)",
        "  check  [high] Trip (held until Thu 11 Jun 01:00: it is quiet)",
        "  check  Odd (held: held)",
        "  check  Mail (waits for the agent: it is new)",
        "  check  Door (waits for your channels: it is new)",
        "",
        "not delivered",
        "  2 messages could not be delivered: `heartbeat messages list`",
        "",
        "3 ticks ran, nobody was woken.",
    ]


@pytest.mark.parametrize(("count", "more"), [(20, []), (21, ["  and 1 more"]), (1020, ["  and 1,000 more"])])
def test_of_what_still_waits_no_more_is_named_than_a_person_reads(count: int, more: list[str]) -> None:
    waiting = tuple(item(state=State.WAKE) for _ in range(count))
    lines = as_text(brief(waiting=waiting), BERLIN).splitlines()
    assert (len(lines), lines[23:-2]) == (3 + 20 + len(more) + 2, more)


@pytest.mark.parametrize("urgency", Urgency)
def test_only_what_is_urgent_is_told_with_a_line_of_its_text(urgency: Urgency) -> None:
    shown = as_text(brief(item(urgency=urgency, body="Room 5\n" + "x" * 200)), BERLIN).splitlines()
    body = ["         Room 5 " + "x" * 152 + "…"] if urgency in (Urgency.HIGH, Urgency.CRITICAL) else []
    assert shown[4:-3] == body


def test_the_same_as_markdown() -> None:
    shown = as_markdown(brief(item(urgency=Urgency.HIGH, body="Room #5"), incidents=(incident(),)), BERLIN)
    assert shown.splitlines() == [
        "# While you slept: 1 thing not told yet, 1 incident.",
        "",
        "## urgent",
        "",
        r"- seen 08:00 check \[high\] A meeting: Room \#5 (because)",
        "",
        "## incidents",
        "",
        "- Tue 23:00, still open job:check: gone",
        "",
        "No tick ran.",
    ]


def test_what_came_and_went_many_times_is_one_line() -> None:
    flaps = tuple(incident("gone", at(-8 + number)) for number in range(4))
    assert as_text(brief(incidents=flaps), BERLIN).splitlines()[3] == (
        "  Tue 23:00, over since Wed 03:00  job:check: gone (4 times since Tue 23:00)"
    )


def test_as_plain_text_markdown_shows_no_markup() -> None:
    made = brief(item("50% off! [x] \\* a_b", urgency=Urgency.HIGH), incidents=(incident("see https://x"),))
    shown = as_plain(as_markdown(made, BERLIN)).splitlines()
    assert (shown[0], shown[2]) == ("While you slept: 1 thing not told yet, 1 incident.", "urgent")
    assert shown[4] == r"- seen 08:00 check [high] 50% off! [x] \* a_b (because)"
    assert shown[8] == "- Tue 23:00, still open job:check: gone".replace("gone", "see https://x")


@pytest.mark.parametrize(
    ("change", "shown"),
    [(Change.NEW, "A meeting"), (Change.UPDATE, "changed: A meeting"), (Change.RETRACTION, "no longer: A meeting")],
)
def test_a_change_is_said(change: Change, shown: str) -> None:
    assert as_text(brief(item(change=change)), BERLIN).splitlines()[3] == f"  seen 08:00  {shown}"


@pytest.mark.parametrize(
    ("times", "shown"),
    [
        ({}, "seen 08:00"),
        ({"occurred_at": at(1)}, "at 09:00"),
        ({"occurred_at": at(1), "starts_at": at(2)}, "at 10:00"),
        ({"starts_at": at(16)}, "at Thu 11 Jun 00:00"),
        ({"starts_at": at(15.99)}, "at 23:59"),
        ({"seen": at(-30)}, "seen Tue 09 Jun 02:00"),
        ({"starts_at": datetime(9999, 12, 31, 23, 30, tzinfo=UTC)}, "at Fri 31 Dec 23:30"),
        ({"starts_at": datetime(1, 1, 1, tzinfo=UTC)}, "at Mon 01 Jan 00:53"),
    ],
)
def test_an_item_says_when_it_is_and_the_day_unless_it_is_today(times: dict[str, Any], shown: str) -> None:
    assert as_text(brief(item(**times)), BERLIN).splitlines()[3].startswith(f"  {shown}  A meeting")


def test_an_instant_at_the_end_of_the_calendar_costs_the_others_nothing() -> None:
    shown = as_text(brief(item("Odd", starts_at=datetime(9999, 12, 31, 23, 59, tzinfo=UTC)), item("Good")), BERLIN)
    assert "Odd" in shown
    assert "Good" in shown


HOSTILE = [
    "x](https://evil.example) [y",
    "<script>alert(1)</script>",
    "&lt;b&gt;",
    "**bold** _it_ `code` ~~gone~~ ==mark==",
    "![image](http://evil.example/x.png)",
    "https://evil.example/?q=1 www.evil.example",
    "@everyone #1 $x^2$",
    "| a | b |",
    "a\n# heading\n- item\n```\n",
    "\\` \\* back\\slash",
]


def as_read(text: str) -> str:
    """What is left when a reader of Markdown has taken each escaped character for itself."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)


@pytest.mark.parametrize("text", HOSTILE)
def test_in_markdown_a_strangers_text_is_only_text(text: str) -> None:
    urgent = item(text, reason=text, body=text, urgency=Urgency.HIGH)
    waiting, missed = item(text, reason=text, state=State.HELD), ("check", 1, text)
    made = brief(urgent, incidents=(incident(text),), waiting=(waiting,), tally=Tally(missed=(missed,)))
    lines = as_markdown(made, BERLIN).splitlines()
    assert len(lines) == 19
    for line in (lines[4], lines[8], lines[12], lines[16]):
        assert not re.search(r"(?<!\\)(?:\\\\)*[`*_{}\[\]<>#|~&$!@]", line.removeprefix("- "))
        assert not re.search(r"(?<!\\)://|www\.", line)
    assert " ".join(text.split()) in as_read(lines[4])


@given(st.text(max_size=80))
def test_whatever_a_title_holds_it_stays_on_its_line(title: str) -> None:
    for show in (as_text, as_markdown):
        plain, hostile = show(brief(item("x")), BERLIN), show(brief(item(title)), BERLIN)
        assert len(hostile.splitlines()) == len(plain.splitlines())


def test_a_long_title_is_cut() -> None:
    assert len(as_text(brief(item("x" * 500)), BERLIN).splitlines()[3]) == len("  seen 08:00  ") + 120


def test_the_document_holds_everything_as_json_can() -> None:
    made = brief(
        item(urgency=Urgency.HIGH, body="Room 5", kind="meeting", reason="it is quiet"),
        incidents=(incident(resolved_at=at(-8)), incident()),
        since=at(-24),
        waiting=(
            item("Call", state=State.HELD, held_until=at(1)),
            item("Mail", state=State.WAKE, wake_id="wake_1", held_until=at(1)),
        ),
        undelivered=("msg_1",),
        for_owner=frozenset({"wake_1"}),
        with_agent=((date(2026, 6, 9), "claude"),),
        tally=Tally(runs=3, missed=(("check", 2, "it still ran"),), usd=0.5),
        day=date(2026, 6, 10),
    )
    document = as_document(made, BERLIN)
    assert json.loads(json.dumps(document)) == document
    common = {"id": "fnd_1", "key": "k", "job": "check", "at": "2026-06-10T06:00:00+00:00"}
    waiting = {**common, "urgency": "normal", "why_waiting": "because"}
    fault = {"id": "inc_1", "subject": "job:check", "code": "exit_status", "message": "gone"}
    assert document == {
        "id": "brief_1",
        "day": "2026-06-10",
        "zone": "Europe/Berlin",
        "since": "2026-06-09T06:00:00+00:00",
        "until": "2026-06-10T06:00:00+00:00",
        "items": [
            {
                **common,
                "title": "A meeting",
                "body": "Room 5",
                "kind": "meeting",
                "urgency": "high",
                "change": "new",
                "why_not_told": "it is quiet",
            }
        ],
        "incidents": [
            {**fault, "opened_at": "2026-06-09T21:00:00+00:00", "resolved_at": "2026-06-09T22:00:00+00:00"},
            {**fault, "opened_at": "2026-06-09T21:00:00+00:00", "resolved_at": None},
        ],
        "waiting": [
            {**waiting, "title": "Call", "held_until": "2026-06-10T07:00:00+00:00", "wake_id": None, "waits_for": None},
            {**waiting, "title": "Mail", "held_until": None, "wake_id": "wake_1", "waits_for": "channels"},
        ],
        "briefs_waiting": [{"day": "2026-06-09", "agent": "claude"}],
        "undelivered": ["msg_1"],
        "tally": {
            "runs": 3,
            "faults": 0,
            "missed": [{"job": "check", "count": 2, "reason": "it still ran"}],
            "wakes": 0,
            "notices": 0,
            "avoided": 0,
            "tokens": 0,
            "usd": 0.5,
        },
    }


LOW, NORMAL, HIGH, CRITICAL = Urgency


@pytest.mark.parametrize(
    ("made", "urgency"),
    [
        (brief(), LOW),
        (brief(item(urgency=LOW)), LOW),
        (brief(item(urgency=LOW), item(urgency=NORMAL)), NORMAL),
        (brief(item(urgency=HIGH), item(urgency=LOW)), HIGH),
        (brief(item(urgency=CRITICAL)), HIGH),
        (brief(incidents=(incident(),)), NORMAL),
        (brief(item(urgency=LOW), undelivered=("msg_1",)), NORMAL),
    ],
)
def test_a_brief_is_as_urgent_as_its_most_urgent_item_but_never_critical(made: Brief, urgency: Urgency) -> None:
    assert made.urgency is urgency


# The day


EIGHT = time(8)
ALWAYS = frozenset(range(7))


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


@pytest.mark.parametrize(
    ("now", "day"),
    [
        ("2026-06-10T07:59:59.999999+02:00", None),
        ("2026-06-10T08:00:00+02:00", date(2026, 6, 10)),
        ("2026-06-10T23:59:59.999999+02:00", date(2026, 6, 10)),
        ("2026-06-11T00:00:00+02:00", None),
    ],
)
def test_the_brief_is_due_from_its_time_to_the_end_of_the_day(now: str, day: date | None) -> None:
    assert brief_day(EIGHT, ALWAYS, BERLIN, instant(now)) == day


def test_without_a_time_it_is_never_due() -> None:
    assert brief_day(None, ALWAYS, BERLIN, NOW) is None


@pytest.mark.parametrize("weekday", range(7))
def test_it_is_due_only_on_the_days_that_are_wanted(weekday: int) -> None:
    due = [brief_day(EIGHT, frozenset({weekday}), BERLIN, at(24 * number)) for number in range(7)]
    assert [day.weekday() for day in due if day] == [weekday]


@pytest.mark.parametrize(
    ("now", "is_due"),
    [
        ("2026-03-29T01:59:59.999999+01:00", False),
        ("2026-03-29T03:00:00+02:00", True),  # the end of the gap that 02:30 is in
        ("2026-10-25T02:29:59+02:00", False),
        ("2026-10-25T02:30:00+02:00", True),  # the first of two
        ("2026-10-25T03:00:00+01:00", True),
    ],
)
def test_where_the_clock_changes_it_is_due_at_the_end_of_the_gap_and_at_the_first_passage(
    now: str, is_due: bool
) -> None:
    assert (brief_day(time(2, 30), ALWAYS, BERLIN, instant(now)) is not None) is is_due


zones = st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Tokyo", "Pacific/Apia", "Pacific/Kiritimati"])
steps = st.lists(st.tuples(st.integers(1, 60 * 30), zones), max_size=60)


@given(st.times(), steps)
def test_however_the_owner_travels_the_day_is_that_of_the_clock_there(
    due_at: time, steps: list[tuple[int, str]]
) -> None:
    now = NOW
    for minutes, name in steps:
        now += timedelta(minutes=minutes)
        wall = now.astimezone(ZoneInfo(name))
        expected = wall.date() if wall.time() >= due_at else None
        assert brief_day(due_at, ALWAYS, ZoneInfo(name), now) == expected
