"""Calendars at http addresses, against a real server: what is told, what is kept, and that nothing hangs or leaks."""

from __future__ import annotations

import gzip
import json
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest
import tenacity

from heartbeat.paths import share
from heartbeat.sources import SourceFailed, fetch
from heartbeat.sources.cache import Answer, AnswerCache
from heartbeat.sources.calendars import Seen, Source, read_calendars
from heartbeat.sources.lookahead import Window

SCRIPT = share("jobs") / "calendar_lookahead.py"
NOW = datetime(2026, 6, 10, 7, 45, tzinfo=UTC)
MIB = 1024 * 1024


def ics(*titles: str) -> bytes:
    events = "".join(
        f"BEGIN:VEVENT\r\nUID:{title}\r\nDTSTART:20260610T080000Z\r\nSUMMARY:{title}\r\nEND:VEVENT\r\n"
        for title in titles
    )
    return f"BEGIN:VCALENDAR\r\n{events}END:VCALENDAR\r\n".encode()


class Handler(BaseHTTPRequestHandler):
    """Answers as the test says, and remembers what was asked."""

    server: Server

    def do_GET(self) -> None:
        self.server.asked.append((self.path, dict(self.headers)))
        self.server.play(self)

    def log_message(self, *_: object) -> None:
        pass

    def reply(self, code: int = 200, body: bytes = b"", **headers: str) -> None:
        self.send_response(code)
        for name, value in {"content_length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.over = threading.Event()
        self.play: Play = lambda handler: handler.reply(body=ics("One"))

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is part of these tests."""

    def address(self, path: str = "/cal.ics", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.server_port}{path}"


Play = Callable[[Handler], None]
Answers = dict[str, Any]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(fetch, "_growing", tenacity.wait_none())  # the pauses between tries are not the matter here
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def cache(tmp_path: Path) -> AnswerCache:
    return AnswerCache(str(tmp_path))


def read(server: Server, cache: AnswerCache, now: datetime = NOW, path: str = "/cal.ics") -> Seen:
    window = Window(now, now + timedelta(minutes=30), ZoneInfo("Europe/Berlin"))
    ((_, seen),) = read_calendars([Source("feed", "url", server.address(path))], window, cache)
    return seen


def titles(seen: Seen) -> list[str]:
    return [instance.event.title for instance in seen.reading.instances] if seen.reading else []


def get(server: Server, path: str = "/cal.ics", *, seconds: float = 20.0) -> Answer | SourceFailed:
    return fetch.fetch_all({"feed": fetch.Request(server.address(path))}, NOW, seconds)["feed"]


def failure(server: Server, path: str = "/cal.ics", *, seconds: float = 20.0) -> str:
    answer = get(server, path, seconds=seconds)
    assert isinstance(answer, SourceFailed)
    assert "cal.ics" not in str(answer)
    return str(answer)


def plays(*answers: Answers) -> Play:
    """Each answer in turn, the last one for ever."""
    left = list(answers)
    return lambda handler: handler.reply(**(left.pop(0) if len(left) > 1 else left[0]))


# Answers and the copies kept of them


def test_an_address_is_read(server: Server, cache: AnswerCache) -> None:
    seen = read(server, cache)
    assert titles(seen) == ["One"]
    assert seen.fault == ""
    _, headers = server.asked[0]
    assert headers["Accept-Encoding"] == "identity"
    assert headers["User-Agent"].startswith("heartbeat/")
    assert "If-None-Match" not in headers


@pytest.mark.parametrize(
    ("validator", "question"),
    [({"etag": '"v1"'}, "If-None-Match"), ({"last_modified": "Wed, 10 Jun 2026 07:00:00 GMT"}, "If-Modified-Since")],
)
def test_an_unchanged_answer_is_taken_from_the_copy(
    server: Server, cache: AnswerCache, validator: dict[str, str], question: str
) -> None:
    server.play = plays({"body": ics("One"), **validator}, {"code": 304})
    assert titles(read(server, cache)) == ["One"]
    seen = read(server, cache, NOW + timedelta(minutes=10))
    assert (titles(seen), seen.fault) == (["One"], "")
    assert server.asked[1][1][question] == next(iter(validator.values()))
    server.play = plays({"code": 404})
    assert "its copy from 5m ago was read" in read(server, cache, NOW + timedelta(minutes=15)).fault


def test_a_changed_answer_replaces_the_copy(server: Server, cache: AnswerCache) -> None:
    server.play = plays({"body": ics("One"), "etag": "1"}, {"body": ics("Two"), "etag": "2"}, {"code": 500})
    assert titles(read(server, cache)) == ["One"]
    assert titles(read(server, cache)) == ["Two"]
    assert titles(read(server, cache)) == ["Two"]


def test_a_304_without_a_copy_is_a_failure(server: Server, cache: AnswerCache) -> None:
    server.play = plays({"code": 304})
    assert "the server answers 304" in read(server, cache).fault


def test_a_copy_is_private_and_names_no_address(server: Server, cache: AnswerCache, tmp_path: Path) -> None:
    server.play = plays({"body": ics("One"), "etag": "v1"})
    read(server, cache, path="/canary/cal.ics")
    (path,) = (tmp_path / "answers").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert b"canary" not in path.read_bytes() + path.name.encode()


@pytest.mark.parametrize("damage", [b"", b"{}\n", b"not json\n", b'{"etag":"","last_modified":"","size":9}\nshort'])
def test_a_damaged_copy_is_no_copy(server: Server, cache: AnswerCache, tmp_path: Path, damage: bytes) -> None:
    read(server, cache)
    (path,) = (tmp_path / "answers").iterdir()
    path.write_bytes(damage)
    server.play = plays({"code": 404})
    assert read(server, cache).reading is None


def test_without_a_folder_to_write_nothing_is_kept_and_all_is_told(server: Server, tmp_path: Path) -> None:
    (tmp_path / "answers").write_text("in the way")
    for cache in (AnswerCache(None), AnswerCache(str(tmp_path))):
        assert titles(read(server, cache)) == ["One"]


BAD_ANSWERS = [
    pytest.param({"code": 404}, "the server answers 404, nothing is there", id="404"),
    pytest.param({"code": 401}, "the server answers 401, it wants other credentials", id="401"),
    pytest.param({"code": 403}, "the server answers 403, access is refused", id="403"),
    pytest.param({"code": 410}, "the server answers 410, it is gone", id="410"),
    pytest.param({"code": 204}, "the server answers 204, this is no calendar", id="204"),
    pytest.param({"code": 206, "body": ics("Part")}, "the server answers 206", id="206"),
    pytest.param({"body": b""}, "it is nothing, not a calendar", id="empty"),
    pytest.param({"body": b"<html>Please log in</html>"}, "it is a web page, not a calendar", id="login page"),
    pytest.param({"body": b"sorry"}, "it is something else, not a calendar", id="text"),
    pytest.param({"body": b"x", "content_encoding": "br"}, "packed in a way nobody asked for", id="brotli"),
    pytest.param({"body": b"xxxx", "content_encoding": "gzip"}, "packed wrongly", id="not gzip"),
    pytest.param({"code": 302, "location": "ftp://127.0.0.1/cal.ics"}, "cannot use the address", id="another scheme"),
    pytest.param(
        {"code": 302, "location": "http://[::1/cal.ics"}, "cannot fetch: RemoteProtocolError", id="a broken redirect"
    ),
]


@pytest.mark.parametrize(("bad", "why"), BAD_ANSWERS)
def test_a_bad_answer_is_a_failure_and_the_last_good_one_stands_in(
    server: Server, tmp_path: Path, bad: Answers, why: str
) -> None:
    empty, cache = AnswerCache(None), AnswerCache(str(tmp_path))
    assert read(server, cache).fault == ""
    server.play = plays(bad)
    alone, covered = read(server, empty), read(server, cache, NOW + timedelta(minutes=10))
    assert alone.reading is None
    assert why in alone.fault
    assert titles(covered) == ["One"]
    assert covered.fault == f"{alone.fault}; its copy from 10m ago was read"
    assert "cal.ics" not in covered.fault


def test_a_cut_calendar_is_filled_up_from_the_copy_and_does_not_replace_it(server: Server, cache: AnswerCache) -> None:
    server.play = plays({"body": ics("One", "Two")}, {"body": ics("One", "Three", "Four")[:-60]})
    read(server, cache)
    for _ in range(2):
        seen = read(server, cache)
        assert sorted(titles(seen)) == ["One", "Three", "Two"]
        assert seen.reading is not None
        assert not seen.reading.whole


# Trying again


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_server_in_trouble_is_asked_again(server: Server, code: int) -> None:
    server.play = plays({"code": code}, {"body": ics("One")})
    assert isinstance(get(server), Answer)
    assert len(server.asked) == 2


def test_after_three_tries_the_fetch_is_given_up(server: Server) -> None:
    server.play = plays({"code": 500, "retry_after": "0"})
    assert failure(server) == "cannot fetch: the server answers 500; it may be over later"
    assert len(server.asked) == 3


def test_a_server_that_asks_for_more_time_than_there_is_is_not_asked_again(server: Server) -> None:
    server.play = plays({"code": 429, "retry_after": "3600"})
    assert "answers 429" in failure(server)
    assert len(server.asked) == 1


@pytest.mark.parametrize("code", [401, 404])
def test_a_refusal_is_not_asked_again(server: Server, code: int) -> None:
    server.play = plays({"code": code})
    failure(server)
    assert len(server.asked) == 1


def test_an_answer_that_ends_early_is_asked_for_again(server: Server) -> None:
    server.play = plays({"body": ics("One"), "content_length": "9999"}, {"body": ics("One")})
    assert isinstance(get(server), Answer)


def test_a_closed_port_is_a_failure(server: Server) -> None:
    address = server.address().replace(str(server.server_port), "9")
    answer = fetch.fetch_all({"feed": fetch.Request(address)}, NOW)["feed"]
    assert str(answer) == "cannot fetch: ConnectError; see whether the server and the network are up"


# Time and size


def drip_body(handler: Handler) -> None:
    handler.send_response(200)
    handler.end_headers()
    while not handler.server.over.wait(0.05):
        handler.wfile.write(b"X")


def drip_headers(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not handler.server.over.wait(0.05):
        handler.wfile.write(b"X")


def say_nothing(handler: Handler) -> None:
    handler.server.over.wait(30)


@pytest.mark.parametrize("play", [drip_body, drip_headers, say_nothing])
def test_no_server_holds_the_script_longer_than_the_deadline(server: Server, play: Play) -> None:
    server.play = play
    started = time.monotonic()
    requests = {str(number): fetch.Request(server.address()) for number in range(4)}
    answers = fetch.fetch_all(requests, NOW, seconds=0.5)
    assert time.monotonic() - started < 5
    assert all(isinstance(answer, SourceFailed) for answer in answers.values())


def test_a_slow_address_does_not_cost_a_fast_one(server: Server) -> None:
    server.play = lambda handler: say_nothing(handler) if "slow" in handler.path else handler.reply(body=ics("One"))
    requests = {name: fetch.Request(server.address(f"/{name}")) for name in ("slow", "fast")}
    answers = fetch.fetch_all(requests, NOW, seconds=2)
    assert isinstance(answers["slow"], SourceFailed)
    assert isinstance(answers["fast"], Answer)


@pytest.mark.parametrize("packing", ["identity", "gzip"])
@pytest.mark.parametrize("extra", [0, 1])
def test_an_answer_of_20_mib_is_taken_and_no_larger_one(server: Server, packing: str, extra: int) -> None:
    body = b"X" * (20 * MIB + extra)
    server.play = plays({"body": gzip.compress(body, 1) if packing == "gzip" else body, "content_encoding": packing})
    answer = get(server)
    if extra:
        assert "over 20 MiB" in str(answer)
    else:
        assert isinstance(answer, Answer)
        assert answer.body == body


def test_an_answer_packed_unasked_is_unpacked(server: Server) -> None:
    server.play = plays({"body": gzip.compress(ics("One")), "content_encoding": "gzip"})
    answer = get(server)
    assert isinstance(answer, Answer)
    assert answer.body == ics("One")


# Redirects and credentials


def hops(count: int, host: str = "127.0.0.1") -> Play:
    def play(handler: Handler) -> None:
        number = int(handler.path.rpartition("/")[2] or 0)
        if number < count:
            handler.reply(302, location=handler.server.address(f"/hop/{number + 1}", host))
        else:
            handler.reply(body=ics("One"))

    return play


@pytest.mark.parametrize(("count", "allowed"), [(1, True), (5, True), (6, False), (10_000, False)])
def test_five_redirects_are_followed_and_no_more(server: Server, count: int, allowed: bool) -> None:
    server.play = hops(count)
    answer = get(server, "/hop/0")
    assert isinstance(answer, Answer) is allowed
    assert allowed or str(answer) == "cannot fetch: more than 5 redirects; ask its owner for the right address"


def test_a_relative_redirect_is_followed(server: Server) -> None:
    server.play = lambda h: h.reply(301, location="new.ics") if h.path == "/a/old" else h.reply(body=ics("One"))
    assert isinstance(get(server, "/a/old"), Answer)
    assert server.asked[1][0] == "/a/new.ics"


@pytest.mark.parametrize(("host", "sent"), [("127.0.0.1", True), ("localhost", False)])
def test_credentials_stay_with_the_host_they_were_given_for(server: Server, host: str, sent: bool) -> None:
    server.play = hops(1, host)
    address = server.address("/hop/0", "me:secret@127.0.0.1")
    assert isinstance(fetch.fetch_all({"feed": fetch.Request(address)}, NOW)["feed"], Answer)
    assert server.asked[0][1]["Authorization"].startswith("Basic ")
    assert ("Authorization" in server.asked[1][1]) is sent


def test_credentials_of_a_redirect_are_not_used(server: Server) -> None:
    server.play = hops(1, "eve:x@localhost")
    assert isinstance(get(server, "/hop/0"), Answer)
    assert "Authorization" not in server.asked[1][1]


def test_a_redirect_from_https_to_http_is_refused() -> None:
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(302, headers={"location": "http://example.org/plain"})

    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        errand = fetch._Errand(fetch.Request("webcal://example.org/cal"), client, NOW, time.monotonic() + 5)
        with pytest.raises(SourceFailed, match="redirects to an unprotected address"):
            fetch._fetch(errand)
    assert asked == ["https://example.org/cal"]


@pytest.mark.parametrize(
    "address", ["", "cal.ics", "ftp://example.org/x", "https://", "https:///x", "http://[::1", "file:///etc/passwd"]
)
def test_what_is_no_address_is_refused_without_being_quoted(address: str) -> None:
    with pytest.raises(SourceFailed, match="cannot use the address; write it like https://host/path"):
        fetch.host_of(address)


# The script itself


def run_script(options: dict[str, Any], cache: Path) -> subprocess.CompletedProcess[bytes]:
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HEARTBEAT_NOW": NOW.isoformat(),
        "HEARTBEAT_CACHE_DIR": str(cache),
        "HEARTBEAT_OPTIONS": json.dumps(options),
    }
    return subprocess.run([SCRIPT], env=environment, capture_output=True, check=True)


def test_the_script_writes_no_part_of_an_address_anywhere(server: Server, tmp_path: Path) -> None:
    def play(handler: Handler) -> None:
        code = int(handler.path.split("/")[1])
        handler.reply(code, ics("One") if code == 200 else b"", location="/200/canary", retry_after="0")

    server.play = play
    paths = [f"/{code}/canary.ics?key=canary" for code in (200, 302, 404, 500)]
    addresses = [server.address(path, "canary:canary@127.0.0.1") for path in paths]
    addresses += ["http://canary:canary@127.0.0.1:9/canary", "ftp://canary/canary"]
    done = run_script({"sources": [{"url": address} for address in addresses]}, tmp_path)
    written = (
        done.stdout
        + done.stderr
        + b"".join(
            name.encode() + path.read_bytes()
            for folder, _, names in os.walk(tmp_path)
            for name in names
            for path in [Path(folder) / name]
        )
    )
    assert b"canary" not in written
    gate = json.loads(done.stdout)
    assert [source["ok"] for source in gate["sources"]] == [True, True, False, False, False, False]
    assert [source["name"] for source in gate["sources"][:2]] == ["127.0.0.1", "127.0.0.1 2"]
    assert len(gate["findings"]) == 2


@pytest.mark.parametrize("kind", ["file", "url"])
def test_httpx_is_loaded_only_for_an_address(tmp_path: Path, kind: str) -> None:
    (tmp_path / "me.ics").write_bytes(ics("One"))
    place = str(tmp_path / "me.ics") if kind == "file" else "http://127.0.0.1:9/"
    program = f"""
import atexit, runpy, sys
atexit.register(lambda: print("httpx" in sys.modules, file=sys.stderr))
runpy.run_path({str(SCRIPT)!r}, run_name="__main__")
"""
    options = json.dumps({"sources": [{kind: place}]})
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={"HEARTBEAT_OPTIONS": options},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.strip() == str(kind == "url")
