"""Unread mails as a real notmuch names them, read from their files."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.mail_sources.reading import read_one, subjects
from tests.servers import NOW, Mailbox, mail

needs_notmuch = pytest.mark.skipif(shutil.which("notmuch") is None, reason="notmuch is not installed")


@pytest.fixture
def box(tmp_path: Path) -> Mailbox:
    return Mailbox(tmp_path / "mail").make()


@pytest.fixture
def config(box: Mailbox, tmp_path: Path) -> Path:
    path = tmp_path / "notmuch-config"
    tags = "[new]\ntags=unread;inbox;\n[maildir]\nsynchronize_flags=true\n"
    path.write_text(f"[database]\npath={box.folder}\n[user]\nname=Pat\nprimary_email=pat@example.com\n{tags}")
    return path


def learn(config: Path) -> None:
    environment = {**os.environ, "NOTMUCH_CONFIG": str(config)}
    subprocess.run(["notmuch", "new", "--quiet"], env=environment, check=True, capture_output=True)


def tag(config: Path, *words: str) -> None:
    subprocess.run(["notmuch", "tag", *words], env={**os.environ, "NOTMUCH_CONFIG": str(config)}, check=True)


@needs_notmuch
def test_unread_mails_are_found_by_a_configuration(box: Mailbox, config: Path) -> None:
    box.deliver(mail(1, NOW))
    box.deliver(mail(2, NOW), "2.M2.host:2,S")
    learn(config)
    found = read_one({"notmuch": str(config)})
    assert (subjects(found), found.fault) == (["Mail 1"], "")


@needs_notmuch
def test_the_query_is_the_owners(box: Mailbox, config: Path) -> None:
    for number in range(3):
        box.deliver(mail(number, NOW))
    learn(config)
    tag(config, "+boss", "--", "id:1@example.org")
    tag(config, "-unread", "--", "id:2@example.org")
    assert subjects(read_one({"notmuch": str(config), "query": "tag:unread and tag:boss"})) == ["Mail 1"]
    assert subjects(read_one({"notmuch": str(config)})) == ["Mail 0", "Mail 1"]


@needs_notmuch
def test_two_mails_of_one_message_id_are_both_read(box: Mailbox, config: Path) -> None:
    """To notmuch they are one; so could a stranger hide a mail behind another."""
    box.deliver(mail(1, NOW, sender="boss@example.org"))
    box.deliver(mail(1, NOW, sender="eve@example.net").replace(b"Mail 1", b"Mail 2"))
    learn(config)
    assert subjects(read_one({"notmuch": str(config)})) == ["Mail 1", "Mail 2"]


@needs_notmuch
def test_a_date_of_long_ago_hides_no_mail(box: Mailbox, config: Path) -> None:
    box.deliver(mail(1, NOW.replace(year=2001)))
    learn(config)
    assert subjects(read_one({"notmuch": str(config)})) == ["Mail 1"]


@needs_notmuch
def test_a_file_that_moved_since_notmuch_looked_is_found(box: Mailbox, config: Path) -> None:
    path = box.deliver(mail(1, NOW), "1.M1.host", part="new")
    learn(config)
    moved = next(path for path in box.folder.rglob("1.M1.host*"))
    os.rename(moved, box.folder / "cur" / "1.M1.host:2,F")
    assert not path.exists()
    found = read_one({"notmuch": str(config)})
    assert (subjects(found), found.fault) == (["Mail 1"], "")


@needs_notmuch
def test_files_that_are_nowhere_any_more_are_told(box: Mailbox, config: Path) -> None:
    path = box.deliver(mail(1, NOW))
    learn(config)
    path.unlink()
    assert read_one({"notmuch": str(config)}).fault == (
        "cannot find any of the 1 files that notmuch names; run notmuch new"
    )


@needs_notmuch
def test_a_query_that_notmuch_refuses_is_told_in_one_line(box: Mailbox, config: Path) -> None:
    learn(config)
    found = read_one({"notmuch": str(config), "query": "date:nonsense.."})
    assert found.messages == ()
    assert found.fault.startswith("cannot search with notmuch: ")
    assert found.fault.isprintable()


@needs_notmuch
def test_an_empty_mailbox_is_no_failure(config: Path) -> None:
    learn(config)
    found = read_one({"notmuch": str(config)})
    assert (found.messages, found.fault) == ((), "")


@needs_notmuch
def test_a_configuration_without_a_database_is_a_failure(config: Path) -> None:
    assert read_one({"notmuch": str(config)}).fault.startswith("cannot search with notmuch: ")


def test_a_place_that_is_no_configuration_file_is_a_failure(tmp_path: Path) -> None:
    for place in (tmp_path / "gone", tmp_path):
        assert read_one({"notmuch": str(place)}).fault.startswith("cannot find notmuch's configuration file")


def test_a_missing_program_is_told(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_one({"notmuch": str(config)}).fault.startswith("cannot start notmuch: no such program in PATH")


def test_a_program_that_hangs_is_ended(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "notmuch"
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert "not done in" in read_one({"notmuch": str(config)}, seconds=0.5).fault
