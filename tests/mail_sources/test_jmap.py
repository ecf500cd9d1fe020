"""Unread mails at a JMAP server, a double that answers by the standard."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from heartbeat.sources.mail import jmap
from tests.doubles.jmap import TOKEN, Jmap, jmap_double
from tests.mail_sources.reading import read_one, subject, subjects
from tests.servers import NOW


@pytest.fixture
def server() -> Iterator[Jmap]:
    with jmap_double() as double:
        yield double


def at(server: Jmap, **settings: Any) -> dict[str, Any]:
    return {"jmap": server.address, "token": TOKEN, **settings}


def held(number: int, mailbox: str = "m1", minutes: int = 5, **more: Any) -> dict[str, Any]:
    headers = [
        ["Received", " by mx.example.com;\r\n Wed, 10 Jun 2026 07:55:02 +0000"],
        ["From", " Kim <kim@example.org>"],
        ["Subject", f" Mail {number}"],
        ["X-Other", " not wanted"],
        ["Received", " by out.example.org; Wed, 10 Jun 2026 07:55:00 +0000"],
    ]
    received = (NOW - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"id": f"e{number}", "mailbox": mailbox, "receivedAt": received, "headers": headers, **more}


def test_unread_mails_come_with_their_fields_and_their_arrival(server: Jmap) -> None:
    server.mails = [held(1), held(2, keywords={"$seen": True}), held(3, minutes=60 * 24 * 3)]
    unread = read_one(at(server))
    assert (subjects(unread), unread.fault) == (["Mail 1"], "")
    (message,) = unread.messages
    assert message.arrived_at == NOW - timedelta(minutes=5)
    assert list(message.all("received")) == [
        b"by mx.example.com; Wed, 10 Jun 2026 07:55:02 +0000",
        b"by out.example.org; Wed, 10 Jun 2026 07:55:00 +0000",
    ]
    assert "x-other" not in dict(message.fields)


def test_two_froms_come_both_and_umlauts_come_as_utf8(server: Jmap) -> None:
    mail = held(1)
    mail["headers"] = [["From", " Zoë <a@b.c>"], ["from", " d@e.f"]]
    server.mails = [mail]
    (message,) = read_one(at(server)).messages
    assert list(message.all("from")) == ["Zoë <a@b.c>".encode(), b"d@e.f"]


def test_no_body_is_asked_for(server: Jmap) -> None:
    server.mails = [held(1)]
    read_one(at(server))
    asked = [given for name, given in server.calls if name == "Email/get"]
    assert all(word == "receivedAt" or word.startswith("header:") for given in asked for word in given["properties"])
    assert {name for name, _ in server.calls} == {"Mailbox/get", "Email/query", "Email/get"}


def test_pages_are_as_large_as_the_server_allows_and_all_are_read(server: Jmap) -> None:
    server.page = 2
    server.mails = [held(number) for number in range(5)]
    assert len(read_one(at(server)).messages) == 5
    positions = [given["position"] for name, given in server.calls if name == "Email/query"]
    assert positions == [0, 2, 4]


def test_headers_too_large_for_one_answer_come_in_smaller_ones(server: Jmap, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jmap, "_MOST", 40_000)
    server.mails = [held(number) for number in range(30)]
    for mail in server.mails:
        mail["headers"].append(["Sender", "x" * 5_000])
    server.mails[10]["headers"].append(["Sender", "x" * 40_000])
    unread = read_one(at(server))
    assert [subject(message) for message in unread.messages] == [f"Mail {n}" for n in range(30) if n != 10]
    assert unread.fault == "cannot read a mail: its header is too large; delete it"


@pytest.mark.parametrize(("most", "count", "fault"), [(50_000, 4, ""), (5_000, 2, "cannot read all mails: their")])
def test_all_headers_together_are_bounded_and_the_newest_stay(
    server: Jmap, monkeypatch: pytest.MonkeyPatch, most: int, count: int, fault: str
) -> None:
    monkeypatch.setattr(jmap, "_MOST_KEPT", most)
    server.page = 2
    server.mails = [held(number) for number in range(4)]
    for mail in server.mails:
        mail["headers"].append(["Sender", "x" * 5_000])
    unread = read_one(at(server))
    assert [subject(message) for message in unread.messages] == [f"Mail {number}" for number in range(count)]
    assert unread.fault.startswith(fault)
    assert bool(unread.fault) == bool(fault)


def test_folders_go_by_role_and_by_path(server: Jmap) -> None:
    server.mailboxes += [
        {"id": "m2", "name": "Work", "parentId": None, "role": None},
        {"id": "m3", "name": "Boss", "parentId": "m2", "role": None},
    ]
    server.mails = [held(1), held(2, "m2"), held(3, "m3")]
    assert subjects(read_one(at(server, folders=["INBOX", "Work/Boss"]))) == ["Mail 1", "Mail 3"]
    unread = read_one(at(server, folders=["Gone", "work"]))
    assert subjects(unread) == ["Mail 2"]
    assert unread.fault == "cannot find the folder 'Gone'; the account has inbox, work, work/boss"


def test_folders_that_are_each_in_the_other_hang_nothing(server: Jmap) -> None:
    server.mailboxes += [
        {"id": "m2", "name": "A", "parentId": "m3", "role": None},
        {"id": "m3", "name": "B", "parentId": "m2", "role": None},
    ]
    assert read_one(at(server)).fault == ""


def test_user_and_password_will_do(server: Jmap) -> None:
    server.token = "Basic " + b64encode(b"ann:canary-password").decode()
    server.mails = [held(1)]
    unread = read_one({"jmap": server.address, "user": "ann", "password": "canary-password"})
    assert (subjects(unread), unread.fault) == (["Mail 1"], "")


def test_an_address_of_the_session_itself_is_taken_as_it_is(server: Jmap) -> None:
    server.mails = [held(1)]
    assert subjects(read_one(at(server, jmap=f"{server.address}/session"))) == ["Mail 1"]


def test_a_wrong_token_is_told_and_not_shown(server: Jmap) -> None:
    unread = read_one(at(server, token="canary-wrong"))
    assert "401" in unread.fault
    assert "canary" not in unread.fault


def test_a_token_is_never_sent_unprotected() -> None:
    assert read_one({"jmap": "http://mail.example.org", "token": TOKEN}).fault == (
        "cannot use the address: only https:// keeps the token secret; write https://host"
    )


def test_a_session_that_sends_the_token_somewhere_unprotected_is_not_followed(server: Jmap) -> None:
    server.session = {"apiUrl": "http://mail.example.org/canary"}
    assert "only https:// keeps the token secret" in read_one(at(server)).fault


WRONG: dict[str, Any] = {
    "no JSON": b"<html>canary",
    "no object": b"[]",
    "no responses": b"{}",
    "null": b'{"methodResponses": null}',
    "too few": b'{"methodResponses": []}',
    "deep": b"[" * 100_000,
    "odd list": b'{"methodResponses": [["Mailbox/get", {"list": [3]}, "0"]]}',
    "an error": b'{"methodResponses": [["error", {"type": "serverFail\\u001b[2J"}, "0"]]}',
}


@pytest.mark.parametrize("raw", WRONG.values(), ids=WRONG)
def test_an_answer_that_is_none_is_a_fault(server: Jmap, raw: bytes) -> None:
    server.raw = raw
    unread = read_one(at(server))
    assert unread.messages == ()
    assert unread.fault.startswith("cannot ")
    assert "canary" not in unread.fault
    assert unread.fault.isprintable()


@pytest.mark.parametrize("session", [{"apiUrl": None}, {"primaryAccounts": {}}, {"capabilities": {}}])
def test_a_session_without_mail_is_a_fault(server: Jmap, session: dict[str, Any]) -> None:
    server.session = session
    assert read_one(at(server)).fault.startswith("cannot ")


def test_a_mail_that_is_odd_costs_only_its_odd_parts(server: Jmap) -> None:
    server.raw = None
    odd = held(1)
    odd["headers"] = []
    odd["receivedAt"] = "2026-06-10T08:00:00"
    server.mails = [odd, held(2)]
    messages = read_one(at(server)).messages
    assert [(message.arrived_at is None, len(message.fields)) for message in messages] == [(True, 0), (False, 4)]


@pytest.mark.parametrize(
    "settings",
    [{"token": ""}, {"user": "u", "password": "p"}, {"token": "canary\r\nX: y"}, {"token": "cänary"}],
)
def test_settings_that_do_not_fit_are_told(server: Jmap, settings: dict[str, Any]) -> None:
    fault = read_one(at(server, **settings)).fault
    assert fault.startswith("cannot ")
    assert "canary" not in fault


def test_the_double_shows_what_it_was_asked(server: Jmap) -> None:
    """Or the tests above could pass for nothing."""
    server.mails = [held(1)]
    read_one(at(server))
    assert server.authorized
    assert json.dumps(server.calls).count("header:from:asRaw:all") == 1
