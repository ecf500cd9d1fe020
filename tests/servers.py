"""Real servers on loopback, each in a folder of its own, ended by its own handle; as root, and as a plain user.

A test module imports the fixture it uses, or names this module in its `pytest_plugins`.
"""

from __future__ import annotations

import grp
import imaplib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import TypeVar

import pytest

NOW = datetime(2026, 6, 10, 8, tzinfo=UTC)
PASSWORD = "s3cret-canary"
_users = count(1)
T = TypeVar("T")

CONFIG = """
protocols = imap
listen = 127.0.0.1
base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/log
auth_failure_delay = 0
ssl = yes
ssl_cert = <{folder}/server.pem
ssl_key = <{folder}/server.key
disable_plaintext_auth = no
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
first_valid_uid = 1
mail_location = maildir:{folder}/mail/%u
mail_max_userip_connections = 100
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid={uid} gid={gid} home={folder}/mail/%u
}}
namespace inbox {{
  inbox = yes
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    address = 127.0.0.1
    port = {port}
  }}
  inet_listener imaps {{
    address = 127.0.0.1
    port = {tls_port}
    ssl = yes
  }}
}}
service anvil {{
  chroot =
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service imap-urlauth-login {{
  chroot =
}}
"""


@dataclass(frozen=True)
class Owner:
    """Who a server runs as: it may refuse to be root."""

    prefix: list[str]
    uid: int
    gid: int
    user: str
    group: str


@dataclass(frozen=True)
class Mailbox:
    """A Maildir that a server may serve."""

    folder: Path
    user: str = ""
    owner: Owner | None = None

    def make(self, name: str = "") -> Mailbox:
        """Itself, or a folder of it (Maildir++), with what belongs into it."""
        box = Mailbox(self.folder / f".{name}" if name else self.folder, self.user, self.owner)
        for part in (box.folder, *(box.folder / part for part in ("cur", "new", "tmp"))):
            part.mkdir(parents=True, exist_ok=True)
            box._give(part)
        return box

    def deliver(self, raw: bytes, name: str = "", arrived_at: datetime | None = None, part: str = "cur") -> Path:
        """Write one mail; without flags in its name it is unread."""
        path = self.folder / part / (name or f"{next(_users)}.M{time.monotonic_ns()}.test:2,")
        path.write_bytes(raw)
        if arrived_at is not None:
            os.utime(path, (arrived_at.timestamp(),) * 2)
        self._give(path)
        return path

    def seed(self, mails: int, unread: int, newest: datetime) -> None:
        """Many mails, a minute apart, the unread ones among the newest of them."""
        self.make()
        for number in range(mails):
            arrived_at = newest - timedelta(minutes=number)
            flags = "" if number < unread else "S"
            self.deliver(
                mail(number, arrived_at), f"{int(arrived_at.timestamp())}.M{number}.seed:2,{flags}", arrived_at
            )

    def _give(self, path: Path) -> None:
        if self.owner is not None and os.getuid() == 0:
            os.chown(path, self.owner.uid, self.owner.gid)


@dataclass(frozen=True)
class Dovecot:
    port: int
    tls_port: int
    folder: Path
    authority: Path
    log: Path
    owner: Owner

    def mailbox(self) -> Mailbox:
        """An empty mailbox of a user of its own."""
        user = f"ann{next(_users)}"
        return Mailbox(self.folder / "mail" / user, user, self.owner).make()

    def said_of(self, user: str) -> list[str]:
        """The lines of the log that are about a user."""
        return [line for line in self.log.read_text(errors="replace").splitlines() if f"({user})" in line]

    def said_at_logout(self, user: str, times: int = 1) -> list[str]:
        """The lines about ended sessions, which count what was read; waits for them."""

        def ended() -> list[str]:
            lines = [line for line in self.said_of(user) if "body_count=" in line]
            return lines if len(lines) >= times else []

        return until(ended)


def mail(
    number: int, arrived_at: datetime, sender: str = "Kim <kim@example.org>", body: bytes = b"Hello.\r\n"
) -> bytes:
    received = f"from out.example.org by mx.example.com with ESMTPS id {number}; {arrived_at:%d %b %Y %H:%M:%S %z}"
    header = (
        f"Received: {received}\r\nFrom: {sender}\r\nTo: pat@example.com\r\nSubject: Mail {number}\r\n"
        f"Date: {arrived_at:%a, %d %b %Y %H:%M:%S %z}\r\nMessage-ID: <{number}@example.org>\r\nX-Other: not wanted\r\n"
    )
    return header.encode() + b"\r\n" + body


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(
    probe: Callable[[], T], process: subprocess.Popen[bytes] | None = None, log: Path | None = None, seconds: float = 20
) -> T:
    """What *probe* gives once it is something; fails at once when the process has ended."""
    end, last = time.monotonic() + seconds, ""
    while time.monotonic() < end:
        if process is not None and process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}: {log.read_text() if log else ''}")
        try:
            if result := probe():
                return result
        except (OSError, imaplib.IMAP4.error) as error:
            last = repr(error)
        time.sleep(0.02)
    raise TimeoutError(f"not so in {seconds} s; {last}")


def stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def plain_owner() -> Owner:
    uid = os.getuid()
    entry = pwd.getpwnam("nobody") if uid == 0 else pwd.getpwuid(uid)
    drop = ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]
    group = grp.getgrgid(entry.pw_gid).gr_name
    return Owner(drop if uid == 0 else [], entry.pw_uid, entry.pw_gid, entry.pw_name, group)


@contextmanager
def own_folder(owner: Owner) -> Iterator[Path]:
    """Not below pytest's folders: those cannot be entered by another user, and are too long for a socket's address."""
    folder = Path(tempfile.mkdtemp(prefix="hb-"))
    if os.getuid() == 0:
        os.chown(folder, owner.uid, owner.gid)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def make_certificate(folder: Path, name: str = "localhost") -> None:
    """A certificate of its own for *name*: `server.pem`, `server.key`."""
    # fmt: off
    argv = [
        "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650", "-subj", f"/CN={name}",
        "-addext", f"subjectAltName=DNS:{name}", "-keyout", "server.key", "-out", "server.pem",
    ]
    # fmt: on
    subprocess.run(
        argv,
        cwd=folder,
        check=True,
        capture_output=True,
    )


@contextmanager
def running_dovecot() -> Iterator[Dovecot]:
    program = shutil.which("dovecot", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        pytest.skip("dovecot is not installed (Debian: dovecot-imapd)")
    owner = plain_owner()
    with own_folder(owner) as folder:
        port, tls_port = free_port(), free_port()
        make_certificate(folder)
        words = {"folder": folder, "port": port, "tls_port": tls_port, "user": owner.user, "group": owner.group}
        text = CONFIG.format(**words, uid=owner.uid, gid=owner.gid, password=PASSWORD)
        (folder / "dovecot.conf").write_text(text)
        (folder / "mail").mkdir()
        if os.getuid() == 0:
            give(folder.iterdir(), owner)
        argv = [*owner.prefix, program, "-F", "-c", str(folder / "dovecot.conf")]
        out = folder / "out"
        with out.open("wb") as stream:
            process = subprocess.Popen(argv, stdout=stream, stderr=subprocess.STDOUT)
        server = Dovecot(port, tls_port, folder, folder / "server.pem", folder / "log", owner)
        try:
            until(lambda: _answers(server), process, out)
            yield server
        finally:
            stop(process)


def give(paths: Iterable[Path], owner: Owner) -> None:
    for path in paths:
        os.chown(path, owner.uid, owner.gid)


def _answers(server: Dovecot) -> bool:
    with imaplib.IMAP4("127.0.0.1", server.port, timeout=5) as client:
        client.login("probe", PASSWORD)
        return client.select("INBOX")[0] == "OK"


@pytest.fixture(scope="session")
def dovecot() -> Iterator[Dovecot]:
    with running_dovecot() as server:
        yield server
