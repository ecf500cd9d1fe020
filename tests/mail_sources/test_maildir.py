"""Unread mails of a Maildir: what counts as unread, what moves meanwhile, and that nothing is ever touched."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic

import pytest

from heartbeat.sources.mail import maildir
from heartbeat.sources.mail.ask import Ask
from heartbeat.sources.mail.raw import LONGEST
from tests.mail_sources.reading import SINCE, read_one, subjects
from tests.servers import NOW, Mailbox, mail


@pytest.fixture
def box(tmp_path: Path) -> Mailbox:
    return Mailbox(tmp_path / "Maildir").make()


NAMES = {
    "1.M1.host:2,": True,
    "1.M1.host:2,S": False,
    "1.M1.host:2,F": True,
    "1.M1.host:2,FRS": False,
    "1.M1.host:2,RSTab": False,
    "1.M1.host,S=1234,W=1240:2,": True,
    "1.M1.host,S=1234,W=1240:2,S": False,
    "1.M1.Shost": True,
    "1.M1.host": True,
    "1.M1.host;2,S": False,
    "1.M1.host;2,": True,
    "1.M1.host!2,S": False,
    "1.M1.host!2,F": True,
    "1.M1.host:1,S": True,
    ".1.M1.host:2,": False,
    ".nfs000000001": False,
}


@pytest.mark.parametrize("part", ["cur", "new"])
@pytest.mark.parametrize(("name", "unread"), NAMES.items())
def test_a_mail_is_unread_until_its_name_has_the_flag_for_seen(
    box: Mailbox, name: str, unread: bool, part: str
) -> None:
    box.deliver(mail(1, NOW), name, part=part)
    assert len(read_one({"maildir": str(box.folder)}).messages) == unread


def test_the_fields_come_from_the_file_and_its_time_stands_by(box: Mailbox) -> None:
    box.deliver(mail(1, NOW), arrived_at=NOW - timedelta(minutes=3))
    (message,) = read_one({"maildir": str(box.folder)}).messages
    assert list(message.all("message-id")) == [b"<1@example.org>"]
    assert "x-other" not in dict(message.fields)
    assert (message.arrived_at, message.file_time) == (None, NOW - timedelta(minutes=3))


def test_nothing_is_changed_by_reading(box: Mailbox) -> None:
    path = box.deliver(mail(1, NOW), part="new", arrived_at=NOW)
    os.chmod(path, 0o400)
    before = sorted((str(at), os.stat(at).st_mtime_ns, os.stat(at).st_ctime_ns) for at in box.folder.rglob("*"))
    assert len(read_one({"maildir": str(box.folder)}).messages) == 1
    assert sorted((str(at), os.stat(at).st_mtime_ns, os.stat(at).st_ctime_ns) for at in box.folder.rglob("*")) == before


def test_folders_are_looked_into_as_they_are_named(box: Mailbox, tmp_path: Path) -> None:
    box.deliver(mail(1, NOW))
    box.make("Work.Boss").deliver(mail(2, NOW))
    Mailbox(box.folder / "Plain" / "Below").make().deliver(mail(3, NOW))
    found = read_one({"maildir": str(box.folder), "folders": ["INBOX", "Work/Boss", "Plain/Below"]})
    assert (subjects(found), found.fault) == (["Mail 1", "Mail 2", "Mail 3"], "")
    assert subjects(read_one({"maildir": str(box.folder), "folders": "Work.Boss"})) == ["Mail 2"]
    assert subjects(read_one({"maildir": str(box.folder)})) == ["Mail 1"]


def test_an_empty_folder_is_no_failure_and_a_vanished_one_is(box: Mailbox, tmp_path: Path) -> None:
    assert (read_one({"maildir": str(box.folder)}).messages, read_one({"maildir": str(box.folder)}).fault) == ((), "")
    assert "cannot list the folder 'INBOX'" in read_one({"maildir": str(tmp_path / "gone")}).fault
    (box.folder / "cur").rmdir()
    assert "cannot list the folder 'INBOX'" in read_one({"maildir": str(box.folder)}).fault


def test_a_folder_that_is_missing_costs_only_itself(box: Mailbox) -> None:
    box.deliver(mail(1, NOW))
    found = read_one({"maildir": str(box.folder), "folders": ["INBOX", "Gone"]})
    assert subjects(found) == ["Mail 1"]
    assert found.fault.startswith("cannot list the folder 'Gone': No such file")


def test_a_mail_that_moves_between_listing_and_opening_is_found(box: Mailbox) -> None:
    path = box.deliver(mail(1, NOW), "1.M1.host", part="new")
    os.rename(path, box.folder / "cur" / "1.M1.host:2,F")
    messages, fault = maildir.read_files([str(path)], Ask(SINCE, NOW, monotonic() + 20))
    assert (len(messages), fault) == (1, "")


def test_a_mail_that_moves_after_its_time_was_looked_at_is_found(box: Mailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    path = box.deliver(mail(1, NOW), "1.M1.host", part="new")
    stamp = maildir._stamp

    def then_move(paths: list[str]) -> object:
        stamped = stamp(paths)
        if path.exists():
            os.rename(path, box.folder / "cur" / "1.M1.host:2,")
        return stamped

    monkeypatch.setattr(maildir, "_stamp", then_move)
    assert subjects(read_one({"maildir": str(box.folder)})) == ["Mail 1"]


@pytest.mark.parametrize("to", ["1.M1.host:2,S", None], ids=["read", "deleted"])
def test_a_mail_that_is_read_or_deleted_meanwhile_is_no_fault(box: Mailbox, to: str | None) -> None:
    path = box.deliver(mail(1, NOW), "1.M1.host", part="new")
    if to:
        (box.folder / "cur" / to).write_bytes(path.read_bytes())
    path.unlink()
    assert maildir.read_files([str(path)], Ask(SINCE, NOW, monotonic() + 20)) == ([], "")


def test_a_mail_met_in_new_and_in_cur_is_one(box: Mailbox) -> None:
    box.deliver(mail(1, NOW), "1.M1.host", part="new")
    box.deliver(mail(1, NOW), "1.M1.host:2,", part="cur")
    assert len(read_one({"maildir": str(box.folder)}).messages) == 1


def test_an_old_file_time_hides_no_mail(box: Mailbox) -> None:
    """As after a copy that keeps times, or where a program sets them to what the sender wrote as Date."""
    box.deliver(mail(1, NOW), arrived_at=datetime(2001, 1, 1, tzinfo=UTC))
    assert subjects(read_one({"maildir": str(box.folder)})) == ["Mail 1"]


def test_files_that_cannot_have_arrived_lately_are_not_opened(box: Mailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    old = box.deliver(mail(1, NOW), "1.M1.host:2,")
    box.deliver(mail(2, NOW), "2.M1.host:2,")
    margin, newest = timedelta(days=2), NOW.timestamp()
    since = NOW - timedelta(days=1)
    for stamp, kept in [((since - margin).timestamp(), 2), ((since - margin).timestamp() - 1, 1)]:
        # The real ctime cannot be set, so the one that is looked at is.
        monkeypatch.setattr(
            maildir, "_stamp", lambda paths, stamp=stamp: ([(stamp if p == str(old) else newest, p) for p in paths], [])
        )
        assert len(read_one({"maildir": str(box.folder)}, since=since).messages) == kept


def test_files_of_a_clock_far_behind_are_read(box: Mailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    box.deliver(mail(1, NOW))
    monkeypatch.setattr(maildir, "_stamp", lambda paths: ([(1000.0, path) for path in paths], []))
    assert subjects(read_one({"maildir": str(box.folder)})) == ["Mail 1"]


def test_the_header_is_read_to_its_end_wherever_that_is(box: Mailbox) -> None:
    long = b"X-Pad: " + b"x" * 100_000 + b"\r\n"
    box.deliver(long + mail(1, NOW, body=b"y" * 500_000))
    (message,) = read_one({"maildir": str(box.folder)}).messages
    assert (dict(message.fields)["subject"], message.damaged) == (b"Mail 1", False)


def test_of_an_endless_header_the_beginning_is_read_and_the_damage_told(box: Mailbox) -> None:
    box.deliver(b"Subject: Mail 1\r\nX-Pad: " + b"x" * LONGEST)
    (message,) = read_one({"maildir": str(box.folder)}).messages
    assert (dict(message.fields), message.damaged) == ({"subject": b"Mail 1"}, True)


def test_a_pipe_a_folder_and_a_dangling_link_among_the_mails_hold_up_nothing(box: Mailbox) -> None:
    box.deliver(mail(1, NOW))
    os.mkfifo(box.folder / "cur" / "pipe:2,")
    (box.folder / "cur" / "folder:2,").mkdir()
    (box.folder / "cur" / "link:2,").symlink_to("nowhere")
    found = read_one({"maildir": str(box.folder)})
    assert (subjects(found), found.fault) == (["Mail 1"], "")


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_a_mail_that_may_not_be_read_is_told_and_the_others_are_read(box: Mailbox) -> None:
    box.deliver(mail(1, NOW))
    os.chmod(box.deliver(mail(2, NOW)), 0)
    found = read_one({"maildir": str(box.folder)})
    assert subjects(found) == ["Mail 1"]
    assert found.fault == "cannot read 1 mails: Permission denied; mend their permissions or the disk"


def test_without_time_the_fault_says_so(box: Mailbox) -> None:
    box.deliver(mail(1, NOW))
    unread = maildir.read_files(
        [str(path) for path in (box.folder / "cur").iterdir()], Ask(SINCE, NOW, monotonic() - 1)
    )
    assert unread == ([], "cannot read all mails in time; the newest were read; see why the disk is slow")


def test_names_that_are_not_utf8_are_read(box: Mailbox) -> None:
    with open(os.path.join(os.fsencode(box.folder), b"cur", b"1.\xff\xfe:2,"), "wb") as file:
        file.write(mail(1, NOW))
    assert subjects(read_one({"maildir": str(box.folder)})) == ["Mail 1"]


@pytest.mark.parametrize("folder", [".Entwürfe", "Entwürfe", ".Entw&APw-rfe", "Entw&APw-rfe"])
def test_a_folder_with_letters_beyond_ascii_may_be_written_as_imap_does(tmp_path: Path, folder: str) -> None:
    Mailbox(tmp_path / folder).make().deliver(mail(1, NOW))
    unread = read_one({"maildir": str(tmp_path), "folders": ["Entwürfe"]})
    assert (subjects(unread), unread.fault) == (["Mail 1"], "")


def test_a_folder_is_taken_as_it_is_named_before_it_is_taken_as_imap_writes_it(tmp_path: Path) -> None:
    Mailbox(tmp_path / ".R&D").make().deliver(mail(1, NOW))
    Mailbox(tmp_path / ".R&-D").make().deliver(mail(2, NOW))
    assert subjects(read_one({"maildir": str(tmp_path), "folders": ["R&D"]})) == ["Mail 1"]
