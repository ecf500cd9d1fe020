"""A minute and a half of what an owner does: a calendar, a script of one's own, an agent, the brief, and why."""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from tests.slow.guarantees import breaches
from tests.slow.homes import Home, wait_for

pytestmark = pytest.mark.slow

SECONDS = 90

# The second appears while the daemon runs; the third is for the morning.
SCRIPT = """#!/bin/sh
# /// script
# [tool.heartbeat]
# every = "5s"
# ///
add() { list="$list${list:+,}{\\"key\\":\\"$1\\",\\"title\\":\\"$2\\",\\"urgency\\":\\"$3\\"}"; }
add disk "The disk is nearly full" normal
add update "There are updates" low
[ -e "$HEARTBEAT_HOME/door" ] && add door "Somebody is at the door" high
printf 'looked at everything\\n{"wakeAgent":true,"findings":[%s]}\\n' "$list"
"""
EVENT = """BEGIN:VEVENT
UID:{uid}@example.org
DTSTAMP:20260101T000000Z
DTSTART:{start:%Y%m%dT%H%M%SZ}
DTEND:{end:%Y%m%dT%H%M%SZ}
SUMMARY:{uid}
{more}END:VEVENT
"""


def calendar() -> str:
    now = datetime.now(UTC).replace(microsecond=0)

    def event(uid: str, start: timedelta, more: str = "") -> str:
        at = now + start
        return EVENT.format(uid=uid, start=at, end=at + timedelta(minutes=30), more=more)

    events = [
        event("near", timedelta(minutes=40)),
        event("weekly", timedelta(minutes=50, days=-70), "RRULE:FREQ=WEEKLY\n"),
        event("cancelled", timedelta(minutes=45), "STATUS:CANCELLED\n"),
        event("tomorrow", timedelta(days=1)),
        event("yesterday", timedelta(days=-1)),
    ]
    body = "".join(events)
    return f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//test//EN\n{body}END:VCALENDAR\n".replace("\n", "\r\n")


def test_a_minute_and_a_half_of_an_owners_life(home: Home) -> None:
    home.file("me.ics", calendar())
    home.script("my-check", SCRIPT)
    home.configure(
        f"""[jobs.calendar-lookahead]
every = "10s"
[jobs.calendar-lookahead.options]
lookahead = "90m"
sources = [{{ file = "{home.folder}/me.ics" }}]
[jobs.due-queue]
every = "10s"
[jobs.my-check]
"""
    )
    assert home.run("check")[0] == 0
    daemon = home.start()
    daemon.wait_for_beat()
    due = (datetime.now(UTC) + timedelta(seconds=20)).isoformat()
    assert home.run("queue", "add", "--message", "Call the garage", "--due", due)[0] == 0
    time.sleep(SECONDS / 2)
    home.file("door", "")
    time.sleep(SECONDS / 2)
    assert home.data("health")["state"] == "up"
    wait_for(lambda: not home.count("SELECT count(*) FROM wakes WHERE state <> 'settled'"), 30, "the last wake")
    assert daemon.stop() == 0

    titles = {row["id"]: row["title"] for row in home.rows("SELECT id, title FROM findings")}
    handed = Counter(titles[finding] for _, findings in home.handed() for finding in findings)
    assert handed == {
        "near": 1,
        "weekly": 1,
        "The disk is nearly full": 1,
        "Somebody is at the door": 1,
        "Call the garage": 1,
    }
    assert breaches(home) == []
    assert home.count("SELECT count(*) FROM runs WHERE job = 'my-check' AND verdict = 'wake'") >= SECONDS / 5 - 4
    first, second = home.data("brief", "--consume"), home.data("brief", "--consume")
    assert [item["title"] for item in first["items"]] == ["There are updates"]
    assert (second["items"], second["incidents"]) == ([], [])
    for finding in titles:
        why = home.data("why", finding)
        assert (why["kind"], len(why["steps"]) >= 2) == ("finding", True)
        assert all(step["rule"] and step["outcome"] for step in why["steps"])
