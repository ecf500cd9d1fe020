"""A service that runs on this machine and can be told to misbehave."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Asked:
    """One request, as it arrived."""

    path: str
    """Still escaped."""
    query: Mapping[str, str]
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Answer:
    """What is sent back; *body* is sent as it is when it is bytes, else as JSON."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class Handler(BaseHTTPRequestHandler):
    server: Double

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self.asked = Asked(parts.path, dict(parse_qsl(parts.query, keep_blank_values=True)), dict(self.headers))
        self.server.asked.append(self.asked)
        self.server.play(self)

    def log_message(self, *_: object) -> None:
        pass

    def send(self, answer: Answer, length: int | None = None) -> None:
        body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        for name, value in {"Content-Length": str(len(body) if length is None else length), **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


Play = Callable[[Handler], None]


class Double(ThreadingHTTPServer):
    """Plays its service well, unless `play` is set to something else."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[Asked] = []
        self.over = threading.Event()
        self.play: Play = self.well

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is part of these tests."""

    def well(self, handler: Handler) -> None:
        handler.send(self.answer(handler.asked))

    def answer(self, asked: Asked) -> Answer:
        """What the real service would say; each double says it in its own way."""
        raise NotImplementedError

    def first(self, *plays: Play) -> None:
        """Play each of these once, then well again."""
        left = list(plays)

        def play(handler: Handler) -> None:
            now = left.pop(0) if left else self.well
            now(handler)

        self.play = play

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

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
    return lambda handler: handler.send(Answer({} if body is None else body, status, named))


def drips(handler: Handler) -> None:
    """A byte now and then, for ever: each read succeeds, and no answer ever comes."""
    handler.send_response(200)
    handler.end_headers()
    while not handler.server.over.wait(0.05):
        handler.wfile.write(b" ")


def cuts(handler: Handler) -> None:
    """Half of the good answer under the length of the whole, then the end of the connection."""
    body = json.dumps(handler.server.answer(handler.asked).body).encode()
    handler.send(Answer(body[: len(body) // 2]), length=len(body))


def half(handler: Handler) -> None:
    """Half of the good answer, as if it were whole."""
    body = json.dumps(handler.server.answer(handler.asked).body).encode()
    handler.send(Answer(body[: len(body) // 2]))


def hangs_up(handler: Handler) -> None:
    handler.close_connection = True


def redirects(to: Callable[[Double], str]) -> Play:
    """Sends everybody elsewhere; *to* is told who sends."""

    def play(handler: Handler) -> None:
        handler.send(Answer(b"", 302, {"Location": f"{to(handler.server)}{handler.path}"}))

    return play


def in_circles(handler: Handler) -> None:
    handler.send(Answer(b"", 302, {"Location": handler.path}))


BOMB = gzip.compress(b"[" + b" " * (64 * 1024 * 1024) + b"]")
DEEP = b"[" * 100_000 + b"]" * 100_000

TROUBLES: dict[str, Play] = {
    "401": says(401, {"fault": {"faultstring": "Invalid ApiKey", "detail": {"errorcode": "oauth.v2.InvalidApiKey"}}}),
    "403": says(403, b"Forbidden"),
    "404": says(404, {"error": "Not Found"}),
    "429": says(429, {"fault": {"detail": {"errorcode": "policies.ratelimit.QuotaViolation"}}}),
    "429 with a pause": says(429, {}, Retry_After="3600"),
    "500": says(500, b"oops"),
    "503": says(503, {"error": "Your requests are exceeding the allowable rate limit."}),
    "drip": drips,
    "redirect to https": redirects(lambda server: f"https://127.0.0.1:{server.server_port}"),
    "redirect elsewhere": redirects(lambda _: "http://127.0.0.2:9"),
    "redirect in circles": in_circles,
    "cut off": cuts,
    "half": half,
    "a web page": says(200, b"<html>Please log in</html>"),
    "nothing": says(200, b""),
    "bytes": says(200, bytes(range(256))),
    "bomb": says(200, BOMB, Content_Encoding="gzip"),
    "deep": says(200, DEEP),
    "hang up": hangs_up,
    "null": says(200, b"null"),
    "an empty object": says(200, {}),
    "another object": says(200, {"error": "over quota", "page": "none", "_embedded": [], "events": 3}),
}
"""Each is no usable answer, whatever was asked."""
