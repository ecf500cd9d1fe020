"""The brief as people read it: pure text."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.brief import as_markdown, as_text
from heartbeat.model import Brief, Change, Finding, Incident, LedgerFinding, State, Urgency

NOW = datetime(2026, 6, 10, 6, tzinfo=UTC)  # a Wednesday, 8 o'clock in Berlin
BERLIN = ZoneInfo("Europe/Berlin")


def at(hours: float) -> datetime:
    return NOW + timedelta(hours=hours)


def item(title: str = "A meeting", *, job: str = "check", reason: str = "because", **more: Any) -> LedgerFinding:
    change, seen = more.pop("change", Change.NEW), more.pop("seen", NOW)
    finding = Finding("k", title, **more)
    return LedgerFinding("fnd_1", job, finding, change, State.BRIEF, "quiet", reason, True, seen, seen, "run_1")


def brief(*items: LedgerFinding, incidents: tuple[Incident, ...] = (), since: datetime | None = None) -> Brief:
    return Brief("brief_1", since, NOW, items, incidents)


def incident(message: str = "gone", resolved_at: datetime | None = None) -> Incident:
    return Incident("inc_1", "job:check", "exit_status", message, at(-9), resolved_at)


def test_nothing_to_tell_is_one_line() -> None:
    assert as_text(brief(), BERLIN) == "While you slept: nothing to tell."
    assert as_text(brief(since=at(-24)), BERLIN) == "While you slept since Tue 09 Jun 08:00: nothing to tell."
    assert as_markdown(brief(), BERLIN) == "# While you slept: nothing to tell."


def test_the_brief_goes_job_by_job_the_most_urgent_first() -> None:
    shown = as_text(
        brief(
            item("Later", seen=at(-1)),
            item("Low", urgency=Urgency.LOW, seen=at(-5)),
            item("Mail", job="a-job", reason="its urgency is low"),
            item("Fire", urgency=Urgency.CRITICAL),
            item("Earlier", seen=at(-2)),
            incidents=(incident(), incident("back", at(-8))),
        ),
        BERLIN,
    )
    assert shown.splitlines() == [
        "While you slept: 5 things not told yet, 2 incidents.",
        "",
        "a-job",
        "  08:00  Mail",
        "         not told: its urgency is low",
        "",
        "check",
        "  08:00  [critical] Fire",
        "         not told: because",
        "  06:00  Earlier",
        "         not told: because",
        "  07:00  Later",
        "         not told: because",
        "  03:00  Low",
        "         not told: because",
        "",
        "incidents",
        "  Tue 23:00, still open  job:check: gone",
        "  Tue 23:00, over since Wed 00:00  job:check: back",
    ]


def test_the_same_as_markdown() -> None:
    shown = as_markdown(brief(item(urgency=Urgency.HIGH), incidents=(incident(),)), BERLIN)
    assert shown.splitlines() == [
        "# While you slept: 1 thing not told yet, 1 incident.",
        "",
        "## check",
        "",
        r"- 08:00 \[high\] A meeting (because)",
        "",
        "## incidents",
        "",
        "- Tue 23:00, still open  job:check: gone",
    ]


@pytest.mark.parametrize(
    ("change", "shown"),
    [(Change.NEW, "A meeting"), (Change.UPDATE, "changed: A meeting"), (Change.RETRACTION, "no longer: A meeting")],
)
def test_a_change_is_said(change: Change, shown: str) -> None:
    assert as_text(brief(item(change=change)), BERLIN).splitlines()[3] == f"  08:00  {shown}"


@pytest.mark.parametrize(
    ("times", "shown"),
    [
        ({}, "08:00"),
        ({"occurred_at": at(1)}, "09:00"),
        ({"occurred_at": at(1), "starts_at": at(2)}, "10:00"),
        ({"starts_at": at(16)}, "Thu 11 Jun 00:00"),
        ({"starts_at": at(15.99)}, "23:59"),
        ({"seen": at(-30)}, "Tue 09 Jun 02:00"),
        ({"starts_at": datetime(9999, 12, 31, 23, 30, tzinfo=UTC)}, "Fri 31 Dec 23:30"),
        ({"starts_at": datetime(1, 1, 1, tzinfo=UTC)}, "Mon 01 Jan 00:53"),
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
    shown = as_markdown(brief(item(text, reason=text), incidents=(incident(text),)), BERLIN)
    lines = shown.splitlines()
    assert len(lines) == 9
    for line in (lines[4], lines[8]):
        assert not re.search(r"(?<!\\)(?:\\\\)*[`*_{}\[\]<>#|~&$!@]", line.removeprefix("- "))
        assert not re.search(r"(?<!\\)://|www\.", line)
    assert " ".join(text.split()) in as_read(lines[4])


@given(st.text(max_size=80))
def test_whatever_a_title_holds_it_stays_on_its_line(title: str) -> None:
    for show in (as_text, as_markdown):
        plain, hostile = show(brief(item("x")), BERLIN), show(brief(item(title)), BERLIN)
        assert len(hostile.splitlines()) == len(plain.splitlines())


def test_a_long_title_is_cut() -> None:
    assert len(as_text(brief(item("x" * 500)), BERLIN).splitlines()[3]) == len("  08:00  ") + 120
