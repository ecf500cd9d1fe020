"""Calendars at addresses, against a real server: what is told and kept, and that nothing of an address is written."""

from __future__ import annotations

import gzip
import json
import os
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import tenacity

from heartbeat.model import Gate, Source
from heartbeat.sources import fetch
from heartbeat.sources.calendars import url
from tests.doubles.feed import Answers, Handler, Play, Server, drip_body, drip_headers, hops, ics, plays, say_nothing
from tests.lookahead.support import NOW, SCRIPT, calendar, environment, event, tell
from tests.servers import make_certificate

FIVE = ("One", "Two", "Three", "Four", "Five")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(fetch, "_growing", tenacity.wait_none())  # the pauses between tries are not the matter here
    with Server().running() as server:
        yield server


@dataclass
class Feed:
    """The script, with one address as its source."""

    server: Server
    cache: Path
    settings: dict[str, Any] = field(default_factory=dict)

    def read(self, minutes: float = 0, path: str = "/cal.ics", cache: Path | None = None) -> Gate:
        sources = [{"url": self.server.address(path), **self.settings}]
        return tell({"sources": sources}, NOW + timedelta(minutes=minutes), cache=cache or self.cache)

    def titles(self, minutes: float = 0) -> list[str]:
        return sorted(finding.title for finding in self.read(minutes).findings)

    def message(self, minutes: float = 0) -> str:
        source = self.state(minutes)
        assert not source.ok
        assert "cal.ics" not in source.message
        return source.message

    def state(self, minutes: float = 0) -> Source:
        (source,) = self.read(minutes).sources
        return source


@pytest.fixture
def feed(server: Server, tmp_path: Path) -> Feed:
    return Feed(server, tmp_path / "cache")


def test_an_address_is_read(feed: Feed, server: Server) -> None:
    assert feed.titles() == ["One"]
    assert feed.state().ok
    _, headers = server.asked[0]
    assert headers["Accept-Encoding"] == "identity"
    assert headers["User-Agent"].startswith("heartbeat/")
    assert "If-None-Match" not in headers


def test_a_user_and_a_password_may_be_given_beside_the_address(
    feed: Feed, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAL_PW", "canary")
    feed.settings = {"user": "me", "password": {"env": "CAL_PW"}}
    assert feed.titles() == ["One"]
    assert server.asked[0][1]["Authorization"] == "Basic bWU6Y2FuYXJ5"


# What has not changed


@pytest.mark.parametrize(
    ("validator", "question"),
    [({"etag": '"v1"'}, "If-None-Match"), ({"last_modified": "Wed, 10 Jun 2026 07:00:00 GMT"}, "If-Modified-Since")],
)
def test_an_unchanged_answer_is_taken_from_the_copy_without_a_worker(
    feed: Feed, server: Server, workers: list[int], validator: dict[str, str], question: str
) -> None:
    server.play = plays({"body": ics("One"), **validator}, {"code": 304})
    assert feed.titles() == feed.titles(10) == ["One"]
    assert server.asked[1][1][question] == next(iter(validator.values()))
    assert workers == [1]
    server.play = plays({"code": 404})
    assert "its copy from 5m ago was read" in feed.message(15)


def test_the_same_answer_without_validators_is_not_expanded_again(
    feed: Feed, server: Server, workers: list[int]
) -> None:
    def stamped(minute: int) -> bytes:
        return ics("One").replace(b"UID:", f"DTSTAMP:20260610T07{minute:02}00Z\r\nUID:".encode())

    server.play = plays({"body": stamped(1)}, {"body": stamped(2)}, {"body": stamped(2) + ics("Two")})
    assert feed.titles() == feed.titles(10) == ["One"]
    assert workers == [1]
    assert feed.titles(14) == ["One", "Two"]
    assert workers == [1, 1]


def test_a_changed_answer_replaces_the_copy(feed: Feed, server: Server) -> None:
    server.play = plays({"body": ics("One"), "etag": "1"}, {"body": ics("Two"), "etag": "2"}, {"code": 500})
    assert [feed.titles(minute) for minute in range(3)] == [["One"], ["Two"], ["Two"]]
    assert [headers.get("If-None-Match") for _, headers in server.asked[:3]] == [None, "1", "2"]


def test_a_304_to_a_question_without_validators_is_a_failure(feed: Feed, server: Server) -> None:
    server.play = plays({"body": ics("One")}, {"code": 304})
    assert feed.titles() == ["One"]
    assert "unchanged to a first question" in feed.message(10)


def test_a_304_to_a_first_question_is_a_failure(feed: Feed, server: Server) -> None:
    server.play = plays({"code": 304})
    assert "it says unchanged to a first question" in feed.message()


@pytest.mark.parametrize("validator", ["é", "a\tb", "x" * 1001])
def test_a_validator_that_cannot_be_sent_back_is_not_kept(feed: Feed, server: Server, validator: str) -> None:
    server.play = plays({"body": ics("One"), "etag": validator})
    assert feed.titles() == feed.titles(1) == ["One"]
    assert "If-None-Match" not in server.asked[1][1]


def test_an_answer_that_was_cut_is_asked_for_without_its_validators(feed: Feed, server: Server) -> None:
    whole = ics("One", "Two")
    server.play = plays({"body": whole[:-60], "etag": "1"}, {"body": whole, "etag": "1"}, {"code": 304})
    assert feed.state().message == "the calendar is cut off; its whole events were read"
    assert feed.titles(1) == ["One", "Two"]
    assert "If-None-Match" not in server.asked[1][1]
    assert server.asked == server.asked[:2]


@pytest.mark.parametrize(
    ("change", "asks_anew"),
    [
        ({}, False),
        ({"zone": "Asia/Tokyo"}, True),
        ({"owner": "me@example.org"}, True),
        ({"now": NOW + timedelta(days=7)}, False),
        ({"now": NOW + timedelta(days=7, seconds=1)}, True),
        ({"now": NOW - timedelta(seconds=1)}, True),
    ],
    ids=["nothing", "the zone", "the owner", "the last day of the span", "the span is over", "a clock set back"],
)
def test_another_question_is_asked_anew(feed: Feed, server: Server, change: dict[str, Any], asks_anew: bool) -> None:
    server.play = plays({"body": ics("One"), "etag": "1"})
    feed.read()
    tell({"sources": [{"url": server.address()}]}, **{"cache": feed.cache, **change})
    assert ("If-None-Match" not in server.asked[1][1]) is asks_anew


# The last good copy


BAD_ANSWERS = [
    pytest.param({"code": 404}, "the server answers 404, nothing is there", id="404"),
    pytest.param({"code": 401}, "the server answers 401, it wants other credentials", id="401"),
    pytest.param({"code": 403}, "the server answers 403, access is refused", id="403"),
    pytest.param({"code": 410}, "the server answers 410, it is gone", id="410"),
    pytest.param({"code": 429}, "the server answers 429; it may be over later", id="429"),
    pytest.param({"code": 500, "body": b"<html>oops</html>"}, "the server answers 500; it may be over later", id="500"),
    pytest.param({"code": 204}, "the server answers 204", id="204"),
    pytest.param({"code": 206, "body": ics("Part")}, "the server answers 206", id="206"),
    pytest.param({"body": b""}, "it is nothing, not a calendar", id="empty"),
    pytest.param({"body": b"<html>Please log in</html>"}, "it is a web page, not a calendar", id="login page"),
    pytest.param({"body": b"sorry"}, "it is something else, not a calendar", id="text"),
    pytest.param({"body": b"x", "content_encoding": "br"}, "packed in a way nobody asked for", id="brotli"),
    pytest.param({"body": b"xxxx", "content_encoding": "gzip"}, "packed wrongly", id="not gzip"),
    pytest.param({"body": ics("One"), "content_length": "9999"}, "cannot fetch: RemoteProtocolError", id="short"),
    pytest.param({"code": 302, "location": "ftp://127.0.0.1/cal.ics"}, "cannot use the address", id="another scheme"),
    pytest.param({"code": 302, "location": "/cal.ics"}, "more than 5 redirects", id="redirected in a circle"),
]


@pytest.mark.parametrize(("bad", "why"), BAD_ANSWERS)
def test_a_bad_answer_is_a_failure_and_the_last_good_one_stands_in(
    feed: Feed, server: Server, tmp_path: Path, bad: Answers, why: str
) -> None:
    assert feed.titles() == ["One"]
    server.play = plays(bad)
    (alone,) = feed.read(10, cache=tmp_path / "empty").sources
    covered = feed.read(10)
    assert (alone.ok, alone.items) == (False, 0)
    assert why in alone.message
    assert [finding.title for finding in covered.findings] == ["One"]
    assert covered.sources[0] == Source("127.0.0.1", False, 1, f"{alone.message}; its copy from 10m ago was read")
    assert "cal.ics" not in alone.message
    server.play = plays({"body": ics("One")})
    assert feed.state(11) == Source("127.0.0.1", True, 1, "")


@pytest.mark.parametrize("play", [drip_body, drip_headers, say_nothing, hops(10_000)])
def test_a_server_that_never_answers_costs_its_time_and_no_other_source(
    feed: Feed, server: Server, monkeypatch: pytest.MonkeyPatch, play: Play
) -> None:
    feed.read()
    monkeypatch.setattr(url, "SECONDS", 0.5)
    server.play = lambda handler: (play if "bad" in handler.path or "hop" in handler.path else well)(handler)
    sources = [{"url": server.address("/bad")}, {"url": server.address()}]
    started = time.monotonic()
    gate = tell({"sources": sources}, cache=feed.cache)
    assert time.monotonic() - started < 10
    assert [source.ok for source in gate.sources] == [False, True]
    assert [finding.title for finding in gate.findings] == ["One"]


def well(handler: Handler) -> None:
    handler.reply(body=ics("One"))


def test_a_host_without_a_name_or_a_port_without_a_server_is_a_failure_that_names_no_address(tmp_path: Path) -> None:
    sources = [{"url": "https://no-such-host.invalid/canary"}, {"url": "http://127.0.0.1:9/canary"}]
    gate = tell({"sources": sources}, cache=tmp_path)
    why = "cannot fetch: ConnectError; see whether the server and the network are up"
    assert gate.sources == (
        Source("no-such-host.invalid", False, 0, why),
        Source("127.0.0.1", False, 0, why),
    )


def test_a_certificate_must_be_trusted_and_can_be(server: Server, tmp_path: Path) -> None:
    make_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    address = f"webcal://localhost:{server.server_port}/cal.ics"
    sources = [{"url": address}, {"url": address, "ca_file": str(tmp_path / "server.pem")}]
    gate = tell({"sources": sources})
    assert [source.ok for source in gate.sources] == [False, True]
    assert "its certificate is not trusted" in gate.sources[0].message


def test_an_answer_that_unpacks_to_more_than_allowed_is_a_failure(feed: Feed, server: Server) -> None:
    server.play = plays({"body": gzip.compress(bytes(51 * 1024 * 1024)), "content_encoding": "gzip"})
    assert feed.message() == "cannot fetch: the answer is over 50 MiB; ask for less, or split it"


def test_a_cut_calendar_is_filled_up_from_the_copy_for_a_day(feed: Feed, server: Server) -> None:
    daily = calendar(event("DTSTART:20260601T081000Z", "RRULE:FREQ=DAILY", "SUMMARY:Daily", uid="daily"))
    whole = daily.encode() + ics("One", "Two")
    server.play = plays({"body": whole}, {"body": ics("One", "Three", "Four")[:-60]})
    feed.read()
    for minutes in (5, 10):
        gate = feed.read(minutes)
        assert sorted(finding.title for finding in gate.findings) == ["Daily", "One", "Three", "Two"]
        assert gate.sources[0].message == (
            "the calendar is cut off; its whole events were read; "
            f"what is missing was taken from its copy from {minutes}m ago"
        )
    assert feed.titles(24 * 60) == ["Daily"]
    assert feed.titles(24 * 60 + 1) == []


# Everything gone


def test_a_calendar_that_lost_all_of_its_many_events_is_believed_the_third_time(feed: Feed, server: Server) -> None:
    server.play = plays({"body": ics(*FIVE)}, {"body": ics()})
    feed.read()
    for minutes in (1, 2):
        assert feed.titles(minutes) == sorted(FIVE)
    server.play = plays({"code": 404})
    assert "its copy from 3m ago was read" in feed.message(3)
    server.play = plays({"body": ics()})
    assert feed.titles(4) == []
    assert feed.state(5).ok


def test_the_doubt_says_what_it_does(feed: Feed, server: Server) -> None:
    server.play = plays({"body": ics(*FIVE)}, {"body": ics()})
    feed.read()
    assert feed.message(1) == ("cannot believe yet that all of its events are gone; its copy from 1m ago was read")


def test_a_doubt_ends_with_the_return_of_the_events(feed: Feed, server: Server) -> None:
    good, empty = {"body": ics(*FIVE)}, {"body": ics()}
    server.play = plays(good, empty, empty, good, empty, empty, empty)
    counts = [len(feed.titles(minutes)) for minutes in range(7)]
    assert counts == [5, 5, 5, 5, 5, 5, 0]


def test_a_calendar_of_few_events_may_lose_them_at_once(feed: Feed, server: Server) -> None:
    server.play = plays({"body": ics(*FIVE[:4])}, {"body": ics()})
    assert len(feed.titles()) == 4
    assert feed.titles(1) == []


# Waiting


def test_a_server_that_wants_to_be_left_alone_is_left_alone_over_runs(feed: Feed, server: Server) -> None:
    server.play = plays({"body": ics("One")}, {"code": 429, "retry_after": "1800"}, {"body": ics("One", "Two")})
    feed.read()
    assert feed.message(10) == (
        "cannot fetch: the server answers 429; it may be over later; it is asked again at 10:25; "
        "its copy from 10m ago was read"
    )
    assert feed.message(39.9) == (
        "cannot fetch: its server wants no question before 10:25; its copy from 39m ago was read"
    )
    assert len(server.asked) == 2
    assert feed.state(40).ok
    assert len(server.asked) == 3


def test_no_server_is_left_alone_for_longer_than_a_day(feed: Feed, server: Server) -> None:
    server.play = plays({"code": 503, "retry_after": "999999"}, {"body": ics("One")})
    feed.message()
    assert feed.message(24 * 60 - 1)
    assert feed.state(24 * 60).ok


# The cupboard


def written(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for path in sorted(folder.rglob("*")):
        yield path, str(path.relative_to(folder)).encode() + (path.read_bytes() if path.is_file() else b"")


def test_what_is_kept_is_private_and_names_no_address(feed: Feed, server: Server) -> None:
    server.play = plays({"body": ics("One"), "etag": "v1"})
    feed.settings = {"user": "canary", "password": "canary"}
    feed.read(path="/canary/cal.ics")
    kept = dict(written(feed.cache))
    assert len(kept) == 2
    assert b"canary" not in b"".join(kept.values())
    for path in kept:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


@pytest.mark.parametrize(
    "damage", [b"", b"{}\n", b"[]", b"null", b"not json\n", b'{"copy": 1, "question": 2}', b"\xff", b"[" * 100_000]
)
def test_what_is_kept_and_damaged_is_as_good_as_nothing(feed: Feed, server: Server, damage: bytes) -> None:
    feed.read()
    (path,) = [path for path in feed.cache.rglob("*") if path.is_file()]
    path.write_bytes(damage)
    assert feed.state(1) == Source("127.0.0.1", True, 1, "")
    assert feed.state(2).ok


def test_without_a_folder_to_write_nothing_is_kept_and_all_is_told(feed: Feed, server: Server) -> None:
    feed.cache.write_text("in the way")
    assert feed.titles() == feed.titles(1) == ["One"]
    server.play = plays({"code": 404})
    assert "copy" not in feed.message(2)


# The script itself


def run_script(options: dict[str, Any], cache: Path, now: datetime = NOW) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([SCRIPT], env=environment(options, now, cache=cache), capture_output=True, check=True)


def test_the_script_writes_no_part_of_an_address_anywhere(server: Server, tmp_path: Path) -> None:
    def play(handler: Handler) -> None:
        code = int(handler.path.split("/")[1])
        handler.reply(code, ics("One") if code == 200 else b"", location="/200/canary", retry_after="0")

    server.play = play
    paths = [f"/{code}/canary.ics?key=canary" for code in (200, 302, 404, 500)]
    addresses = [server.address(path, "canary:canary@127.0.0.1") for path in paths]
    addresses += ["http://canary:canary@127.0.0.1:9/canary", "ftp://canary/canary"]
    done = run_script({"sources": [{"url": address} for address in addresses]}, tmp_path)
    assert b"canary" not in done.stdout + done.stderr + b"".join(content for _, content in written(tmp_path))
    gate = json.loads(done.stdout)
    assert [source["ok"] for source in gate["sources"]] == [True, True, False, False, False, False]
    assert [source["name"] for source in gate["sources"][:2]] == ["127.0.0.1", "127.0.0.1 2"]
    assert len(gate["findings"]) == 1


@pytest.mark.parametrize("kind", ["file", "url"])
def test_the_script_loads_httpx_only_for_an_address_and_never_what_reads_calendars(
    server: Server, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "me.ics").write_bytes(ics("One"))
    heavy = ["httpx", "icalendar", "recurring_ical_events", "pydantic", "dateutil"]
    program = f"""
import atexit, runpy, sys
atexit.register(lambda: print([name for name in {heavy} if name in sys.modules], file=sys.stderr))
runpy.run_path({str(SCRIPT)!r}, run_name="__main__")
"""
    place = str(tmp_path / "me.ics") if kind == "file" else server.address()
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env=environment({"sources": [{kind: place}]}),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.strip() == str(["httpx"] if kind == "url" else [])
    assert '"title": "One"' in done.stdout


def test_nothing_is_lost_when_the_script_ends_at_any_point_and_is_started_again(server: Server, tmp_path: Path) -> None:
    """What is kept is replaced as a whole; a run that ended in between leaves the last copy, or nothing."""
    options = {"sources": [{"url": server.address()}]}
    first = run_script(options, tmp_path).stdout
    for path in [path for path in tmp_path.rglob("*") if path.is_file()]:
        path.with_name(f"{path.name}.{os.getpid()}").write_bytes(path.read_bytes()[:100])
    assert run_script(options, tmp_path).stdout == first
