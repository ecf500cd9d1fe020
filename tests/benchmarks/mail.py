"""What VIP mail costs on large mailboxes, over IMAP and from files."""

from __future__ import annotations

import imaplib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from heartbeat.paths import share
from tests.benchmarks.tools import say
from tests.servers import NOW, PASSWORD, Dovecot, Mailbox, running_dovecot

_MAILS, _UNREAD = 20_000, 50
_ROUNDS = 5


def mail(folder: Path) -> None:
    """The script itself, start of the interpreter included, on 20,000 mails of which 50 are unread, against imaplib
    asking a real Dovecot for the same headers (EXAMINE, SEARCH UNSEEN, FETCH of From and Subject). Warm: the second
    run and those after it, the median of five.
    """
    with running_dovecot() as server:
        box = server.mailbox()
        box.seed(_MAILS, _UNREAD, NOW)
        _ask_plainly(server, box)  # the server's own index of a mailbox is built once
        imap = {"imap": f"imap://127.0.0.1:{server.port}", "user": box.user, "password": PASSWORD}
        _say("IMAP", lambda: _ask_plainly(server, box), lambda: _tick(folder, imap), "imaplib")
    maildir = Mailbox(folder / "Maildir")
    maildir.seed(_MAILS, _UNREAD, NOW)
    _say("Maildir", lambda: _list(maildir), lambda: _tick(folder, {"maildir": str(maildir.folder)}), "os.listdir")


@dataclass(frozen=True)
class _Cost:
    wall: float
    cpu: float


def _say(what: str, plainly: Callable[[], None], tick: Callable[[], _Cost], than: str) -> None:
    tick()
    walls, costs = [], []
    for _ in range(_ROUNDS):
        started = time.monotonic()
        plainly()
        walls.append(time.monotonic() - started)
        costs.append(tick())
    wall, plain = statistics.median(cost.wall for cost in costs), statistics.median(walls)
    cpu = statistics.median(cost.cpu for cost in costs)
    say(f"{what}, 20,000 mails, warm", f"{wall:.2f} s", than, f"{plain:.2f} s", wall / plain, "1 s")
    say(f"{what}, 20,000 mails, CPU", f"{cpu * 1e3:.0f} ms", "-", "-", None, "150 ms")


def _ask_plainly(server: Dovecot, box: Mailbox) -> None:
    with imaplib.IMAP4("127.0.0.1", server.port, timeout=30) as client:
        client.login(box.user, PASSWORD)
        client.select("INBOX", readonly=True)
        since = f"{NOW - timedelta(days=3):%d-%b-%Y}"
        found = client.uid("SEARCH", "UNSEEN", "SINCE", since)[1][0].split()
        assert len(found) == _UNREAD
        client.uid("FETCH", b",".join(found).decode(), "(BODY.PEEK[HEADER.FIELDS (FROM SUBJECT)])")


def _list(box: Mailbox) -> None:
    assert len(os.listdir(box.folder / "cur")) == _MAILS


def _tick(folder: Path, source: Mapping[str, Any]) -> _Cost:
    environment = {
        "HEARTBEAT_NOW": NOW.isoformat(),
        "HEARTBEAT_CACHE_DIR": str(folder / "cache"),
        "HEARTBEAT_OPTIONS": json.dumps({"sources": [source], "vips": ["Kim <kim@example.org>"]}),
    }
    started = time.monotonic()
    script = str(share("jobs") / "vip_mail.py")
    read, write = os.pipe()
    child = os.posix_spawn(
        sys.executable,
        [sys.executable, "-P", script],
        {**os.environ, **environment},
        file_actions=[(os.POSIX_SPAWN_DUP2, write, 1)],
    )
    os.close(write)
    with os.fdopen(read, "rb") as said:
        gate = json.loads(said.read().splitlines()[-1])
    _, status, usage = os.wait4(child, 0)
    assert status == 0
    assert len(gate["findings"]) == _UNREAD, gate["sources"]
    return _Cost(time.monotonic() - started, usage.ru_utime + usage.ru_stime)
