"""A real CalDAV server (Radicale) on a free loopback port, and a double that answers as a test says."""

from __future__ import annotations

import base64
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from xml.sax.saxutils import escape

USER, PASSWORD = "ann", "canary-caldav-password"
_CONFIG = """
[server]
hosts = 127.0.0.1:{port}
[auth]
type = htpasswd
htpasswd_filename = {folder}/users
htpasswd_encryption = plain
delay = 0
[storage]
filesystem_folder = {folder}/collections
[logging]
level = warning
"""
_MKCALENDAR = """<?xml version="1.0" encoding="utf-8"?>
<c:mkcalendar xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:set><d:prop>
<d:displayname>{name}</d:displayname>
<c:supported-calendar-component-set><c:comp name="{kind}"/></c:supported-calendar-component-set>
</d:prop></d:set></c:mkcalendar>"""


@dataclass
class Radicale:
    """A running server with one user and no calendars."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    @property
    def home(self) -> str:
        return f"{self.root}{USER}/"

    def calendar(self, name: str, *objects: str, kind: str = "VEVENT") -> str:
        """Make a calendar of that display name holding these objects; returns its address."""
        address = f"{self.home}{name.lower()}/"
        self.call("MKCALENDAR", address, _MKCALENDAR.format(name=escape(name), kind=kind))
        for number, text in enumerate(objects):
            self.call("PUT", f"{address}{number}.ics", text)
        return address

    def call(self, method: str, address: str, body: str = "") -> int:
        """One request of the owner's own client; returns the status."""
        secret = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        headers = {"Authorization": f"Basic {secret}", "Content-Type": "text/calendar; charset=utf-8"}
        request = urllib.request.Request(address, body.encode() or None, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status: int = answer.status
        except urllib.error.HTTPError as error:
            with error:
                status = error.code
        return status

    def clear(self) -> None:
        """Remove all calendars."""
        for calendar in (self.folder / "collections" / "collection-root" / USER).glob("[!.]*"):
            shutil.rmtree(calendar)

    def stop(self) -> None:
        """End it, as a crash would."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()


@contextmanager
def radicale() -> Iterator[Radicale]:
    """The server, once it answers; ended by its own handle."""
    # In memory where there is such a place: it syncs every item to the disk.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="hb-radicale-", dir=memory) as name:
        server = _start(Path(name))
        try:
            _until_it_answers(server)
            yield server
        finally:
            server.stop()


def _start(folder: Path) -> Radicale:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "users").write_text(f"{USER}:{PASSWORD}\n")
    (folder / "config").write_text(_CONFIG.format(port=port, folder=folder))
    with (folder / "log").open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "radicale", "--config", str(folder / "config")],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    return Radicale(folder, port, process)


def _until_it_answers(server: Radicale) -> None:
    log, end = server.folder / "log", time.monotonic() + 60
    while True:
        assert server.process.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        try:
            if server.call("PROPFIND", server.home) == 207:
                return
        except OSError:
            time.sleep(0.05)


@dataclass(frozen=True)
class Asked:
    """One request that the double got."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


Answer = tuple[int, str] | tuple[int, str, Mapping[str, str]]


class Double(ThreadingHTTPServer):
    """A server that answers each request by `play`: status, body and, if need be, headers."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[Asked] = []
        self.play: Callable[[Asked], Answer] = lambda _: (404, "")
        self.over = threading.Event()

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is part of these tests."""


class _Handler(BaseHTTPRequestHandler):
    server: Double

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = Asked(self.command, self.path, dict(self.headers), body)
        self.server.asked.append(asked)
        status, text, *more = self.server.play(asked)
        self.send_response(status)
        headers = {"Content-Length": str(len(text.encode())), **(more[0] if more else {})}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    do_PROPFIND = do_REPORT = do_GET = _answer  # noqa: N815  # the names that the server class looks for

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def double() -> Iterator[Double]:
    server = Double()
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
