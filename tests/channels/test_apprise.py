"""The channel over apprise: real sends to a web server and a mail server on loopback, and what became of them."""

from __future__ import annotations

import email
import email.policy
import inspect
import json
import os
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from datetime import timedelta
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller

from heartbeat.channels import _apprise_worker as worker
from heartbeat.channels import find_channels
from heartbeat.config import Settings
from heartbeat.errors import ChannelError
from heartbeat.model import Message, MessageKind, MessageState, Urgency
from heartbeat.paths import find_home
from tests.conftest import NOW

# A plugin of apprise tries for a module that Python is about to drop.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")

JOB = {
    "title": "A title",
    "text": "Body <b>&amp;</b> *x*",
    "tail": "heartbeat why wake_1",
    "cut": "[cut]",
    "urgency": "high",
    "timeout": 10.0,
}


class Web(ThreadingHTTPServer):
    """Answers the path `/CODE` with that status; `/drip` with a byte now and then, for ever."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, bytes]] = []
        self.over = threading.Event()

    def url(self, path: str, login: str = "") -> str:
        return f"json://{login}127.0.0.1:{self.server_port}/{path}"


class _Handler(BaseHTTPRequestHandler):
    server: Web

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append((self.path, body))
        if self.path == "/drip":
            while not self.server.over.wait(0.05):
                self.wfile.write(b"H")
                self.wfile.flush()
            return
        self.send_response(int(self.path[1:4]))
        self.send_header("Location", "/200")
        self.end_headers()

    do_GET = do_POST  # noqa: N815 - the handler's own name

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def web() -> Iterator[Web]:
    made = Web()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    made.over.set()
    made.shutdown()
    made.server_close()
    thread.join()


class Mailbox:
    """Keeps what a mail server is handed, as it came."""

    def __init__(self) -> None:
        self.mails: list[tuple[list[str], bytes]] = []

    async def handle_DATA(self, _server: Any, _session: Any, envelope: Any) -> str:  # noqa: N802 - aiosmtpd's name
        self.mails.append((envelope.rcpt_tos, envelope.content))
        return "250 OK"


class AnyPort(Controller):
    """On whatever port is free, where it looks for itself when it has started."""

    def _trigger_server(self) -> None:
        server: Any = self.server
        self.port = server.sockets[0].getsockname()[1]
        super()._trigger_server()  # type: ignore[no-untyped-call]


@pytest.fixture(scope="module")
def mailbox() -> Iterator[tuple[Mailbox, int]]:
    box = Mailbox()
    controller = AnyPort(box, hostname="127.0.0.1", port=0)
    controller.start()
    yield box, controller.port
    controller.stop()


def send(url: str, **more: Any) -> dict[str, Any]:
    return worker.send({"url": url, **JOB, **more})


def test_a_web_service_that_took_it_is_a_proof(web: Web) -> None:
    assert send(web.url("200")) == {"ok": True, "proof": True}
    told = json.loads(web.asked[-1][1])
    assert (told["title"], told["type"]) == ("A title", "warning")
    assert told["message"] == "Body <b>&amp;</b> *x*\n\nheartbeat why wake_1"


@pytest.mark.parametrize(
    ("path", "final"),
    [("503", False), ("429", False), ("403", False), ("401", True), ("404", True), ("503?optional=yes", False)],
)
def test_a_refusal_says_why_and_whether_it_is_final(web: Web, path: str, final: bool) -> None:
    answer = send(web.url(path))
    assert (answer["ok"], answer["final"]) == (False, final)
    assert f"error={path[:3]}" in answer["error"]


def test_a_redirect_proves_nothing(web: Web) -> None:
    before = len(web.asked)
    assert send(web.url("302"))["ok"] is False
    assert [path for path, _ in web.asked[before:]] == ["/302"]


@pytest.mark.parametrize("url", ["nonsense://x", "tgram://bad", "", "no address at all", "json://"])
def test_an_address_that_no_service_has_is_final(url: str) -> None:
    answer = send(url)
    assert (answer["ok"], answer["final"]) == (False, True)
    assert answer["error"].startswith("the address cannot be used: ")


def test_a_datagram_proves_nothing() -> None:
    assert send("rsyslog://127.0.0.1:9") == {"ok": True, "proof": False}


THROUGH_ANOTHER = {"guilded", "jellyfin", "jellyfins"}
"""Plugins that are another one with other words, which speaks HTTP."""


def schemas(plugin: Any) -> set[str]:
    found: set[str] = set()
    for kind in (plugin.protocol, plugin.secure_protocol):
        found.update([kind] if isinstance(kind, str) else kind or ())
    return found


def test_every_service_that_speaks_no_http_is_known_to_confirm_or_not() -> None:
    import apprise

    manager: Any = apprise.NotificationManager
    silent = set()
    for plugin in manager().plugins():
        package = Path(inspect.getfile(plugin))
        files = [package] if package.parent.name == "plugins" else package.parent.glob("*.py")
        if not any("requests" in file.read_text() for file in files):
            silent.update(schemas(plugin))
    assert silent - {"mailto", "mailtos", "smpp", "smpps", "amqp", "amqps"} <= worker.UNCONFIRMED | THROUGH_ANOTHER
    assert {schema for plugin in manager().plugins() for schema in schemas(plugin)} >= worker.UNCONFIRMED


def test_a_text_is_cut_to_what_the_service_takes(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    from apprise.plugins.custom_json import NotifyJSON

    monkeypatch.setattr(NotifyJSON, "body_maxlen", 100)
    assert send(web.url("200"), text="x" * 500)["ok"]
    message = json.loads(web.asked[-1][1])["message"]
    assert len(message) <= 100
    assert message.endswith("…\n\n[cut]\nheartbeat why wake_1")


def test_a_mail_arrives_whole_and_no_header_can_be_smuggled_in(mailbox: tuple[Mailbox, int]) -> None:
    box, port = mailbox
    url = f"mailto://127.0.0.1:{port}?smtp=127.0.0.1&mode=insecure&from=hb@example.org&to=me@example.org&format=text"
    text = "Grüße\n\n.\nBcc: evil@example.org\n</pre><script>x</script>"
    answer = send(url, title="Hi\r\nBcc: evil@example.org\r\n\r\nforged", text=text)
    assert answer == {"ok": True, "proof": True}
    ((recipients, raw),) = box.mails
    mail = email.message_from_bytes(raw, policy=email.policy.default)
    assert isinstance(mail, EmailMessage)
    assert recipients == ["me@example.org"]
    assert mail["Bcc"] is None
    body = mail.get_body(("plain",))
    assert body is not None
    lines = body.get_content().replace("\r\n", "\n").strip().split("\n")
    assert lines[-1] == "heartbeat why wake_1"
    assert "Grüße" in lines[0]
    assert "forged" not in body.get_content()


def channel(folder: Path, url: str) -> Any:
    (folder / "address").write_text(url)
    (folder / "address").chmod(0o600)
    settings = Settings.model_validate({"channels": {"way": {"kind": "apprise", "url": {"file": "address"}}}})
    home = find_home(str(folder), {})
    return find_channels(settings, home, {"HOME": str(folder)}, threading.Event())["way"]


MESSAGE = Message(
    *("msg_1", MessageKind.REPLY, "way", MessageState.SENDING, "Title", "Body."), created_at=NOW, urgency=Urgency.NORMAL
)


def test_an_address_is_read_anew_for_each_message_and_never_told(tmp_path: Path, web: Web) -> None:
    way = channel(tmp_path, "nonsense://token-of-mine/pass%20phrase")
    with pytest.raises(ChannelError) as caught:
        way.send(MESSAGE)
    assert not caught.value.retryable
    assert "token-of-mine" not in str(caught.value)
    assert "phrase" not in str(caught.value)
    (tmp_path / "address").write_text(web.url("200", "user:password@"))
    assert way.send(MESSAGE) is True


def test_a_service_that_drips_for_ever_is_ended_with_its_process(tmp_path: Path, web: Web) -> None:
    way = channel(tmp_path, web.url("drip"))
    own = way.own.model_copy(update={"timeout": timedelta(seconds=1)})
    began = time.monotonic()
    with pytest.raises(ChannelError, match="took longer than 1s") as caught:
        type(way)(way.name, own, way.ground).send(MESSAGE)
    assert caught.value.retryable
    assert time.monotonic() - began < 15
    assert not [pid for pid in os.listdir("/proc") if pid.isdigit() and _is_worker(pid)]


def _is_worker(pid: str) -> bool:
    try:
        return b"_apprise_worker" in Path(f"/proc/{pid}/cmdline").read_bytes() and (
            b"msg_1" in Path(f"/proc/{pid}/environ").read_bytes()
        )
    except OSError:
        return False


def test_each_part_of_an_address_is_a_secret() -> None:
    url = "mailtos://me%40here:pass%2Fword@mail.example.org:587/?to=you@example.org&key=abcdefgh"
    parts = set(worker.parts_of(url))
    assert {"pass%2Fword", "pass/word", "mail.example.org", "abcdefgh", "example.org", "me@here", url} <= parts
    assert not {"mailtos", "587"} & parts


@pytest.mark.parametrize("length", [300, 900])
@pytest.mark.parametrize("spell", [str, str.upper, lambda url: url.replace("/", "%2F"), urllib.parse.quote])
def test_no_part_of_an_address_survives_a_cut_or_another_spelling(spell: Callable[[str], str], length: int) -> None:
    secret = ("Tok en-é+" * 200)[:length]
    url = f"json://user:SuperSecretPw@127.0.0.1/{secret}/last=part?sig=abcdefgh"
    heard = worker._Heard()
    for pad in range(worker._LONGEST_ERROR - 4 * length, worker._LONGEST_ERROR, 4 * length // 20):
        heard.lines = {"x" * pad + spell(url): None}
        told = worker._told(heard, url).lower()
        assert len(told) <= worker._LONGEST_ERROR
        assert not [part for part in ("tok", "secretpw", "last", "abcdefgh") if part in told.replace("[secret", "")]


def test_an_error_that_is_long_shows_no_half_of_a_secret(tmp_path: Path) -> None:
    secret = "Ab3" * 300
    with pytest.raises(ChannelError) as caught:
        channel(tmp_path, f"json://127.0.0.1:1/{secret}").send(MESSAGE)
    assert "Ab3" not in str(caught.value)
    assert "secret address" in str(caught.value)
