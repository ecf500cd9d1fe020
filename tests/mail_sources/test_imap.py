"""Unread mails at a real Dovecot: nothing is marked, no body is read, and the mail is what counts, not its number."""

from __future__ import annotations

import logging
import os
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from heartbeat.sources.mail import connection, imap
from heartbeat.sources.mail.imap_words import LONGEST
from tests.mail_sources.reading import read, read_one, subject, subjects
from tests.servers import NOW, PASSWORD, Dovecot, Mailbox, dovecot, mail, make_certificate, until

__all__ = ["dovecot"]


@pytest.fixture
def box(dovecot: Dovecot) -> Mailbox:
    return dovecot.mailbox()


def at(server: Dovecot, box: Mailbox, **settings: Any) -> dict[str, Any]:
    return {"imap": f"imap://127.0.0.1:{server.port}", "user": box.user, "password": PASSWORD, **settings}


def over_tls(server: Dovecot, box: Mailbox, **settings: Any) -> dict[str, Any]:
    place = f"imaps://localhost:{server.tls_port}"
    return {"imap": place, "user": box.user, "password": PASSWORD, "ca_file": str(server.authority), **settings}


def test_unread_mails_come_with_their_fields_and_their_arrival(dovecot: Dovecot, box: Mailbox) -> None:
    box.deliver(mail(1, NOW - timedelta(hours=3)), arrived_at=NOW - timedelta(hours=1))
    box.deliver(mail(2, NOW), "2.M2.host:2,S", arrived_at=NOW)
    unread = read_one(at(dovecot, box))
    assert (subjects(unread), unread.fault) == (["Mail 1"], "")
    (message,) = unread.messages
    assert message.arrived_at == NOW - timedelta(hours=1)
    assert [name for name, _ in message.fields] == ["received", "from", "subject", "date", "message-id"]


def test_two_froms_come_both(dovecot: Dovecot, box: Mailbox) -> None:
    box.deliver(b"From: a@example.org\r\nFrom: b@example.org\r\nSubject: x\r\n\r\n", arrived_at=NOW)
    (message,) = read_one(at(dovecot, box)).messages
    assert list(message.all("from")) == [b"a@example.org", b"b@example.org"]


def test_nothing_is_marked_as_read_and_no_body_is_read(dovecot: Dovecot, box: Mailbox) -> None:
    for number in range(3):
        box.deliver(mail(number, NOW, body=b"secret body\r\n" * 1000), arrived_at=NOW)
    for _ in range(2):
        assert len(read_one(at(dovecot, box)).messages) == 3
    lines = dovecot.said_at_logout(box.user, times=2)
    assert all("body_count=0 body_bytes=0" in line for line in lines)
    assert not any("hdr_count=0" in line for line in lines[:1])
    assert not [path for path in (box.folder / "cur").iterdir() if "S" in path.name.partition(":2,")[2]]


def test_what_is_too_old_is_not_even_fetched(dovecot: Dovecot, box: Mailbox) -> None:
    box.deliver(mail(1, NOW), arrived_at=NOW - timedelta(days=6))
    box.deliver(mail(2, NOW), arrived_at=NOW - timedelta(days=1))
    assert subjects(read_one(at(dovecot, box))) == ["Mail 2"]


def test_a_rebuilt_mailbox_gives_the_same_mails(dovecot: Dovecot, box: Mailbox) -> None:
    for number in range(3):
        box.deliver(mail(number, NOW), arrived_at=NOW - timedelta(minutes=number))
    before = read_one(at(dovecot, box))
    for path in box.folder.glob("dovecot*"):
        path.unlink()
    assert set(read_one(at(dovecot, box)).messages) == set(before.messages)
    assert len(before.messages) == 3


def test_a_mail_moved_away_and_back_is_the_same(dovecot: Dovecot, box: Mailbox) -> None:
    path = box.deliver(mail(1, NOW), arrived_at=NOW)
    before = read_one(at(dovecot, box))
    away = box.make("Away").folder / "cur" / path.name
    os.rename(path, away)
    assert read_one(at(dovecot, box)).messages == ()
    assert read_one(at(dovecot, box, folders=["Away"])).messages == before.messages
    os.rename(away, path)
    assert read_one(at(dovecot, box)).messages == before.messages


def test_an_empty_mailbox_is_no_failure(dovecot: Dovecot, box: Mailbox) -> None:
    unread = read_one(at(dovecot, box))
    assert (unread.messages, unread.fault) == ((), "")


def test_several_folders_are_one_login_and_a_missing_one_costs_only_itself(dovecot: Dovecot, box: Mailbox) -> None:
    box.deliver(mail(1, NOW), arrived_at=NOW)
    box.make("Entw&APw-rfe").deliver(mail(2, NOW), arrived_at=NOW)
    unread = read_one(at(dovecot, box, folders=["INBOX", "Gone", "Entwürfe"]))
    assert subjects(unread) == ["Mail 1", "Mail 2"]
    assert unread.fault.startswith("cannot open the folder 'Gone'; mend folders; the account has ")
    assert "Entwürfe" in unread.fault
    assert len(dovecot.said_at_logout(box.user)) == 1


def test_more_mails_than_one_batch_come_whole_and_newest_first(dovecot: Dovecot, box: Mailbox) -> None:
    for number in range(501):
        box.deliver(
            mail(number, NOW), f"{number:04}.M{number}.host:2,", arrived_at=NOW - timedelta(minutes=501 - number)
        )
    unread = read_one(at(dovecot, box))
    assert len(set(unread.messages)) == 501
    assert unread.messages[0].arrived_at == NOW - timedelta(minutes=1)


def test_a_mail_with_a_monstrous_header_costs_only_itself(dovecot: Dovecot, box: Mailbox) -> None:
    box.deliver(mail(1, NOW), arrived_at=NOW)
    monstrous = b"From: a@example.org\r\nSubject: " + b"Big\r\n " * 120_000 + b"\r\n\r\n"
    box.deliver(monstrous, arrived_at=NOW)
    unread = read_one(at(dovecot, box))
    assert (len(unread.messages), unread.fault) == (2, "")
    assert sorted(message.damaged for message in unread.messages) == [False, True]


@pytest.mark.parametrize(("most", "expected"), [(64 << 20, (12, "")), (700_000, (9, "the newest were read"))])
def test_a_flood_of_monstrous_headers_hides_no_newer_mail(
    dovecot: Dovecot, box: Mailbox, monkeypatch: pytest.MonkeyPatch, most: int, expected: tuple[int, str]
) -> None:
    monkeypatch.setattr(connection, "MOST_KEPT", most)
    monkeypatch.setattr(imap, "BATCH", 3)
    monstrous = b"From: a@example.org\r\nSubject: " + b"Big\r\n " * 40_000 + b"\r\n\r\n"
    for number in range(11):
        box.deliver(monstrous, f"{number:04}.M{number}.host:2,", arrived_at=NOW - timedelta(minutes=60 - number))
    box.deliver(mail(1, NOW), "9999.M1.host:2,", arrived_at=NOW)
    unread = read_one(at(dovecot, box))
    count, fault = expected
    assert (len(unread.messages), subject(unread.messages[0])) == (count, "Mail 1")
    assert fault in unread.fault
    assert bool(unread.fault) == bool(fault)


def test_so_much_of_a_header_is_asked_for_and_no_more(dovecot: Dovecot, box: Mailbox) -> None:
    start = b"From: a@example.org\r\nSubject: "
    for more in (0, 3):
        # The last that is asked for is the blank line, or half the end of the line before it.
        text = b"x" * (LONGEST - len(start) - 4 + more)
        box.deliver(start + text + b"\r\n\r\n", arrived_at=NOW)
    assert sorted(len(subject(message)) for message in read_one(at(dovecot, box)).messages) == [
        0,
        LONGEST - len(start) - 4,
    ]


def test_tls_with_a_trusted_certificate(dovecot: Dovecot, box: Mailbox) -> None:
    box.deliver(mail(1, NOW), arrived_at=NOW)
    assert subjects(read_one(over_tls(dovecot, box))) == ["Mail 1"]


def test_starttls(dovecot: Dovecot, box: Mailbox) -> None:
    box.deliver(mail(1, NOW), arrived_at=NOW)
    place = f"imap://localhost:{dovecot.port}"
    table = at(dovecot, box, starttls=True, ca_file=str(dovecot.authority)) | {"imap": place}
    assert subjects(read_one(table)) == ["Mail 1"]
    dovecot.said_at_logout(box.user)
    assert any("TLS" in line for line in dovecot.log.read_text().splitlines() if f"user=<{box.user}>" in line)


def test_a_certificate_that_is_not_trusted_ends_it_before_the_login(dovecot: Dovecot, box: Mailbox) -> None:
    table = over_tls(dovecot, box)
    del table["ca_file"]
    assert read_one(table).fault.startswith("cannot trust localhost: self-signed certificate")
    assert not dovecot.said_of(box.user)


def test_a_certificate_of_another_host_is_refused(dovecot: Dovecot, box: Mailbox, tmp_path: Path) -> None:
    table = over_tls(dovecot, box) | {"imap": f"imaps://127.0.0.1:{dovecot.tls_port}"}
    assert read_one(table).fault.startswith("cannot trust 127.0.0.1: IP address mismatch")
    make_certificate(tmp_path, "elsewhere")
    assert "cannot trust localhost" in read_one(over_tls(dovecot, box, ca_file=str(tmp_path / "server.pem"))).fault


def test_tls_where_none_is_spoken_is_told(dovecot: Dovecot, box: Mailbox) -> None:
    table = over_tls(dovecot, box) | {"imap": f"imaps://localhost:{dovecot.port}"}
    assert read_one(table).fault.startswith("cannot speak TLS with localhost; see whether the port is right")


def test_a_wrong_password_is_told_and_not_tried_again_for_a_while(
    dovecot: Dovecot, box: Mailbox, tmp_path: Path
) -> None:
    def tries() -> int:
        said = dovecot.log.read_text()
        return sum(f"user=<{box.user}>" in line and "auth failed" in line for line in said.splitlines())

    wrong = at(dovecot, box, password="wr0ng-canary")
    first = read_one(wrong, cache=tmp_path)
    assert first.fault.startswith("cannot log in to 127.0.0.1: user or password is refused (AUTHENTICATIONFAILED)")
    assert "08:10" in first.fault
    assert "canary" not in first.fault
    assert box.user not in first.fault
    again = read_one(wrong, cache=tmp_path, now=NOW + timedelta(minutes=9, seconds=59))
    assert "not tried before 08:10" in again.fault
    read_one(wrong, cache=tmp_path, now=NOW + timedelta(minutes=10))
    assert "08:30" in read_one(wrong, cache=tmp_path, now=NOW + timedelta(minutes=10, seconds=1)).fault
    # The log comes a moment later.
    until(lambda: tries() >= 2)
    assert tries() == 2


def test_another_password_is_tried_at_once(dovecot: Dovecot, box: Mailbox, tmp_path: Path) -> None:
    box.deliver(mail(1, NOW), arrived_at=NOW)
    read_one(at(dovecot, box, password="wr0ng-canary"), cache=tmp_path)
    assert subjects(read_one(at(dovecot, box), cache=tmp_path)) == ["Mail 1"]
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_password_of_any_letters_gets_in_whole(dovecot: Dovecot, box: Mailbox) -> None:
    """A wrong one, but it must be refused for being wrong."""
    assert "refused (AUTHENTICATIONFAILED)" in read_one(at(dovecot, box, password='pä"ss\\ wörd 😀')).fault


def test_nothing_secret_is_logged(dovecot: Dovecot, box: Mailbox, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        read(at(dovecot, box), over_tls(dovecot, box), at(dovecot, box, password="wr0ng-canary"))
    assert "canary" not in caplog.text


def test_a_server_that_is_down_is_told(dovecot: Dovecot, box: Mailbox) -> None:
    table = at(dovecot, box) | {"imap": "imap://127.0.0.1:1"}
    assert read_one(table).fault == "cannot connect to 127.0.0.1: Connection refused; see whether it is up"


def test_the_seed_of_the_benchmark_is_what_it_says(dovecot: Dovecot, box: Mailbox) -> None:
    shutil.rmtree(box.folder)
    box.seed(300, 20, NOW)
    assert len(read_one(at(dovecot, box)).messages) == 20
    assert len(read_one({"maildir": str(box.folder)}).messages) == 20
