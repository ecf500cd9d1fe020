"""Servers that are hostile, broken or slow: each is a fault in words, within the limit, and shows no secret."""

from __future__ import annotations

import base64
import socket
import ssl
import time
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from heartbeat.sources.mail import connection
from heartbeat.sources.mail.raw import LONGEST
from tests.doubles.imap import Answer, Talk, imap_double
from tests.mail_sources.reading import read_one
from tests.servers import make_certificate

SECRET = "canary-password"
LIMIT = 1.0


def table(port: int, **settings: Any) -> dict[str, Any]:
    return {"imap": f"imap://127.0.0.1:{port}", "user": "canary-user", "password": SECRET, **settings}


def drip(piece: bytes) -> Answer:
    def answer(talk: Talk) -> None:
        with suppress(OSError):
            while True:
                talk.conn.sendall(piece)
                time.sleep(0.05)

    return answer


def flood(piece: bytes) -> Answer:
    def answer(talk: Talk) -> None:
        with suppress(OSError):
            while True:
                talk.conn.sendall(piece * 1000)

    return answer


def hang(talk: Talk) -> None:
    with suppress(OSError):
        talk.conn.recv(1 << 20)
        time.sleep(30)


def hang_up(talk: Talk) -> None:
    talk.conn.shutdown(socket.SHUT_RDWR)


NOT_IN_TIME = "no whole answer in time"
ENDED = "it ended the connection, or speaks no IMAP"
NO_IMAP = "it answers as no IMAP server does"
TOO_MUCH = "it sends more than any mailbox holds"
HOSTILE: dict[str, tuple[dict[str, Answer], str]] = {
    "says nothing": ({"GREETING": hang}, NOT_IN_TIME),
    "drips its greeting": ({"GREETING": drip(b"x")}, NOT_IN_TIME),
    "drips lines": ({"GREETING": drip(b"* OK canary\r\n")}, NOT_IN_TIME),
    "drips an answer": ({"UID FETCH": drip(b"* 1 FETCH (UID 1)\r\n")}, NOT_IN_TIME),
    "drips a literal": ({"UID FETCH": drip(b"* 1 FETCH (UID 7 BODY[] {99999}\r\n")}, NOT_IN_TIME),
    "hangs in the login": ({"AUTHENTICATE": hang}, NOT_IN_TIME),
    "sends an endless line": ({"GREETING": flood(b"canary ")}, TOO_MUCH),
    "sends endless lines": ({"EXAMINE": flood(b"* 1 EXISTS\r\n")}, TOO_MUCH),
    "says BYE": ({"GREETING": b"* BYE canary overloaded\r\n"}, NO_IMAP),
    "says BYE later": ({"EXAMINE": b"* BYE canary going down\r\n"}, ENDED),
    "hangs up at once": ({"GREETING": hang_up}, ENDED),
    "hangs up in the middle": ({"UID SEARCH": hang_up}, ENDED),
    "speaks HTTP": ({"GREETING": b"HTTP/1.1 400 Bad Request canary\r\n\r\n"}, ENDED),
    "speaks nonsense": ({"GREETING": bytes(range(256)) + b"\r\n"}, ENDED),
    "knows no IMAP4": ({"CAPABILITY": b"* CAPABILITY POP3\r\n%TAG% OK done\r\n"}, NO_IMAP),
    "tells no capability": ({"CAPABILITY": b"%TAG% OK done\r\n"}, NO_IMAP),
    "does not understand": ({"EXAMINE": b"%TAG% BAD canary\r\n"}, NO_IMAP),
    "refuses to search": ({"UID SEARCH": b"%TAG% NO canary\r\n"}, "the server refuses to search"),
    "refuses to fetch": ({"UID FETCH": b"%TAG% NO canary\r\n"}, "the server refuses to search or to fetch"),
    "lets in unasked": ({"GREETING": b"* PREAUTH canary\r\n"}, "user or password is refused"),
    "is not available": ({"AUTHENTICATE": b"%TAG% NO [UNAVAILABLE] canary\r\n"}, "not now (UNAVAILABLE)"),
    "refuses the login": ({"AUTHENTICATE": b"%TAG% NO canary-password\r\n"}, "user or password is refused; mend"),
    "has no folder": ({"EXAMINE": b"%TAG% NO canary\r\n"}, "'INBOX'; mend folders; the account has INBOX, Entwürfe"),
}  # fmt: skip


@pytest.mark.parametrize(("answers", "fault"), HOSTILE.values(), ids=HOSTILE)
def test_a_bad_server_is_a_fault_in_words_within_the_limit(
    answers: dict[str, Answer], fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MOST_KEPT", 1 << 20)  # or a flood would take its time
    with imap_double(answers) as server:
        begun = monotonic()
        unread = read_one(table(server.port), seconds=LIMIT if fault == NOT_IN_TIME else 20)
        # Far above the limit, far below what these servers would take.
        assert monotonic() - begun < 30
    assert unread.messages == ()
    assert fault in unread.fault
    assert unread.fault.startswith("cannot ")
    assert "canary" not in unread.fault
    assert unread.fault.isprintable()


def test_what_was_read_before_something_failed_is_kept() -> None:
    def once(talk: Talk) -> None:
        if b"INBOX" in talk.line:
            talk.say(b"* 1 EXISTS\r\n%TAG% OK [READ-ONLY] open\r\n")
        else:
            hang_up(talk)

    with imap_double({"EXAMINE": once}) as server:
        unread = read_one(table(server.port, folders=["INBOX", "Work"]))
    assert (len(unread.messages), ENDED in unread.fault) == (1, True)


def test_a_literal_that_is_too_long_is_cut_and_the_rest_is_read() -> None:
    size = 3 * LONGEST
    mails = b"* 1 FETCH (UID 7 FLAGS () BODY[] {%d}\r\n%s)\r\n" % (size, b"From: a@b.c\r\nX: " + b"x" * (size - 16))
    mails += b"* 2 FETCH (UID 8 FLAGS () BODY[] {15}\r\nFrom: d@e.f\r\n\r\n)\r\n%TAG% OK done\r\n"
    with imap_double({"UID SEARCH": b"* SEARCH 7 8\r\n%TAG% OK done\r\n", "UID FETCH": mails}) as server:
        unread = read_one(table(server.port))
    assert unread.fault == ""
    assert [(message.fields, message.damaged) for message in unread.messages] == [
        ((("from", b"d@e.f"),), False),
        ((("from", b"a@b.c"),), True),
    ]


def test_a_literal_that_claims_to_be_endless_is_not_waited_for_in_memory() -> None:
    with imap_double({"UID FETCH": b"* 1 FETCH (UID 7 BODY[] {999999999999999}\r\nabc"}) as server:
        assert NOT_IN_TIME in read_one(table(server.port), seconds=LIMIT).fault


def test_mails_that_were_not_asked_for_are_not_taken() -> None:
    foreign = b"* 9 FETCH (UID 99 FLAGS () BODY[] {15}\r\nFrom: x@y.z\r\n\r\n)\r\n%TAG% OK done\r\n"
    with imap_double({"UID FETCH": foreign}) as server:
        assert read_one(table(server.port)).messages == ()


def test_a_search_that_finds_nothing_fetches_nothing() -> None:
    with imap_double({"UID SEARCH": b"* SEARCH\r\n%TAG% OK done\r\n"}) as server:
        unread = read_one(table(server.port))
        assert (unread.messages, unread.fault) == ((), "")
        assert not [line for line in server.got if b"FETCH" in line]


@pytest.mark.parametrize(("most", "fault"), [(4_000, ""), (400, TOO_MUCH)])
def test_all_answers_together_are_bounded(most: int, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MOST_KEPT", most)
    with imap_double({}) as server:
        assert fault in read_one(table(server.port)).fault


@pytest.mark.parametrize(("size", "fault"), [(0, ""), (1, TOO_MUCH)])
def test_a_line_is_bounded(size: int, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    greeting = b"* OK ready " + b"x" * 500
    monkeypatch.setattr(connection, "LONGEST_LINE", len(greeting))
    with imap_double({"GREETING": greeting + b"x" * size}) as server:
        # The end of the line is never sent: then only its length or the time can end it.
        assert (fault or NOT_IN_TIME) in read_one(table(server.port), seconds=LIMIT).fault


def test_a_remote_host_is_never_shown_a_password_in_plain_text() -> None:
    unread = read_one({"imap": "imap://mail.example.org", "user": "u", "password": SECRET})
    assert unread.fault == (
        "cannot log in to mail.example.org: imap:// shows the password to the network; "
        "write imaps://, or starttls = true"
    )


def test_starttls_that_is_not_offered_ends_it_before_the_login() -> None:
    with imap_double({}) as server:
        assert "it offers no STARTTLS" in read_one(table(server.port, starttls=True)).fault
        assert not [line for line in server.got if b"AUTH" in line or b"LOGIN" in line]


@pytest.fixture
def context(tmp_path: Path) -> ssl.SSLContext:
    make_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    return context


def test_what_is_slipped_in_behind_starttls_is_not_believed(context: ssl.SSLContext, tmp_path: Path) -> None:
    """As somebody in between would do: an answer in plain text, to be taken for the first one under TLS."""
    offer = b"* CAPABILITY IMAP4rev1 STARTTLS AUTH=PLAIN\r\n%TAG% OK done\r\n"
    slipped = b"%TAG% OK go\r\n* CAPABILITY IMAP4rev1 AUTH=PLAIN CANARY\r\n* BYE canary\r\n"
    settings = {"starttls": True, "ca_file": str(tmp_path / "server.pem")}
    with imap_double({"CAPABILITY": offer, "STARTTLS": slipped}, context) as server:
        unread = read_one(table(server.port, **settings) | {"imap": f"imap://localhost:{server.port}"})
    assert (len(unread.messages), unread.fault) == (1, "")


def test_a_login_with_a_password_where_it_is_forbidden_is_not_tried() -> None:
    with imap_double({"CAPABILITY": b"* CAPABILITY IMAP4rev1 LOGINDISABLED\r\n%TAG% OK done\r\n"}) as server:
        assert "it allows no login with a password here" in read_one(table(server.port)).fault
        assert not [line for line in server.got if SECRET.encode() in line]


@pytest.mark.parametrize("user", ['canary"user', "back\\slash"])
def test_an_old_server_gets_user_and_password_in_quotes(user: str) -> None:
    with imap_double({"CAPABILITY": b"* CAPABILITY IMAP4rev1\r\n%TAG% OK done\r\n"}) as server:
        assert read_one(table(server.port, user=user, password='p"w')).fault == ""
        (line,) = [line for line in server.got if b"LOGIN" in line]
    escaped = user.replace("\\", "\\\\").replace('"', '\\"')
    assert line.partition(b" ")[2] == f'LOGIN "{escaped}" "p\\"w"\r\n'.encode()


@pytest.mark.parametrize("settings", [{"user": "a\r\nx LOGOUT"}, {"password": "a\r\nx LOGOUT"}, {"password": "pä"}])
def test_nothing_can_be_slipped_into_the_login_of_an_old_server(settings: dict[str, str]) -> None:
    with imap_double({"CAPABILITY": b"* CAPABILITY IMAP4rev1\r\n%TAG% OK done\r\n"}) as server:
        assert read_one(table(server.port, **settings)).fault.startswith("cannot use a name with these signs")
        assert not [line for line in server.got if b"LOGIN" in line]


def test_a_token_goes_as_xoauth2() -> None:
    with imap_double({}) as server:
        settings = table(server.port, token="canary-token")
        del settings["password"]
        assert read_one(settings).fault == ""
        place = next(place for place, line in enumerate(server.got) if b"AUTHENTICATE XOAUTH2" in line)
        sent = base64.b64decode(server.got[place + 1])
    assert sent == b"user=canary-user\x01auth=Bearer canary-token\x01\x01"


def test_the_complaint_about_a_token_is_answered_with_nothing() -> None:
    def complain(talk: Talk) -> None:
        reader = talk.conn.makefile("rb")
        talk.say(b"+ \r\n")
        reader.readline()
        talk.say(b"+ " + base64.b64encode(b'{"status":"400"}') + b"\r\n")
        assert reader.readline() == b"\r\n"
        talk.say(b"%TAG% NO [AUTHENTICATIONFAILED] canary\r\n")

    with imap_double({"AUTHENTICATE": complain}) as server:
        settings = table(server.port, token="canary-token")
        del settings["password"]
        assert "user or password is refused (AUTHENTICATIONFAILED)" in read_one(settings).fault


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no user": ({"imap": "imaps://h", "password": "p"}, "write user, and either password or token"),
    "no password": ({"imap": "imaps://h", "user": "u"}, "write user, and either password or token"),
    "both": ({"imap": "imaps://h", "user": "u", "password": "p", "token": "t"}, "either password or token"),
    "no scheme": ({"imap": "canary.example.org", "user": "u", "password": "p"}, "cannot use the address"),
    "another scheme": ({"imap": "https://canary", "user": "u", "password": "p"}, "cannot use the address"),
    "no host": ({"imap": "imaps://", "user": "u", "password": "p"}, "cannot use the address"),
    "a password in it": ({"imap": "imaps://u:canary@h", "user": "u", "password": "p"}, "cannot use the address"),
    "a folder in it": ({"imap": "imaps://h/canary", "user": "u", "password": "p"}, "cannot use the address"),
    "no port": ({"imap": "imaps://h:canary", "user": "u", "password": "p"}, "cannot use the address"),
    "both ways of TLS": ({"imap": "imaps://h", "user": "u", "password": "p", "starttls": True}, "cannot use starttls"),
    "a word for a flag": ({"imap": "imap://h", "user": "u", "password": "p", "starttls": "no"}, "it is neither"),
    "no list of folders": ({"imap": "imaps://h", "user": "u", "password": "p", "folders": 3}, "cannot use folders"),
    "an empty list": ({"imap": "imaps://h", "user": "u", "password": "p", "folders": []}, "cannot use folders"),
    "an empty name": ({"imap": "imaps://h", "user": "u", "password": "p", "folders": [""]}, "cannot use folders"),
    "no authority": ({"imap": "imaps://[::1]", "user": "u", "password": "p", "ca_file": "/no"}, "cannot use ca_file"),
}  # fmt: skip


@pytest.mark.parametrize(("settings", "fault"), WRONG.values(), ids=WRONG)
def test_settings_that_do_not_fit_are_told(settings: dict[str, Any], fault: str) -> None:
    unread = read_one(settings)
    assert fault in unread.fault
    assert "canary" not in unread.fault
