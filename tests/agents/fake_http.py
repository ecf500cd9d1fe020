"""A server that is woken: it keeps what it was asked, and answers as the test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.agents.stage import JUNK, WAIT
from tests.conftest import Place

THE_REPLY = {
    "choices": [{"message": {"role": "assistant", "content": " the reply\n"}}],
    "usage": {"prompt_tokens": 1000, "completion_tokens": 20},
}


@dataclass(frozen=True)
class Heard:
    """One request, as it arrived."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes = field(repr=False)

    @property
    def told(self) -> Any:
        return json.loads(self.body)


class Handler(BaseHTTPRequestHandler):
    server: FakeAgent

    def do_POST(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers["content-length"]))
        self.server.heard.append(Heard(self.path, headers, body))
        self.server.arrived.set()
        self.server.play(self)

    def log_message(self, *_: object) -> None:
        pass

    def answer(
        self, status: int, body: Any = None, headers: Mapping[str, str] | None = None, length: int | None = None
    ) -> None:
        """*body* is sent as it is when it is bytes, else as JSON."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw) if length is None else length))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)


Play = Callable[[Handler], None]


class FakeAgent(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.heard: list[Heard] = []
        self.arrived = threading.Event()
        self.over = threading.Event()
        self.play: Play = says(200, THE_REPLY)

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is part of these tests."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    @contextmanager
    def running(self) -> Iterator[Self]:
        thread = threading.Thread(target=self.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield self
        finally:
            self.over.set()
            self.shutdown()
            self.server_close()
            thread.join()


def says(status: int, body: Any = None, **headers: str) -> Play:
    """That status and body."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.answer(status, body, named)


def hangs(handler: Handler) -> None:
    handler.server.over.wait(30)
    handler.close_connection = True


def drips(handler: Handler) -> None:
    """A byte of the body now and then: each read succeeds, and no answer ever comes."""
    handler.send_response(200)
    handler.end_headers()
    while not handler.server.over.wait(0.05):
        handler.wfile.write(b" ")


def drips_headers(handler: Handler) -> None:
    """The same, before there is even a status."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not handler.server.over.wait(0.05):
        handler.wfile.write(b"x")


def cuts(handler: Handler) -> None:
    """Half of the good answer under the length of the whole, then the end of the connection."""
    body = json.dumps(THE_REPLY).encode()
    handler.answer(200, body[: len(body) // 2], length=len(body))


def hangs_up(handler: Handler) -> None:
    handler.close_connection = True


def echoes_key(handler: Handler) -> None:
    """Tells the key back, as badly made servers do."""
    key = handler.headers.get("Authorization", "").removeprefix("Bearer ")
    handler.answer(401, {"error": {"message": f"Incorrect API key provided: {key}."}})


def floods(handler: Handler) -> None:
    handler.answer(200, b" " * 20_000_000)


class HttpFake:
    """The server as the contract of all agents wants it."""

    longest = 2**40
    _PLAYS: Mapping[str, Play] = {
        "accept": says(200, THE_REPLY),
        "empty": says(200, {"choices": [{"message": {"content": ""}}]}),
        "refuse": says(500, {"error": {"message": "broken"}}),
        "hang": hangs,
        "limit": says(429, {"error": "busy"}, Retry_After=str(WAIT)),
        "junk": says(200, JUNK),
        "flood": floods,
    }

    def __init__(self, server: FakeAgent) -> None:
        self._server = server

    def behave(self, how: str) -> None:
        self._server.play = self._PLAYS[how]

    @property
    def heard(self) -> bytes:
        prompt: str = self._server.heard[-1].told["messages"][0]["content"]
        return prompt.encode()

    def wait(self) -> None:
        assert self._server.arrived.wait(30)


@contextmanager
def fake(place: Place) -> Iterator[HttpFake]:
    with FakeAgent().running() as server:
        place.configure(f'[agent]\nkind = "http"\nurl = "{server.url}"\nkey = {{ env = "OWN_SECRET" }}\n')
        yield HttpFake(server)
