"""Answers from addresses, against a real server: bounded in time and size, and no part of an address in a message."""

from __future__ import annotations

import gzip
import hashlib
import re
import ssl
import subprocess
import sys
import time
import tracemalloc
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
import tenacity

from heartbeat.sources import SourceFailed, answers, fetch
from heartbeat.sources.answers import FetchFailed, Response
from heartbeat.sources.fetch import Fetcher, Request
from tests.doubles.feed import Play, Server, drip_body, drip_headers, hops, ics, plays, say_nothing
from tests.servers import make_certificate

NOW = datetime(2026, 6, 10, 7, 45, tzinfo=UTC)
MIB = 1024 * 1024


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(fetch, "_growing", tenacity.wait_none())  # the pauses between tries are not the matter here
    with Server().running() as server:
        yield server


def ask(address: str, *, seconds: float = 20.0, **more: Any) -> Response | SourceFailed:
    with Fetcher(NOW) as fetcher:
        return fetcher.fetch_all({"feed": Request(address, **more)}, seconds)["feed"]


def get(server: Server, path: str = "/cal.ics", *, seconds: float = 20.0, **more: Any) -> Response | SourceFailed:
    return ask(server.address(path), seconds=seconds, **more)


def failure(server: Server, path: str = "/cal.ics", *, seconds: float = 20.0) -> FetchFailed:
    answer = get(server, path, seconds=seconds)
    assert isinstance(answer, FetchFailed)
    assert "cal.ics" not in str(answer)
    return answer


# Trying again


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_server_in_trouble_is_asked_again(server: Server, code: int) -> None:
    server.play = plays({"code": code}, {"body": ics("One")})
    assert isinstance(get(server), Response)
    assert len(server.asked) == 2


def test_after_three_tries_the_fetch_is_given_up(server: Server) -> None:
    server.play = plays({"code": 500, "retry_after": "0"})
    failed = failure(server)
    assert str(failed) == "cannot fetch: the server answers 500; it may be over later"
    assert (failed.status, failed.retry_after) == (500, 0.0)
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("3600", 3600.0),
        ("604800", 604800.0),
        ("604801", 604800.0),
        ("Wed, 10 Jun 2026 08:45:00 GMT", 3600.0),
        ("Wed, 10 Jun 2026 08:45:00 -0000", 3600.0),
        ("Wed, 10 Jun 2026 06:45:00 GMT", 0.0),
        ("soon", None),
        ("-1", None),
        ("", None),
        ("9" * 5000, 604800.0),
        ("Wed, 10 Jun 99999 08:45:00 GMT", None),
    ],
)
def test_retry_after_is_understood_in_each_of_its_forms_and_no_longer_than_a_week(
    asked: str, seconds: float | None
) -> None:
    assert answers.retry_after(asked, NOW) == seconds


def test_a_server_that_asks_for_more_time_than_there_is_is_not_asked_again(server: Server) -> None:
    server.play = plays({"code": 429, "retry_after": "3600"})
    failed = failure(server)
    assert (failed.status, failed.retry_after) == (429, 3600.0)
    assert len(server.asked) == 1


@pytest.mark.parametrize("code", [401, 404])
def test_a_refusal_is_not_asked_again(server: Server, code: int) -> None:
    server.play = plays({"code": code})
    failure(server)
    assert len(server.asked) == 1


def test_an_answer_that_ends_early_is_asked_for_again(server: Server) -> None:
    server.play = plays({"body": ics("One"), "content_length": "9999"}, {"body": ics("One")})
    assert isinstance(get(server), Response)


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/canary", "http://no-such-host.invalid/canary"])
def test_a_server_that_is_not_there_is_a_failure_that_names_no_address(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr(fetch, "_growing", tenacity.wait_none())
    assert str(ask(address)) == "cannot fetch: ConnectError; see whether the server and the network are up"


# Time and size


@pytest.mark.parametrize("play", [drip_body, drip_headers, say_nothing])
def test_no_server_holds_the_script_longer_than_the_deadline(server: Server, play: Play) -> None:
    server.play = play
    started = time.monotonic()
    requests = {str(number): Request(server.address()) for number in range(4)}
    with Fetcher(NOW) as fetcher:
        replies = fetcher.fetch_all(requests, 0.5)
    assert time.monotonic() - started < 5
    assert all(isinstance(reply, SourceFailed) for reply in replies.values())


def test_a_slow_address_does_not_cost_a_fast_one(server: Server) -> None:
    server.play = lambda handler: say_nothing(handler) if "slow" in handler.path else handler.reply(body=ics("One"))
    requests = {name: Request(server.address(f"/{name}")) for name in ("slow", "fast")}
    with Fetcher(NOW) as fetcher:
        replies = fetcher.fetch_all(requests, 2)
    assert isinstance(replies["slow"], SourceFailed)
    assert isinstance(replies["fast"], Response)


@pytest.mark.parametrize("packing", ["identity", "gzip"])
@pytest.mark.parametrize("extra", [0, 1])
def test_an_answer_of_the_size_allowed_is_taken_and_no_larger_one(server: Server, packing: str, extra: int) -> None:
    body = b"X" * (MIB + extra)
    server.play = plays({"body": gzip.compress(body, 1) if packing == "gzip" else body, "content_encoding": packing})
    answer = get(server, max_bytes=MIB)
    if extra:
        assert "over 1 MiB" in str(answer)
    else:
        assert isinstance(answer, Response)
        assert answer.body == body


def test_an_answer_may_have_50_mib_unless_the_caller_says_otherwise() -> None:
    assert Request("http://x").max_bytes == 50 * MIB


def test_a_small_answer_that_unpacks_to_gigabytes_costs_neither_time_nor_memory(server: Server) -> None:
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join([*(packer.compress(bytes(16 * MIB)) for _ in range(32)), packer.flush()])
    assert len(bomb) < MIB
    server.play = plays({"body": bomb, "content_encoding": "gzip"})
    tracemalloc.start()
    try:
        assert "over 4 MiB" in str(get(server, max_bytes=4 * MIB))
        assert tracemalloc.get_traced_memory()[1] < 64 * MIB
    finally:
        tracemalloc.stop()


def test_an_answer_packed_unasked_is_unpacked(server: Server) -> None:
    server.play = plays({"body": gzip.compress(ics("One")), "content_encoding": "gzip"})
    answer = get(server)
    assert isinstance(answer, Response)
    assert answer.body == ics("One")


# Redirects and credentials


@pytest.mark.parametrize(("count", "allowed"), [(1, True), (5, True), (6, False), (10_000, False)])
def test_five_redirects_are_followed_and_no_more(server: Server, count: int, allowed: bool) -> None:
    server.play = hops(count)
    answer = get(server, "/hop/0")
    assert isinstance(answer, Response) is allowed
    assert allowed or str(answer) == "cannot fetch: more than 5 redirects; ask its owner for the right address"


def test_a_relative_redirect_is_followed(server: Server) -> None:
    server.play = lambda h: h.reply(301, location="new.ics") if h.path == "/a/old" else h.reply(body=ics("One"))
    assert isinstance(get(server, "/a/old"), Response)
    assert server.asked[1][0] == "/a/new.ics"


@pytest.mark.parametrize(("host", "sent"), [("127.0.0.1", True), ("localhost", False)])
def test_credentials_stay_with_the_host_they_were_given_for(server: Server, host: str, sent: bool) -> None:
    server.play = hops(1, host)
    address = server.address("/hop/0", "me:secret@127.0.0.1")
    assert isinstance(ask(address), Response)
    assert server.asked[0][1]["Authorization"].startswith("Basic ")
    assert ("Authorization" in server.asked[1][1]) is sent


def test_credentials_of_a_redirect_are_not_used(server: Server) -> None:
    server.play = hops(1, "eve:x@localhost")
    assert isinstance(get(server, "/hop/0"), Response)
    assert "Authorization" not in server.asked[1][1]


@pytest.mark.parametrize(("host", "sent"), [("127.0.0.1", True), ("localhost", False)])
def test_headers_and_credentials_of_a_request_go_to_the_first_origin_alone(
    server: Server, host: str, sent: bool
) -> None:
    server.play = hops(1, host)
    headers = {"X-Token": "canary"}
    assert isinstance(get(server, "/hop/0", headers=headers, credentials=("me", "canary")), Response)
    assert {"Authorization", "X-Token"} <= set(server.asked[0][1])
    assert ({"Authorization", "X-Token"} <= set(server.asked[1][1])) is sent
    assert ("canary" in repr(server.asked[1])) is sent


# TLS


@pytest.fixture
def tls(server: Server, tmp_path: Path) -> Path:
    """Lets the server speak TLS as localhost; the certificate that is to be trusted."""
    make_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    return tmp_path / "server.pem"


def test_a_certificate_that_nobody_vouches_for_is_refused(server: Server, tls: Path) -> None:
    address = f"webcal://localhost:{server.server_port}/canary"
    assert str(ask(address)) == (
        "cannot fetch: its certificate is not trusted; see whether the server and the network are up"
    )
    assert server.asked == []


def test_a_certificate_of_ones_own_can_be_trusted_for_the_host_it_names(server: Server, tls: Path) -> None:
    with Fetcher(NOW, str(tls)) as fetcher:
        address = f"https://localhost:{server.server_port}/cal.ics"
        assert fetcher.fetch(Request(address)).body == ics("One")
        with pytest.raises(FetchFailed, match="its certificate is not trusted"):
            fetcher.fetch(Request(address.replace("localhost", "127.0.0.1")))


def test_a_redirect_from_https_to_http_is_refused(server: Server, tls: Path) -> None:
    server.play = plays({"code": 302, "location": server.address("/plain")})
    with (
        Fetcher(NOW, str(tls)) as fetcher,
        pytest.raises(FetchFailed, match="redirects to an unprotected address"),
    ):
        fetcher.fetch(Request(f"https://localhost:{server.server_port}/cal"))
    assert [path for path, _ in server.asked] == ["/cal"]


def test_what_holds_no_certificates_cannot_be_trusted(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("")
    for name in ("empty.pem", "none.pem"):
        with pytest.raises(SourceFailed, match="cannot use ca_file"):
            Fetcher(NOW, str(tmp_path / name))


# Addresses


@pytest.mark.parametrize(
    "address", ["", "cal.ics", "ftp://example.org/x", "https://", "https:///x", "http://[::1", "file:///etc/passwd"]
)
def test_what_is_no_address_is_refused_without_being_quoted(address: str) -> None:
    with pytest.raises(SourceFailed, match="cannot use the address; write it like https://host/path"):
        fetch.host_of(address)


def test_httpx_comes_without_its_command_line_and_with_all_else() -> None:
    program = """
import sys
from heartbeat.sources import fetch
print("rich" in sys.modules, "click" in sys.modules, "httpx._main" in sys.modules, sys.modules["httpx"].Client.__name__)
"""
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "False", "Client"]


# Digest


def challenged(handler: Any) -> None:
    """A server that wants Digest (RFC 7616) and accepts the right answer alone."""
    shown = handler.headers.get("Authorization", "")
    fields = dict(re.findall(r'(\w+)="?([^",]+)"?', shown)) if shown.startswith("Digest ") else {}
    a1, a2 = md5(f"me:realm:{PASSWORD}"), md5(f"GET:{handler.path}")
    wanted = md5(f"{a1}:abc:{fields.get('nc')}:{fields.get('cnonce')}:auth:{a2}")
    if fields.get("response") == wanted:
        handler.reply(body=ics("One"))
    else:
        handler.reply(401, b"who are you?" * 1000, www_authenticate='Digest realm="realm", nonce="abc", qop="auth"')


def md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


PASSWORD = "a canary"


def test_a_server_that_wants_digest_gets_it(server: Server) -> None:
    server.play = challenged
    assert isinstance(get(server, credentials=("me", PASSWORD)), Response)
    assert [headers["Authorization"].split()[0] for _, headers in server.asked] == ["Basic", "Digest"]


def test_a_wrong_password_is_shown_once_in_each_way(server: Server) -> None:
    server.play = challenged
    answer = get(server, credentials=("me", "wrong"))
    assert isinstance(answer, FetchFailed)
    assert (answer.status, len(server.asked)) == (401, 2)


@pytest.mark.parametrize("challenge", ["Digest", "Digest realm", 'Digest realm="x", algorithm="none"', "Basic", ""])
def test_a_challenge_that_is_none_is_a_refusal(server: Server, challenge: str) -> None:
    server.play = plays({"code": 401, "www_authenticate": challenge})
    answer = get(server, credentials=("me", PASSWORD))
    assert isinstance(answer, FetchFailed)
    assert PASSWORD not in str(answer)


UNPROTECTED = "cannot send the password unprotected; write https://…"


@pytest.mark.parametrize(
    ("address", "more"),
    [
        ("http://pat:canary@no-such-host.invalid/x", {}),
        ("http://pat@no-such-host.invalid/x", {}),
        ("http://no-such-host.invalid/x", {"credentials": ("pat", "canary")}),
        ("http://no-such-host.invalid/x", {"headers": {"authorization": "Bearer canary"}}),
        ("http://localhost.no-such-host.invalid/x", {"credentials": ("pat", "canary")}),
        ("http://128.0.0.1/x", {"credentials": ("pat", "canary")}),
    ],
)
def test_a_password_or_token_is_not_sent_over_http_to_another_machine(
    monkeypatch: pytest.MonkeyPatch, address: str, more: dict[str, Any]
) -> None:
    monkeypatch.setattr(fetch, "send", lambda *_: pytest.fail("something was sent"))
    assert str(ask(address, **more)) == UNPROTECTED


def test_a_password_is_sent_over_http_to_this_machine(server: Server) -> None:
    server.play = plays({"body": ics("One")})
    assert isinstance(get(server, credentials=("pat", "canary")), Response)


def test_without_a_secret_http_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []

    def answer(_client: Any, call: Any, _credentials: Any) -> Any:
        sent.append(str(call.url))
        raise httpx.ConnectError("no")

    monkeypatch.setattr(fetch, "send", answer)
    ask("http://no-such-host.invalid/x", tries=1)
    assert sent == ["http://no-such-host.invalid/x"]
