"""What a message says, made safe to hand on."""

from __future__ import annotations

import json
import unicodedata
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.channels._apprise_worker import within, without_mentions
from heartbeat.channels._said import LONGEST, LONGEST_TITLE, as_json, said
from heartbeat.model import Message, MessageKind, MessageState, Urgency
from tests.conftest import NOW

MESSAGE = Message(
    *("msg_1", MessageKind.REPLY, "way", MessageState.SENDING, "A title", "Body."), created_at=NOW, urgency=Urgency.HIGH
)
TEXTS = st.text() | st.text(alphabet="a\r\n\t\x00\x1b\u2028\u202e\u200d\ud800@<!", max_size=40)


@given(TEXTS, TEXTS)
def test_no_text_whatever_forges_a_line_or_a_control(title: str, body: str) -> None:
    parts = said(replace(MESSAGE, title=title, body=body))
    for text, allowed in ((parts.title, ""), (parts.body(), "\n\t")):
        assert {unicodedata.category(letter) for letter in set(text) - set(allowed)}.isdisjoint(
            {"Cc", "Cs", "Zl", "Zp"}
        )
        assert not set("\u202a\u202e\u2066\u2069") & set(text)
        text.encode()
    assert parts.title
    told = json.loads(as_json(replace(MESSAGE, title=title, body=body)))["title"]
    assert parts.title in (told, "heartbeat")


@pytest.mark.parametrize(
    ("more", "last"),
    [
        ({"wake_id": "wake_1"}, "heartbeat why wake_1"),
        ({"incident_id": "inc_1"}, "heartbeat why inc_1"),
        ({"brief_id": "brief_1"}, "Body."),
        ({}, "Body."),
    ],
)
def test_the_last_line_says_where_the_reasons_are(more: dict[str, Any], last: str) -> None:
    assert said(replace(MESSAGE, **more)).body().splitlines()[-1] == last


@pytest.mark.parametrize("length", [LONGEST_TITLE, LONGEST_TITLE + 1])
def test_a_title_is_cut_only_past_its_limit(length: int) -> None:
    title = said(replace(MESSAGE, title="x" * length)).title
    assert len(title) == LONGEST_TITLE
    assert title.endswith("…") is (length > LONGEST_TITLE)


@pytest.mark.parametrize("length", [LONGEST, LONGEST + 1])
def test_a_body_is_cut_only_past_its_limit(length: int) -> None:
    body = said(replace(MESSAGE, body="x" * length)).body()
    assert len(body) == LONGEST
    assert ("heartbeat messages get msg_1" in body) is (length > LONGEST)


@given(st.text(max_size=80), st.sampled_from(["", "tail"]), st.integers(1, 100))
def test_it_never_takes_more_room_than_there_is(text: str, tail: str, room: int) -> None:
    body = within(text, tail, "[cut]", room)
    assert len(body) <= room
    whole = f"{text}\n\n{tail}" if text and tail else text or tail
    assert body == whole or len(whole) > room


@pytest.mark.parametrize(
    ("text", "disarmed"),
    [
        ("@everyone look", "@\u200beveryone look"),
        ("at @HERE, @channel", "at @\u200bHERE, @\u200bchannel"),
        ("<!channel> <@U123> <#C1>", "<\u200b!channel> <\u200b@U123> <#\u200bC1>".replace("<#\u200b", "<\u200b#")),
        ("me@example.org, a < b, @hereafter", "me@example.org, a < b, @hereafter"),
    ],
)
def test_a_stranger_calls_no_channel_together(text: str, disarmed: str) -> None:
    assert without_mentions(text) == disarmed


def test_a_program_gets_every_field_and_the_id_first() -> None:
    told = json.loads(as_json(replace(MESSAGE, useful_until=NOW, wake_id="wake_1")))
    assert next(iter(told)) == "id"
    assert told == {
        "id": "msg_1",
        "kind": "reply",
        "channel": "way",
        "title": "A title",
        "body": "Body.",
        "urgency": "high",
        "created_at": "2026-06-10T08:00:00.000000Z",
        "useful_until": "2026-06-10T08:00:00.000000Z",
        "wake_id": "wake_1",
        "brief_id": None,
        "incident_id": None,
    }


@pytest.mark.parametrize(
    ("wake_id", "trailer", "shown"),
    [
        ("wake_1", True, ("A title", "heartbeat why wake_1")),
        ("wake_1", False, ("heartbeat", "A  title")),
        (None, True, ("heartbeat", "A  title")),
    ],
)
def test_what_says_the_same_twice_says_it_once(wake_id: str | None, trailer: bool, shown: tuple[str, str]) -> None:
    message = replace(MESSAGE, body="A  title", wake_id=wake_id)
    parts = said(message, trailer=trailer)
    assert (parts.title, parts.body()) == shown
    told = json.loads(as_json(message))
    assert (told["title"], told["body"]) == ("A title", "A  title")


def test_the_line_about_the_reasons_can_be_left_out() -> None:
    assert said(replace(MESSAGE, wake_id="wake_1"), trailer=False).body() == "Body."
