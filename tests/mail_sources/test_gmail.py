"""Unread mails of Gmail through a stub of Google's tool, which answers in the shapes that tool has."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from heartbeat.sources.mail import gmail
from tests.mail_sources.reading import SINCE, read_one, subjects
from tests.servers import NOW

STUB = Path(__file__).parents[1] / "doubles" / "gws"


class Gws:
    """What the stub is to say."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.table = {"gmail": "me", "program": str(STUB), "config": str(folder)}
        self.says("list", {"resultSizeEstimate": 0})

    def says(self, name: str, *documents: Any, status: int = 0) -> None:
        text = "".join(one if isinstance(one, str) else json.dumps(one) + "\n" for one in documents)
        (self.folder / name).write_text(text)
        (self.folder / f"{name}.status").write_text(str(status))

    def holds(self, *numbers: str) -> None:
        for number in numbers:
            self.says(f"get-{number}", header(number))
        self.says("list", {"messages": [{"id": number, "threadId": number} for number in numbers]})

    def calls(self, verb: str = "") -> list[str]:
        said = (self.folder / "calls").read_text().splitlines()
        return [line for line in said if f"messages {verb}" in line]


def header(number: str, **more: Any) -> dict[str, Any]:
    fields = [
        {"name": "Received", "value": "by mx.google.com; Wed, 10 Jun 2026 00:55:02 -0700"},
        {"name": "FROM", "value": "Kim <kim@example.org>"},
        {"name": "Subject", "value": f"Mail {number}"},
        {"name": "To", "value": "me"},
    ]
    at = str(int((NOW - timedelta(minutes=5)).timestamp() * 1000))
    return {"internalDate": at, "payload": {"headers": fields}, **more}


@pytest.fixture
def gws(tmp_path: Path) -> Gws:
    folder = tmp_path / "gws"
    folder.mkdir()
    return Gws(folder)


def test_unread_mails_come_with_their_fields_and_their_arrival(gws: Gws) -> None:
    gws.holds("a1", "a2")
    unread = read_one(gws.table)
    assert (subjects(unread), unread.fault) == (["Mail a1", "Mail a2"], "")
    assert unread.messages[0].arrived_at == NOW - timedelta(minutes=5)
    assert [name for name, _ in unread.messages[0].fields] == ["received", "from", "subject"]


def test_only_headers_are_asked_for_and_no_snippet(gws: Gws) -> None:
    gws.holds("a1")
    read_one(gws.table)
    (listed,), (got,) = gws.calls("list"), gws.calls("get")
    wanted = json.loads(got.partition("--params ")[2])
    assert (wanted["format"], wanted["fields"]) == ("metadata", "internalDate,payload/headers")
    assert "Authentication-Results" in wanted["metadataHeaders"]
    asked = json.loads(listed.partition("--params ")[2].partition(" --page-all")[0])
    assert asked["q"] == f"is:unread after:{int((SINCE - timedelta(days=1)).timestamp())} (in:inbox)"
    assert not any(verb in line for verb in ("modify", "trash", "send") for line in gws.calls())


def test_the_query_is_the_owners(gws: Gws) -> None:
    read_one({**gws.table, "query": "label:work OR label:boss"})
    assert "(label:work OR label:boss)" in gws.calls("list")[0]


def test_no_mail_is_no_failure_and_silence_is_one(gws: Gws) -> None:
    documents: list[dict[str, Any]] = [{"resultSizeEstimate": 0}, {}, {"messages": []}]
    for document in documents:
        gws.says("list", document)
        unread = read_one(gws.table)
        assert (unread.messages, unread.fault) == ((), "")
    gws.says("list")
    assert "it ended well and said nothing" in read_one(gws.table).fault
    gws.says("list", "No messages found.\n")
    assert "it ended well and said nothing" in read_one(gws.table).fault


def test_chatter_between_the_documents_and_several_pages_are_read(gws: Gws) -> None:
    gws.holds("a1", "a2")
    pages = [{"messages": [{"id": "a1"}], "nextPageToken": "t"}, {"messages": [{"id": "a2"}, {"id": "a1"}]}]
    gws.says("list", "Using keyring backend: keyring\n", pages[0], "\n", json.dumps(pages[1], indent=2))
    assert subjects(read_one(gws.table)) == ["Mail a1", "Mail a2"]


def test_a_mail_is_asked_for_once_and_forgotten_when_it_is_read(gws: Gws, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    gws.holds("a1", "a2")
    first = read_one(gws.table, cache=cache)
    gws.holds("a2", "a3")
    assert subjects(read_one(gws.table, cache=cache)) == ["Mail a2", "Mail a3"]
    assert len(gws.calls("get")) == 3
    gws.says("list", {"messages": [{"id": "a2"}]})
    kept = read_one(gws.table, cache=cache)
    assert kept.messages == (first.messages[1],)
    (path,) = (path for path in cache.rglob("*") if path.is_file())
    assert (path.stat().st_mode & 0o777, "Mail a1" in path.read_text()) == (0o600, False)


@pytest.mark.parametrize("text", ["", "[]", '{"a1": 1}', '{"a1": {"at": "x", "fields": []}}', "\0"])
def test_a_broken_cache_costs_nothing_but_time(gws: Gws, tmp_path: Path, text: str) -> None:
    gws.holds("a1")
    read_one(gws.table, cache=tmp_path / "cache")
    (path,) = (path for path in (tmp_path / "cache").rglob("*") if path.is_file())
    path.write_text(text)
    assert subjects(read_one(gws.table, cache=tmp_path / "cache")) == ["Mail a1"]


ERRORS = {
    1: ({"error": {"code": 403, "message": "canary", "reason": "notEnabled"}}, "1 (403 notEnabled); see whether"),
    2: ({"error": {"code": 401, "message": "canary", "reason": "authError"}}, "2 (401 authError); log in with gws"),
    3: ({"error": {"code": 400, "message": "canary", "reason": "badParams"}}, "3 (400 badParams); mend query"),
    4: ({"error": {"code": 500, "message": "canary"}}, "4 (500); see whether the network is up"),
    5: ({"error": {"message": "canary"}}, "5; try it by hand"),
    101: ("panicked at canary\n", "101; try it by hand"),
}  # fmt: skip


@pytest.mark.parametrize(("status", "says"), ERRORS.items())
def test_an_error_is_told_with_what_to_do(gws: Gws, status: int, says: tuple[Any, str]) -> None:
    gws.says("list", says[0], status=status)
    unread = read_one(gws.table)
    assert unread.messages == ()
    assert f"cannot use gws: it ended with {says[1]}" in unread.fault
    assert "canary" not in unread.fault


def test_an_error_that_ends_well_is_one_still(gws: Gws) -> None:
    gws.says("list", {"error": {"code": 429, "reason": "rate\x1b[2J\u202eLimit"}})
    fault = read_one(gws.table).fault
    assert "429 rate[2JLimit" in fault
    assert fault.isprintable()


def test_a_mail_that_is_gone_meanwhile_is_no_fault_and_one_that_cannot_be_had_is(gws: Gws) -> None:
    gws.holds("a1", "a2", "a3", "a4")
    gws.says("get-a2", {"error": {"code": 404, "reason": "notFound"}}, status=1)
    unread = read_one(gws.table)
    assert (subjects(unread), unread.fault) == (["Mail a1", "Mail a3", "Mail a4"], "")
    gws.says("get-a3", {"error": {"code": 500, "reason": "backendError"}}, status=1)
    gws.says("get-a4", {"payload": {}})
    unread = read_one(gws.table)
    assert subjects(unread) == ["Mail a1"]
    assert "(500 backendError)" in unread.fault
    assert unread.fault.endswith("(and 1 more)")


@pytest.mark.parametrize("text", ["<html>{nonsense", "{" * 100_000, '{"messages": 3}', '{"messages": [1, {}]}'])
def test_an_answer_that_is_none_is_a_fault_or_no_mail_but_no_crash(gws: Gws, text: str) -> None:
    gws.says("list", text)
    unread = read_one(gws.table)
    assert unread.messages == ()
    assert unread.fault == "" or unread.fault.startswith("cannot ")


def quick(gws: Gws, folder: Path, count: int) -> dict[str, Any]:
    """So many mails; the stub itself would take its time for hundreds of calls."""
    program = folder / "quick"
    program.write_text(
        f'#!/bin/sh\necho "$*" >> "{gws.folder}/calls"\n'
        f'[ "$4" = list ] && exec cat "{gws.folder}/list"\nexec cat "{gws.folder}/any"\n'
    )
    program.chmod(0o755)
    gws.says("any", header("x"))
    gws.says("list", {"messages": [{"id": f"a{number}"} for number in range(count)]})
    return {**gws.table, "program": str(program)}


@pytest.mark.parametrize(("count", "fault"), [(10, ""), (11, "cannot look at more than the newest 10 unread mails")])
def test_so_many_mails_are_looked_at_and_no_more(
    gws: Gws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, fault: str
) -> None:
    monkeypatch.setattr(gmail, "MOST", 10)
    unread = read_one(quick(gws, tmp_path, count))
    assert len(unread.messages) == 10
    assert unread.fault.startswith(fault)
    assert bool(unread.fault) == bool(fault)


def test_two_thousand_are_listed(gws: Gws) -> None:
    read_one(gws.table)
    (listed,) = gws.calls("list")
    assert '"maxResults": 500' in listed
    assert listed.endswith("--page-limit 4")


def test_so_many_new_ones_are_asked_for_at_once_and_the_rest_next_time(
    gws: Gws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gmail, "MOST_NEW", 4)
    table = quick(gws, tmp_path, 10)
    seen = []
    for _ in range(4):
        before = len(gws.calls("get")) if (gws.folder / "calls").exists() else 0
        unread = read_one(table, cache=tmp_path / "cache")
        asked = gws.calls("get")[before:]
        seen.append((len(unread.messages), len(asked), unread.fault.partition(";")[0]))
        assert all(f'"a{number}"' in "".join(asked) for number in range(before, before + len(asked)))
    assert seen == [
        (4, 4, "6 older unread mails are looked at next time"),
        (8, 4, "2 older unread mails are looked at next time"),
        (10, 2, ""),
        (10, 0, ""),
    ]


@pytest.mark.parametrize(("more", "kept"), [(0, 2), (1, 1)])
def test_so_much_of_a_header_is_kept(gws: Gws, more: int, kept: int) -> None:
    gws.holds("a1")
    fields = [{"name": "From", "value": "a@b.c"}, {"name": "Subject", "value": "x" * (gmail.LONGEST - 5 + more)}]
    gws.says("get-a1", header("a1") | {"payload": {"headers": fields}})
    (message,) = read_one(gws.table).messages
    assert len(message.fields) == kept


def test_a_tool_that_hangs_is_ended_and_what_was_read_stays(gws: Gws, tmp_path: Path) -> None:
    gws.holds("a1", "a2")
    (gws.folder / "get-a2.slow").write_text("600")
    unread = read_one(gws.table, seconds=2, cache=tmp_path / "cache")
    assert subjects(unread) == ["Mail a1"]
    assert "not done in" in unread.fault
    os.unlink(gws.folder / "get-a2.slow")
    assert subjects(read_one(gws.table, cache=tmp_path / "cache")) == ["Mail a1", "Mail a2"]
    assert len([line for line in gws.calls("get") if '"a1"' in line]) == 1


def test_a_missing_tool_is_told(gws: Gws) -> None:
    assert read_one({**gws.table, "program": "gws-canary"}).fault.startswith("cannot start gws-canary: no such program")
