"""What every channel must do, whichever kind: one file of heartbeat/channels, found by listing the folder."""

from __future__ import annotations

import fcntl
import html
import inspect
import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import heartbeat.channels
from heartbeat.channels import _ground, check_channels, find_channels
from heartbeat.config import Settings
from heartbeat.errors import ChannelError
from heartbeat.job import load
from heartbeat.model import Message, MessageKind, MessageState, Urgency
from heartbeat.paths import find_home
from heartbeat.ports import Channel
from heartbeat.process import Command
from tests.conftest import NOW, Place, wait_for

KINDS = sorted(path.stem for path in Path(heartbeat.channels.__file__).parent.glob("[!_]*.py"))
WITH_SECRETS = [kind for kind in KINDS if kind != "file"]
SECRET = "hunter2-and-more"
HOSTILE_TITLE = "Re: \r\nBcc: all@example.org\x1b[2J \u2028 <b>[x](y)</b> \u202e 会议 👨\u200d👩\u200d👧"
HOSTILE_BODY = (
    "\x00\x1b]0;x\x07 $(touch pwned) `x` '\"\\n -e <b>&amp;</b>\r\n~~~~\n## forged\n.\r\n会议 😀 \ud800 %s {x}"
)
MESSAGE = Message(
    *("msg_1", MessageKind.REPLY, "way", MessageState.SENDING, "A title", "First line.\nSecond line."),
    created_at=NOW,
    urgency=Urgency.NORMAL,
    wake_id="wake_1",
)


class Server(ThreadingHTTPServer):
    """Answers with the status it is told, or never, and keeps what it got."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status: int | None = 200
        self.got: list[bytes] = []
        self.started = Path()
        self.released = threading.Event()


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.server.got.append(self.rfile.read(int(self.headers["Content-Length"])))
        if self.server.status is None:
            self.server.started.touch()
            self.server.released.wait(30)
            return
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class Setup:
    """A channel of one kind, made to behave as the test needs; `heard` is what reached it."""

    def __init__(self, place: Place, kind: str, server: Server) -> None:
        self.place, self.kind, self.server = place, kind, server
        self.stop = threading.Event()
        self.environ = place.environment(OWN_SECRET=SECRET, DBUS_SESSION_BUS_ADDRESS="unix:path=/nowhere")
        self.home = find_home(str(place.folder), {})
        self.held: int | None = None

    def behave(self, how: str) -> None:
        """`accept`, `refuse` or `hang`."""
        lines = getattr(self, f"_{self.kind}")(how)
        path = f'[environment]\npath = "{self.place.folder}/bin:/usr/bin:/bin"\n'
        self.place.configure(f'{path}[channels.way]\nkind = "{self.kind}"\ntimeout = "20s"\n{lines}\n')

    def stop_when_started(self) -> None:
        wait_for(self.place.folder / "started")
        self.stop.set()

    @property
    def settings(self) -> Settings:
        config = load(self.home, self.environ)
        assert config.unready == ()
        return config.settings

    @property
    def channel(self) -> Channel:
        (found,) = find_channels(self.settings, self.home, self.environ, self.stop).values()
        return found

    @property
    def heard(self) -> list[tuple[str, str]]:
        """Title and body of each message that reached the other end."""
        return list(getattr(self, f"_{self.kind}_heard")())

    def _program(self, how: str, name: str) -> None:
        ending = {
            "accept": "exit 0",
            "refuse": 'echo "broken $OWN" >&2; exit 1',
            "hang": "touch started; exec sleep 600",
        }[how]
        listing = 'cat > "heard.$$"; for word in "$@"; do printf "%s\\0" "$word" >> argv; done; printf "\\1" >> argv'
        self.place.file(f"bin/{name}", f'#!/bin/sh\ncd "$HEARTBEAT_HOME"\n{listing}\n{ending}\n')

    def _command(self, how: str) -> str:
        self._program(how, "pager")
        return 'command = ["pager", "--flag"]\nsecrets = { OWN = { env = "OWN_SECRET" } }'

    def _command_heard(self) -> Iterator[tuple[str, str]]:
        for file in sorted(self.place.folder.glob("heard.*")):
            told = json.loads(file.read_text())
            yield told["title"], told["body"]

    def _desktop(self, how: str) -> str:
        self._program(how, "notify-send")
        return 'secrets = { OWN = { env = "OWN_SECRET" } }'

    def _desktop_heard(self) -> Iterator[tuple[str, str]]:
        for call in (self.place.folder / "argv").read_text().split("\1")[:-1]:
            *_, title, body, _ = call.split("\0")
            yield title, html.unescape(body.replace("\\\\", "\\"))

    def _file(self, how: str) -> str:
        path = self.place.folder / "told.jsonl"
        if how == "refuse":
            path.mkdir()
        elif how == "hang":
            self.held = os.open(path, os.O_RDWR | os.O_CREAT)
            fcntl.flock(self.held, fcntl.LOCK_EX)
            (self.place.folder / "started").touch()
        return 'path = "told.jsonl"'

    def _file_heard(self) -> Iterator[tuple[str, str]]:
        for line in (self.place.folder / "told.jsonl").read_text().splitlines():
            told = json.loads(line)
            yield told["title"], told["body"]

    def _apprise(self, how: str) -> str:
        self.server.status = {"accept": 200, "refuse": 503, "hang": None}[how]
        address = f"json://me:{SECRET}@127.0.0.1:{self.server.server_port}/"
        self.place.file("address", address)
        self.server.started = self.place.folder / "started"
        return 'url = { file = "address" }'

    def _apprise_heard(self) -> Iterator[tuple[str, str]]:
        for got in self.server.got:
            told = json.loads(got)
            yield told["title"], told["message"]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


@pytest.fixture(params=KINDS)
def setup(request: pytest.FixtureRequest, place: Place, server: Server) -> Iterator[Setup]:
    server.got.clear()
    server.released.clear()
    made = Setup(place, request.param, server)
    yield made
    server.released.set()
    if made.held is not None:
        os.close(made.held)


def test_every_kind_of_channel_is_put_to_this_test() -> None:
    assert sorted(kind for kind in KINDS if hasattr(Setup, f"_{kind}_heard")) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_two_functions_of_one_signature(kind: str) -> None:
    module = __import__(f"heartbeat.channels.{kind}", fromlist=["channel"])
    assert list(inspect.signature(module.channel).parameters) == ["name", "own", "ground"]
    assert list(inspect.signature(module.check).parameters) == ["name", "own", "ground", "file"]


def test_a_megabyte_by_strangers_arrives_cut_and_nothing_in_it_acts(setup: Setup) -> None:
    setup.behave("accept")
    assert check_channels(setup.settings, setup.home, setup.environ, "config.toml") == []
    channel = setup.channel
    assert channel.name == "way"
    message = replace(MESSAGE, title=HOSTILE_TITLE, body=HOSTILE_BODY + "x" * 1_000_000)
    assert channel.send(message) is (setup.kind != "desktop")
    ((title, body),) = setup.heard
    assert title == "Re: Bcc: all@example.org [2J <b>[x](y)</b> 会议 👨\u200d👩\u200d👧"
    assert "$(touch pwned) `x` '\"\\n -e <b>&amp;</b>\n~~~~\n## forged\n.\n会议 😀   %s {x}" in body
    assert 900 < len(body) <= 32_768
    assert "heartbeat messages get msg_1" in body
    assert not set("\x00\x1b\x07\r\u2028\u202e") & set(title + body)
    assert not list(setup.place.folder.rglob("pwned"))


def test_a_refusal_is_an_error_without_secrets_that_trying_again_may_help(setup: Setup) -> None:
    setup.behave("refuse")
    with pytest.raises(ChannelError, match=r"^cannot .*'way'") as caught:
        setup.channel.send(MESSAGE)
    assert caught.value.retryable
    assert SECRET not in str(caught.value)


def test_it_keeps_its_own_deadline(setup: Setup) -> None:
    setup.behave("hang")
    channel: Any = setup.channel
    own = channel.own.model_copy(update={"timeout": timedelta(seconds=0.3)})
    began = time.monotonic()
    with pytest.raises(ChannelError, match=r"took longer than|held it over") as caught:
        replace(channel, own=own).send(MESSAGE)
    assert caught.value.retryable
    assert 0.3 <= time.monotonic() - began < 15


def test_it_lets_go_when_heartbeat_stops(setup: Setup) -> None:
    setup.behave("hang")
    stopping = threading.Thread(target=setup.stop_when_started)
    stopping.start()
    with pytest.raises(ChannelError, match="stopping") as caught:
        setup.channel.send(MESSAGE)
    stopping.join()
    assert caught.value.retryable


@pytest.mark.parametrize("setup", WITH_SECRETS, indirect=True)
def test_no_secret_is_in_an_argument(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Command] = []

    def look(command: Command, stop: threading.Event) -> None:
        seen.append(command)
        raise ChannelError("seen enough", retryable=True)

    monkeypatch.setattr(_ground, "execute", look)
    setup.behave("accept")
    with pytest.raises(ChannelError, match="seen enough"):
        setup.channel.send(MESSAGE)
    (command,) = seen
    assert SECRET not in " ".join(command.argv)
    assert command.env["HEARTBEAT_MESSAGE_ID"] == command.mark == "msg_1"


@pytest.mark.parametrize("setup", WITH_SECRETS, indirect=True)
def test_a_secret_that_cannot_be_had_is_told_with_its_key_and_may_be_had_later(setup: Setup) -> None:
    setup.behave("accept")
    channel = setup.channel
    (setup.place.folder / "address").unlink(missing_ok=True)
    setup.environ.pop("OWN_SECRET")
    with pytest.raises(ChannelError, match=r"channels\.way\.") as caught:
        channel.send(MESSAGE)
    assert caught.value.retryable
    key = "channels.way.url" if setup.kind == "apprise" else "channels.way.secrets.OWN"
    assert [problem.key for problem in load(setup.home, setup.environ).unready] == [key]
