"""All sources together: each answers for itself, and none can hold up, break or hide another."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from heartbeat.sources.entries import Entry
from heartbeat.sources.mail import maildir
from heartbeat.sources.mail.ask import Ask
from heartbeat.sources.mail.message import Unread
from heartbeat.sources.mail.read import KINDS, PATHS, read_mail
from tests.mail_sources.reading import SINCE, read, subjects
from tests.servers import NOW, Mailbox, mail


@pytest.fixture
def box(tmp_path: Path) -> Mailbox:
    box = Mailbox(tmp_path / "Maildir").make()
    box.deliver(mail(1, NOW))
    return box


def test_sources_come_in_their_order_and_a_broken_one_costs_only_itself(box: Mailbox, tmp_path: Path) -> None:
    tables: list[dict[str, Any]] = [{"maildir": str(tmp_path / "gone")}, {"maildir": str(box.folder)}, {"what": "ever"}]
    gone, good, unknown = read(*tables)
    assert gone.fault.startswith("cannot list the folder")
    assert (subjects(good), good.fault) == (["Mail 1"], "")
    assert unknown.fault.startswith("cannot tell what it is")


def test_every_kind_has_a_module_that_reads() -> None:
    for kind in KINDS:
        done = subprocess.run(
            [sys.executable, "-c", f"from heartbeat.sources.mail.{kind} import read"], capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert set(PATHS) <= set(KINDS)


def test_a_source_that_hangs_is_left_behind(box: Mailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    real = maildir.read

    def slow(entry: Entry, ask: Ask) -> Unread:
        if entry.name == "slow":
            time.sleep(20)
        return real(entry, ask)

    monkeypatch.setattr(maildir, "read", slow)
    monkeypatch.setattr("heartbeat.sources.mail.read._GRACE", 0.1)
    place = str(box.folder)
    late, good = read({"maildir": place, "name": "slow"}, {"maildir": place, "name": "good"}, seconds=1)
    assert late.fault == "cannot read it: not done in 1 s; see whether its server or its disk is slow"
    assert subjects(good) == ["Mail 1"]


@pytest.mark.parametrize("error", [RuntimeError("canary"), KeyError("canary"), MemoryError(), RecursionError()])
def test_what_nobody_foresaw_is_a_fault_without_its_text(
    box: Mailbox, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_entry: Entry, _ask: Ask) -> Unread:
        raise error

    monkeypatch.setattr(maildir, "read", fail)
    (unread,) = read({"maildir": str(box.folder)})
    assert unread.fault == f"cannot read it: {type(error).__name__}; please report this"


def test_a_tick_of_a_maildir_imports_nothing_heavy(box: Mailbox) -> None:
    code = (
        "import sys; from datetime import UTC, datetime; from heartbeat.sources.entries import Entry\n"
        "from heartbeat.sources.mail.read import read_mail\n"
        f"entry = Entry('m', 'maildir', {str(box.folder)!r})\n"
        "now = datetime(2026, 6, 10, tzinfo=UTC)\n"
        "(_, unread), = read_mail([entry], now, now, None)\n"
        "assert len(unread.messages) == 1, unread\n"
        "print([name for name in ('ssl', 'httpx', 'imaplib', 'subprocess', 'email') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_sources_are_no_mails() -> None:
    assert list(read_mail([], SINCE, NOW, None)) == []
