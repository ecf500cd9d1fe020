"""The words of IMAP, against what servers really write."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.sources import SourceFailed
from heartbeat.sources.mail.imap_words import ITEMS, Fetched, criteria, encoded, fetched, folder_name, quoted, uids

BERLIN = timezone(timedelta(hours=2))
AT = datetime(2026, 6, 10, 9, 55, 2, tzinfo=BERLIN)
INFO = b'1 (UID 7 FLAGS () INTERNALDATE "10-Jun-2026 09:55:02 +0200" RFC822.SIZE 5 BODY[HEADER.FIELDS (FROM)] {3}'

ANSWERS = {
    "as Dovecot writes it": ([(INFO, b"abc"), b")"], [Fetched(7, False, AT, b"abc")]),
    "the rest behind the header": (
        [(b"1 (BODY[HEADER.FIELDS (FROM)] {3}", b"abc"), b' UID 7 INTERNALDATE "10-Jun-2026 09:55:02 +0200" FLAGS ())'],
        [Fetched(7, False, AT, b"abc")],
    ),
    "in small letters": ([(INFO.lower(), b"abc"), b")"], [Fetched(7, False, AT, b"abc")]),
    "read since it was found": (
        [(INFO.replace(b"FLAGS ()", b"FLAGS (\\Answered \\SEEN)"), b"abc"), b")"],
        [Fetched(7, True, AT, b"abc")],
    ),
    "a keyword that only looks like it": (
        [(INFO.replace(b"FLAGS ()", b"FLAGS ($Seen \\Seenish)"), b"abc"), b")"],
        [Fetched(7, False, AT, b"abc")],
    ),
    "a day of one digit, with its blank": (
        [(INFO.replace(b'"10-Jun', b'" 1-Jun'), b""), b")"],
        [Fetched(7, False, AT.replace(day=1), b"")],
    ),
    "west of Greenwich": (
        [(INFO.replace(b"+0200", b"-0930"), b""), b")"],
        [Fetched(7, False, AT.replace(tzinfo=timezone(-timedelta(hours=9, minutes=30))), b"")],
    ),
    "a month that is none": ([(INFO.replace(b"-Jun-", b"-Jux-"), b""), b")"], [Fetched(7, False, None, b"")]),
    "a day that is none": ([(INFO.replace(b"10-Jun", b"31-Jun"), b""), b")"], [Fetched(7, False, None, b"")]),
    "a zone that is none": ([(INFO.replace(b"+0200", b"+9900"), b""), b")"], [Fetched(7, False, None, b"")]),
    "no date": ([(b"1 (UID 7 BODY[] {0}", b""), b")"], [Fetched(7, False, None, b"")]),
    "no number": ([(b"1 (FLAGS () BODY[] {3}", b"abc"), b")"], []),
    "flags of another mail that changed meanwhile": (
        [b"2 (UID 9 FLAGS (\\Seen))", (INFO, b"abc"), b")"],
        [Fetched(7, False, AT, b"abc")],
    ),
    "an empty header in quotes": ([b'1 (UID 7 FLAGS () BODY[HEADER.FIELDS (FROM)] "")'], []),
    "nothing": ([None], []),
}  # fmt: skip


@pytest.mark.parametrize(("data", "mails"), ANSWERS.values(), ids=ANSWERS)
def test_an_answer_to_fetch_is_read(data: list[bytes | tuple[bytes, bytes] | None], mails: list[Fetched]) -> None:
    assert list(fetched(data)) == mails


@pytest.mark.parametrize(
    ("data", "numbers"),
    [
        ([b"3 20 100"], [100, 20, 3]),
        ([b""], []),
        ([None], []),
        ([b"5", b"6 5"], [6, 5]),
        ([b"SEARCH completed (took 237 ms)"], []),
        ([b"7 (MODSEQ 917162500)"], [7]),
        ([b"4294967295 12345678901"], [4294967295]),
    ],
)
def test_an_answer_to_search_is_read_newest_first(data: list[bytes | None], numbers: list[int]) -> None:
    assert uids(data) == numbers


@pytest.mark.parametrize(
    ("since", "day"),
    [
        (datetime(2026, 6, 10, 8, tzinfo=UTC), "08-Jun-2026"),
        (datetime(2026, 3, 1, 0, 30, tzinfo=BERLIN), "26-Feb-2026"),
        (datetime(2026, 1, 2, 0, 0, tzinfo=UTC), "31-Dec-2025"),
    ],
)
def test_a_search_is_bounded_two_days_before(since: datetime, day: str) -> None:
    assert criteria(since) == ("UNSEEN", "SINCE", day)


def test_headers_are_asked_for_without_marking_anything() -> None:
    assert "BODY.PEEK[HEADER.FIELDS (FROM SENDER REPLY-TO SUBJECT" in ITEMS
    assert "BODY[" not in ITEMS


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("INBOX", "INBOX"),
        ("A&B", "A&-B"),
        ("Entwürfe", "Entw&APw-rfe"),
        ("~peter/mail/台北/日本語", "~peter/mail/&U,BTFw-/&ZeVnLIqe-"),
        ("😀", "&2D3eAA-"),
    ],
)
def test_folder_names_are_written_as_the_standard_says_and_read_back(name: str, written: str) -> None:
    assert encoded(name) == written
    assert folder_name(f'(\\HasNoChildren) "/" "{written}"'.encode()) == name


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=20))
def test_every_folder_name_can_be_written_in_ascii(name: str) -> None:
    assert encoded(name).isascii()
    assert encoded(name).isprintable()


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (b'() "." INBOX', "INBOX"),
        (b'(\\Noselect) NIL "A B"', "A B"),
        (b'() "\\\\" x', "x"),
        (b'() "/" "&broken"', "&broken"),
        (b'() "/" "&!!!-"', "&!!!-"),
        (b"what", ""),
        (b"", ""),
    ],
)
def test_a_line_of_list_is_read_as_far_as_possible(line: bytes, name: str) -> None:
    assert folder_name(line) == name


def test_quotes_and_backslashes_cannot_end_an_argument() -> None:
    assert quoted('a"b\\c') == '"a\\"b\\\\c"'


@pytest.mark.parametrize("text", ["a\r\nb", "a\0b", "a\tb", "ä"])
def test_what_cannot_stand_in_an_argument_is_refused(text: str) -> None:
    with pytest.raises(SourceFailed, match="cannot use a name"):
        quoted(text)
