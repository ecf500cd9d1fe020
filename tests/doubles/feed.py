"""A web server on this machine that hands out a calendar, or whatever else the test says."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


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


Play = Callable[[Handler], None]
Answers = dict[str, Any]


def plays(*answers: Answers) -> Play:
    """Each answer in turn, the last one for ever."""
    left = list(answers)
    return lambda handler: handler.reply(**(left.pop(0) if len(left) > 1 else left[0]))


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


def hops(count: int, host: str = "127.0.0.1") -> Play:
    def play(handler: Handler) -> None:
        number = int(handler.path.rpartition("/")[2] or 0)
        if number < count:
            handler.reply(302, location=handler.server.address(f"/hop/{number + 1}", host))
        else:
            handler.reply(body=ics("One"))

    return play
