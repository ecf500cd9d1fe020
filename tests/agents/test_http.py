"""The agent behind an address, against a server that runs on this machine and misbehaves in every way we know."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from heartbeat.agents import _webhook, check_agent, find_agent
from heartbeat.agents._chat import endpoint
from heartbeat.agents._errand import Answer
from heartbeat.agents._post import MAX_BYTES
from heartbeat.agents._refusals import LONGEST_WAIT, refusal, retry_after
from heartbeat.agents.http import HttpAgent
from heartbeat.config import read_settings
from heartbeat.errors import AgentError, AgentOnHold
from heartbeat.model import Call, Prefs, Reply, Usage
from heartbeat.paths import find_home
from tests.agents.fake_http import (
    THE_REPLY,
    FakeAgent,
    Play,
    cuts,
    drips,
    drips_headers,
    echoes_key,
    hangs,
    hangs_up,
    says,
)
from tests.servers import make_certificate

NOW = datetime(2026, 6, 10, 8, tzinfo=UTC)
KEY = "sk-very-secret-0001"
PREFS = Prefs(model="small", timeout=timedelta(seconds=10))
CALL = Call("wake_1", "What is new?", prefs=PREFS)


@pytest.fixture
def server() -> Iterator[FakeAgent]:
    with FakeAgent().running() as server:
        yield server


@pytest.fixture
def agent(server: FakeAgent, tmp_path: Path) -> HttpAgent:
    return made(tmp_path, f'url = "{server.url}"\nprices = [3.0, 15.0]')


def made(folder: Path, lines: str, key: str = KEY) -> HttpAgent:
    """The agent of a configuration, with its key in a file."""
    (folder / "key").write_text(f"{key}\n")
    (folder / "key").chmod(0o600)
    (folder / "config.toml").write_text(f'[agent]\nkind = "http"\nkey = {{ file = "{folder}/key" }}\n{lines}\n')
    home = find_home(str(folder), {})
    reading = read_settings(home.config_file)
    assert reading.problems == ()
    agent = find_agent(reading.settings, home, {"HOME": str(folder)}, threading.Event())
    assert isinstance(agent, HttpAgent)
    return replace(agent, clock=lambda: NOW)


def failed(agent: HttpAgent, call: Call = CALL) -> AgentError:
    with pytest.raises(AgentError) as caught:
        agent.call(call)
    message = str(caught.value)
    assert message.startswith("cannot "), message
    assert "; " in message or "stopping" in message
    assert KEY not in message
    assert "\n" not in message
    assert len(message) < 700
    return caught.value


# Chat


def test_a_chat_is_asked_as_openai_has_it_and_its_answer_costs_what_the_prices_say(
    agent: HttpAgent, server: FakeAgent
) -> None:
    assert agent.call(CALL) == Reply("the reply", usage=Usage(1000, 20, 0.0033))
    (heard,) = server.heard
    assert heard.path == "/v1/chat/completions"
    assert heard.told == {"model": "small", "messages": [{"role": "user", "content": "What is new?"}], "stream": False}
    assert heard.headers["authorization"] == f"Bearer {KEY}"
    assert heard.headers["idempotency-key"] == "wake_1"
    assert heard.headers["content-type"] == "application/json"


def test_without_key_model_and_prices_nothing_is_made_up(server: FakeAgent, tmp_path: Path) -> None:
    agent = replace(made(tmp_path, f'url = "{server.url}"'), key=None)
    assert agent.call(Call("wake_1", "?")) == Reply("the reply", usage=Usage(1000, 20))
    (heard,) = server.heard
    assert "authorization" not in heard.headers
    assert "model" not in heard.told


def test_the_key_is_read_anew_for_each_call(agent: HttpAgent, server: FakeAgent, tmp_path: Path) -> None:
    agent.call(CALL)
    (tmp_path / "key").write_text("another-key")
    agent.call(CALL)
    assert [heard.headers["authorization"] for heard in server.heard] == [f"Bearer {KEY}", "Bearer another-key"]


def test_a_prompt_of_5_mb_arrives_as_it_is(agent: HttpAgent, server: FakeAgent) -> None:
    prompt = "\u2028\x00\ud800 会议 😀" + "x" * 5_000_000
    agent.call(replace(CALL, prompt=prompt))
    assert server.heard[0].told["messages"][0]["content"] == prompt


@pytest.mark.parametrize(
    ("url", "whole"),
    [
        ("https://host/v1", "https://host/v1/chat/completions"),
        ("https://host/api/v1/", "https://host/api/v1/chat/completions"),
        ("https://host/v1/chat/completions", "https://host/v1/chat/completions"),
        ("https://host/openai/x?api-version=1", "https://host/openai/x?api-version=1"),
    ],
)
def test_an_address_that_ends_where_the_api_begins_is_completed(url: str, whole: str) -> None:
    assert endpoint(url) == whole


@pytest.mark.parametrize(
    ("usage", "known"),
    [
        ({}, Usage()),
        ("none", Usage()),
        ({"prompt_tokens": -1, "completion_tokens": True}, Usage()),
        ({"prompt_tokens": 10**30, "completion_tokens": 5}, Usage(None, 5)),
    ],
)
def test_a_count_that_is_none_is_unknown(agent: HttpAgent, server: FakeAgent, usage: Any, known: Usage) -> None:
    server.play = says(200, {**THE_REPLY, "usage": usage})
    assert agent.call(CALL).usage == known


def test_a_reply_can_be_written_down_whatever_it_holds(agent: HttpAgent, server: FakeAgent) -> None:
    text = "a\ud800b " + KEY + "😀" * 30_000
    server.play = says(200, {"choices": [{"message": {"content": text}}]})
    reply = agent.call(CALL).text
    assert reply.startswith("a?b [secret key]😀")
    assert len(reply.encode()) <= 65_536


# Refusals


@pytest.mark.parametrize("status", [400, 404, 413, 422, 405, 410, 301, 308])
def test_what_another_try_does_not_mend_is_not_tried_again(agent: HttpAgent, server: FakeAgent, status: int) -> None:
    server.play = says(status, {"error": {"message": "no such\n\x1b[2J model"}})
    error = failed(agent)
    assert not error.retryable
    assert f"answered {status} (no such [2J model)" in str(error)


@pytest.mark.parametrize("status", [500, 502, 504, 529, 408, 409, 425, 302, 503])
def test_what_may_pass_is_tried_again(agent: HttpAgent, server: FakeAgent, status: int) -> None:
    server.play = says(status, b"<html>oops")
    error = failed(agent)
    assert (error.retryable, error.retry_after, type(error)) == (True, None, AgentError)
    assert "oops" in str(error)


@pytest.mark.parametrize("status", [401, 402, 403])
def test_a_refused_key_is_tried_again_in_a_quarter_of_an_hour_and_its_place_is_named(
    agent: HttpAgent, server: FakeAgent, tmp_path: Path, status: int
) -> None:
    server.play = says(status)
    error = failed(agent)
    assert (error.retryable, error.retry_after) == (True, 900)
    assert f"the key from the file '{tmp_path}/key'" in str(error)


def test_a_key_that_the_server_tells_back_is_taken_out(agent: HttpAgent, server: FakeAgent) -> None:
    server.play = echoes_key
    assert "Incorrect API key provided: [secret key]." in str(failed(agent))


def test_a_key_at_the_cut_of_a_message_does_not_stay_in_part(agent: HttpAgent, server: FakeAgent) -> None:
    server.play = says(500, {"error": "x" * 290 + KEY})
    assert KEY[:6] not in str(failed(agent))


ON_HOLD = [
    (429, "120", 120.0),
    (429, "1.5", 1.5),
    (429, "0", 0.0),
    (503, "60", 60.0),
    (429, str(10**30), LONGEST_WAIT),
    (429, format_datetime(NOW + timedelta(minutes=5), usegmt=True), 300.0),
    (429, format_datetime(NOW - timedelta(days=5), usegmt=True), 0.0),
    (429, "Fri, 31 Dec 9999 23:59:59 GMT", LONGEST_WAIT),
    (429, "", None),
    (429, "-5", None),
    (429, "nan", None),
    (429, "soon", None),
    (429, "Mon, 99 Foo 99999 99:99:99", None),
]


@pytest.mark.parametrize(("status", "asked", "seconds"), ON_HOLD)
def test_who_asks_for_time_gets_it_within_a_week(status: int, asked: str, seconds: float | None) -> None:
    answer = Answer(status, {"retry-after": asked}, b"{}")
    error = refusal(answer, "host", "", {}, NOW)
    assert isinstance(error, AgentOnHold)
    assert error.retry_after == seconds


def test_a_pause_is_never_longer_than_a_week() -> None:
    week = int(LONGEST_WAIT)
    assert [retry_after(str(asked), NOW) for asked in (week - 1, week, week + 1)] == [week - 1, week, week]


def test_a_pause_asked_for_over_http_puts_the_agent_on_hold(agent: HttpAgent, server: FakeAgent) -> None:
    server.play = says(429, {"error": "slow down"}, Retry_After="30")
    error = failed(agent)
    assert isinstance(error, AgentOnHold)
    assert (error.retryable, error.retry_after) == (True, 30)


@pytest.mark.parametrize(
    ("play", "why"),
    [
        (says(200, b"<html>"), "not JSON"),
        (says(200, b""), "not JSON"),
        (says(200, b"[" * 100_000), "not JSON"),
        (says(200, b"data: {}\n\n"), "not JSON"),
        (says(200, {}), "no text"),
        (says(200, []), "no text"),
        (says(200, {"choices": []}), "no text"),
        (says(200, {"choices": [{"message": {"content": None}}]}), "no text"),
        (says(200, {"error": {"message": "over quota"}}), "over quota"),
        (says(200, {"error": KEY}), "[secret key]"),
        (says(200, {"error": "a\n" * 5000}), "a a a"),
        (says(200, b'{"error":' * 900 + b"1" + b"}" * 900), "no text"),
        (says(200, {}, Content_Encoding="gzip"), "packed"),
        (cuts, "RemoteProtocolError"),
        (hangs_up, "RemoteProtocolError"),
    ],
)
def test_an_answer_that_is_none_is_asked_for_again(agent: HttpAgent, server: FakeAgent, play: Play, why: str) -> None:
    server.play = play
    error = failed(agent)
    assert error.retryable
    assert why in str(error)


def test_an_answer_without_text_has_cost_something_all_the_same(agent: HttpAgent, server: FakeAgent) -> None:
    server.play = says(200, {"usage": THE_REPLY["usage"], "choices": []})
    assert failed(agent).usage == Usage(1000, 20, 0.0033)


def test_an_answer_is_read_up_to_8_mib_and_no_further(agent: HttpAgent, server: FakeAgent) -> None:
    whole = json.dumps(THE_REPLY).encode()
    server.play = says(200, whole + b" " * (MAX_BYTES - len(whole)))
    assert agent.call(CALL).text == "the reply"
    server.play = says(200, whole + b" " * (MAX_BYTES - len(whole) + 1))
    error = failed(agent)
    assert error.retryable
    assert "over 8 MiB" in str(error)


def test_nobody_is_followed_elsewhere_with_key_and_prompt(agent: HttpAgent, server: FakeAgent) -> None:
    with FakeAgent().running() as other:
        server.play = says(307, b"", Location=f"{other.url}/chat/completions")
        assert "sends elsewhere" in str(failed(agent))
        assert other.heard == []


def test_a_server_that_is_not_there_is_tried_again(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and never listens
        error = failed(made(tmp_path, f'url = "http://127.0.0.1:{taken.getsockname()[1]}/v1"'))
    assert error.retryable
    assert "ConnectError" in str(error)


def test_a_proxy_gets_nothing_that_is_for_this_machine(
    agent: HttpAgent, server: FakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert agent.call(CALL).text == "the reply"


# Time


@pytest.mark.parametrize("play", [hangs, drips, drips_headers])
def test_the_whole_call_has_a_deadline_whatever_the_server_does(
    agent: HttpAgent, server: FakeAgent, play: Play
) -> None:
    server.play = play
    began = time.monotonic()
    error = failed(agent, replace(CALL, prefs=Prefs(timeout=timedelta(seconds=0.3))))
    assert 0.3 <= time.monotonic() - began < 2
    assert error.retryable
    assert "took longer than" in str(error)
    assert_no_thread_is_left()


@pytest.mark.parametrize("play", [hangs, drips, drips_headers])
def test_it_lets_go_when_heartbeat_stops(agent: HttpAgent, server: FakeAgent, play: Play) -> None:
    server.play = play
    stopping = threading.Thread(target=stop_when_asked, args=(agent, server))
    stopping.start()
    began = time.monotonic()
    error = failed(agent, replace(CALL, prefs=Prefs(timeout=timedelta(minutes=10))))
    stopping.join()
    assert time.monotonic() - began < 2
    assert error.retryable
    assert "stopping" in str(error)
    assert_no_thread_is_left()


def stop_when_asked(agent: HttpAgent, server: FakeAgent) -> None:
    assert server.arrived.wait(10)
    agent.stop.set()


def test_a_server_that_reads_nothing_is_left_at_the_deadline(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        agent = made(tmp_path, f'url = "http://127.0.0.1:{deaf.getsockname()[1]}/v1"')
        prefs = Prefs(timeout=timedelta(seconds=0.3))
        error = failed(agent, Call("wake_1", "x" * 20_000_000, prefs=prefs))
    assert "took longer than" in str(error)
    assert_no_thread_is_left()


def test_a_name_that_is_found_too_late_leads_to_no_wake(
    agent: HttpAgent, server: FakeAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = threading.Event()
    look_up = socket.getaddrinfo

    def slowly(*args: Any, **named: Any) -> Any:
        found.wait(10)
        return look_up(*args, **named)

    monkeypatch.setattr(socket, "getaddrinfo", slowly)
    failed(agent, replace(CALL, prefs=Prefs(timeout=timedelta(seconds=0.2))))
    found.set()
    assert_no_thread_is_left()
    assert server.heard == []


def assert_no_thread_is_left() -> None:
    for thread in threading.enumerate():
        if thread.name == "agent-http":
            thread.join(5)
            assert not thread.is_alive()


# TLS


@pytest.fixture
def protected(server: FakeAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HttpAgent:
    make_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    # As if it were elsewhere: only then the authorities of the environment count.
    monkeypatch.setattr("heartbeat.agents._post.is_this_machine", lambda _: False)
    return made(tmp_path, f'url = "https://localhost:{server.server_port}/v1"')


def test_a_server_that_nobody_vouches_for_gets_nothing(protected: HttpAgent, server: FakeAgent) -> None:
    error = failed(protected)
    assert error.retryable
    assert "its certificate is not trusted" in str(error)
    assert server.heard == []


@pytest.mark.parametrize("play", [hangs, drips_headers])
def test_a_protected_connection_is_cut_as_well(
    protected: HttpAgent, server: FakeAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, play: Play
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "server.pem"))
    assert protected.call(CALL).text == "the reply"
    server.play = play
    assert "took longer than" in str(failed(protected, replace(CALL, prefs=Prefs(timeout=timedelta(seconds=0.5)))))
    assert_no_thread_is_left()


# Webhooks


@pytest.fixture
def hooked(server: FakeAgent, tmp_path: Path) -> HttpAgent:
    return made(tmp_path, f'url = "{server.url}/wake?to=me"\nformat = "webhook"')


def test_a_webhook_gets_the_wake_signed(hooked: HttpAgent, server: FakeAgent) -> None:
    server.play = says(200, {"reply": " thanks\n"})
    call = Call("wake_1", "What is new?", restricted=False, prefs=Prefs("small", ("Read",), max_usd=0.5))
    assert hooked.call(call) == Reply("thanks")
    (heard,) = server.heard
    assert heard.path == "/v1/wake?to=me"
    assert heard.told == {
        "schema": "heartbeat/wake/v1",
        "wake_id": "wake_1",
        "prompt": "What is new?",
        "restricted": False,
        "model": "small",
        "tools": ["Read"],
        "max_usd": 0.5,
    }
    assert heard.headers["webhook-id"] == "wake_1"
    assert heard.headers["webhook-timestamp"] == str(int(NOW.timestamp()))
    signed = b"wake_1.%d.%s" % (NOW.timestamp(), heard.body)
    digest = hmac.new(KEY.encode(), signed, hashlib.sha256).digest()
    assert heard.headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"
    assert "authorization" not in heard.headers


def test_the_signature_is_that_of_the_published_example() -> None:
    key, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b'{"test": 2432232314}'
    made = _webhook.signature(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", body)
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize(
    ("play", "text"),
    [
        (says(204, b""), ""),
        (says(202, {"reply": "later"}), ""),
        (says(200, b""), ""),
        (says(200, b"ok"), ""),
        (says(200, {"reply": 5}), ""),
        (says(200, ["reply"]), ""),
        (says(201, {"reply": "made"}), "made"),
    ],
)
def test_any_answer_of_2xx_accepts_a_webhook(hooked: HttpAgent, server: FakeAgent, play: Play, text: str) -> None:
    server.play = play
    assert hooked.call(CALL) == Reply(text)


@pytest.mark.parametrize("key", ["whsec_not base64!", "two\nlines", "n\u00f6t-plain"])
def test_a_key_of_no_use_is_an_error_that_does_not_quote_it(tmp_path: Path, server: FakeAgent, key: str) -> None:
    error = failed(made(tmp_path, f'url = "{server.url}"\nformat = "webhook"', key))
    assert error.retryable
    assert key not in str(error)
    assert str(tmp_path / "key") in str(error)
    assert server.heard == []


@pytest.mark.parametrize("form", ["chat", "webhook"])
def test_a_key_that_cannot_be_had_just_now_may_be_had_later(tmp_path: Path, server: FakeAgent, form: str) -> None:
    agent = made(tmp_path, f'url = "{server.url}"\nformat = "{form}"')
    (tmp_path / "key").unlink()
    error = failed(agent)
    assert error.retryable
    assert str(tmp_path / "key") in str(error)
    assert server.heard == []


# Configuration


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example.org/v1",
        "http://127.0.0.1:8080/v1",
        "http://[::1]/x",
        "http://localhost:11434/v1",
        "https://h:1/x?a=b",
    ],
)
def test_these_addresses_can_be_used(tmp_path: Path, url: str) -> None:
    assert made(tmp_path, f'url = "{url}"').url == url


@pytest.mark.parametrize(
    ("lines", "key", "told"),
    [
        ("", "agent.url", "without an address"),
        ('url = "api.example.org/v1"', "agent.url", "write it whole"),
        ('url = "ftp://example.org"', "agent.url", "write it whole"),
        ('url = "https://example.org:99999/"', "agent.url", "write it whole"),
        ('url = "https://[::1/"', "agent.url", "write it whole"),
        ('url = "https://a b.org/"', "agent.url", "space"),
        ('url = "https://me:hunter2@example.org/"', "agent.url", "password"),
        ('url = "http://example.org/v1"', "agent.url", "write https"),
        ('url = "http://localhost.example.org/v1"', "agent.url", "write https"),
        ('url = "https://example.org/v1"\nformat = "xml"', "agent.format", "not one of the known words"),
        ('url = "https://example.org/v1"\nformat = "webhook"', "agent.key", "without a key"),
    ],
)
def test_a_configuration_that_cannot_work_is_told(tmp_path: Path, lines: str, key: str, told: str) -> None:
    (tmp_path / "config.toml").write_text(f'[agent]\nkind = "http"\n{lines}\n')
    (problem,) = read_settings(tmp_path / "config.toml").problems
    assert problem.key == key
    assert told in f"{problem.message}; {problem.remedy}"
    assert "hunter2" not in str(problem)


def test_a_key_that_is_not_there_is_a_problem_for_check(tmp_path: Path) -> None:
    made(tmp_path, 'url = "https://example.org/v1"')
    home = find_home(str(tmp_path), {})
    settings = read_settings(home.config_file).settings
    assert check_agent(settings, home, {}, "config.toml") is None
    (tmp_path / "key").unlink()
    problem = check_agent(settings, home, {}, "config.toml")
    assert problem is not None
    assert problem.key == "agent.key"
