"""`heartbeat messages`: what was and will be sent to the owner, and a trial of the ways there."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from heartbeat.clock import from_text, to_text
from heartbeat.model import Draft, MessageKind, Urgency
from tests.conftest import NOW, Bench, Place

FIELDS = [
    *("id", "kind", "channel", "state", "title", "body", "urgency", "created_at", "next_attempt_at", "attempts"),
    *("failures", "useful_until", "settled_at", "error", "wake_id", "brief_id", "incident_id"),
]
WAYS = """
[owner]
zone = "Europe/Berlin"
[channels.diary]
kind = "file"
path = "diary.jsonl"
[channels.pager]
kind = "command"
command = ["./pager.sh"]
[channels.screen]
kind = "desktop"
env = { PATH = "{home}/bin", DBUS_SESSION_BUS_ADDRESS = "unix:path=/nowhere" }
"""


@pytest.fixture
def ids(bench: Bench) -> Sequence[str]:
    """A pending message with hostile text, and one that failed."""
    drafts = [
        Draft(MessageKind.REPLY, "diary", "Two\x1b[2J\nlines", "Body\x07\nmore", Urgency.HIGH, wake_id="wake_1"),
        Draft(MessageKind.NOTICE, "pager", "Other", "B"),
    ]
    made = bench.ledger.post(drafts, NOW)
    bench.ledger.begin_message(made[1], "1:1", NOW)
    bench.ledger.give_up_message(made[1], "cannot reach it", NOW)
    return made


def test_nothing_was_sent_where_there_is_no_ledger(place: Place) -> None:
    assert place.call("messages", "list").out == "nothing was sent to you yet\n"
    assert place.data("messages", "list") == {"messages": []}


def test_they_are_listed_newest_first_each_on_one_line(place: Place, ids: Sequence[str]) -> None:
    header, newest, oldest = place.call("messages", "list").out.splitlines()
    assert header.split()[:5] == ["ID", "STATE", "CHANNEL", "KIND", "MADE"]
    assert newest.split()[:4] == [ids[1], "failed", "pager", "notice"]
    assert "2026-06-10 10:00:00" in newest or "2026-06-10 08:00:00" in newest
    assert newest.endswith("Other: cannot reach it")
    assert oldest.endswith("Two [2J lines")
    data = place.data("messages", "list")["messages"]
    assert [each["id"] for each in data] == [ids[1], ids[0]]
    assert all(list(each) == FIELDS for each in data)
    assert from_text(data[0]["created_at"]) == NOW


def test_they_are_listed_by_state_and_to_a_number(place: Place, ids: Sequence[str]) -> None:
    assert [each["id"] for each in place.data("messages", "list", "--state", "pending")["messages"]] == [ids[0]]
    assert len(place.data("messages", "list", "-n", "1")["messages"]) == 1
    assert "delivered" in place.error("messages", "list", "--state", "lost", status=4)


def test_one_is_shown_whole_and_harmless(place: Place, ids: Sequence[str]) -> None:
    out = place.call("messages", "get", ids[0]).out
    assert "\x1b" not in out
    assert "\x07" not in out
    assert out.endswith("\nTwo [2J\nlines\n\nBody \nmore\n")
    assert place.data("messages", "get", ids[0])["body"] == "Body\x07\nmore"
    assert "failed after 1 try\n" in place.call("messages", "get", ids[1]).out
    assert "pending after 0 tries\n" in out
    assert "error: cannot reach it" in place.call("messages", "get", ids[1]).out


def test_one_is_made_due_again_or_ended(place: Place, ids: Sequence[str]) -> None:
    assert place.data("messages", "retry", ids[1])["state"] == "pending"
    assert place.data("messages", "cancel", ids[1])["state"] == "cancelled"
    assert "due now" in place.call("messages", "retry", ids[1]).out
    assert place.call("messages", "cancel", ids[0]).out == f"{ids[0]} cancelled\n"
    place.error("messages", "cancel", ids[0], status=5)


@pytest.mark.parametrize("verb", ["get", "retry", "cancel"])
def test_one_that_does_not_exist_is_said_so(place: Place, ids: Sequence[str], verb: str) -> None:
    assert "msg_none" in place.error("messages", verb, "msg_none", status=3)


def test_a_trial_says_what_came_of_it(place: Place) -> None:
    place.configure(WAYS)
    place.file("pager.sh", "#!/bin/sh\nexit 75\n")
    place.file("bin/notify-send", "#!/bin/sh\nexit 0\n")
    assert place.call("messages", "test", "diary").out == "diary: delivered\n"
    told = json.loads((place.folder / "diary.jsonl").read_text())
    assert (told["channel"], told["title"]) == ("diary", "heartbeat: a test")
    assert place.data("messages", "test", "screen")["state"] == "unverified"
    assert "nothing confirms" in place.call("messages", "test", "screen").out
    assert "asks to try later" in place.error("messages", "test", "pager", status=1)
    assert not (place.state / "ledger.db").exists()


def test_a_trial_of_an_unknown_channel_lists_the_known_ones(place: Place) -> None:
    place.configure(WAYS)
    assert "diary, pager, screen" in place.error("messages", "test", "pone", status=3)
    place.configure("")
    assert "are: none" in place.error("messages", "test", "pone", status=3)


def test_an_instant_is_told_to_programs_with_its_offset(place: Place, ids: Sequence[str]) -> None:
    assert to_text(from_text(place.data("messages", "get", ids[0])["next_attempt_at"])) == to_text(NOW)
