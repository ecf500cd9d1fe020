"""When a mail arrived: the server's word first, and no Date can hide it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.sources.mail.arrival import SKEW, arrived, read_date
from heartbeat.sources.mail.message import Message
from tests.mail.mails import NOW

SEVEN = datetime(2026, 6, 10, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "Wed, 10 Jun 2026 07:00:00 +0000",
        "Wed, 10 Jun 2026 09:00:00 +0200",
        "Wed, 10 Jun 2026 09:00:00 +0200 (CEST)",
        "Tue, 9 Jun 2026 21:30:00 -0930",
        "10 Jun 2026 07:00 +0000",
        "10 Jun 2026 07:00:00",
        "10 Jun 2026 07:00:00 -0000",
        "10 Jun 2026 07:00:00 GMT",
        "10 Jun 2026 09:00:00 CEST",
        "10 Jun 2026 16:00:00 JST",
        "10 Jun 2026 09:00:00 GMT+0200",
        "10 Jun 2026 09:00:00 UTC+02:00",
        "10 Jun 2026 07:00:00 Z",
        "10 Jun 2026 03:00:00 EDT",
        "10 Jun 26 07:00:00 +0000",
        "Wednesday, 10-Jun-26 07:00:00 UTC",
        "10 June 2026 07:00:00 +0000",
        "10 jun 2026 07:00:00 +00:00",
        "  Wed,10  Jun  2026\t07:00:00.123 +0000",
    ],
)
def test_a_date_is_read_as_people_write_it(text: str) -> None:
    assert read_date(text.encode()) == SEVEN


@pytest.mark.parametrize("zone", ["XYZ", "A", "IST"])
def test_an_unknown_zone_is_the_one_where_it_is_latest(zone: str) -> None:
    assert read_date(f"10 Jun 2026 07:00:00 {zone}".encode()) == SEVEN + timedelta(hours=12)


def test_a_leap_second_is_the_one_before() -> None:
    assert read_date(b"31 Dec 2016 23:59:60 +0000") == datetime(2016, 12, 31, 23, 59, 59, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Yesterday at noon, or so",
        "31 Feb 2026 07:00:00 +0000",
        "10 Foo 2026 07:00:00 +0000",
        "10 Jun 2026 25:00:00 +0000",
        "10 Jun 2026 07:61:00 +0000",
        "10 Jun 2026 07:00:00 +9999",
        "1 Jan 1970 00:00:00 +0000",
        "1 Jan 0000 00:00:00 +0000",
        "31 Dec 9999 23:59:59 -2300",
        "2026-06-10",
        "\x00\xff",
    ],
)
def test_what_is_no_date_tells_nothing(text: str) -> None:
    assert read_date(text.encode()) is None


def message(arrived_at: datetime | None = None, file_time: datetime | None = None, **fields: str) -> Message:
    return Message(tuple((name, text.encode()) for name, text in fields.items()), arrived_at, file_time=file_time)


RECEIVED = "from a by b; Wed, 10 Jun 2026 07:00:00 +0000"
OLD = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("mail", "expected"),
    [
        (message(SEVEN, OLD, received=RECEIVED.replace("10 Jun", "1 Jun"), date="1 Jan 2001 00:00 +0000"), SEVEN),
        (message(None, OLD, received=RECEIVED, date="1 Jan 2001 00:00 +0000"), SEVEN),
        (message(None, OLD, received=RECEIVED + " (CEST); for me; by x"), SEVEN),
        (message(None, SEVEN, date="1 Jan 2001 00:00 +0000"), SEVEN),
        (message(None, SEVEN, received="from a by b", date="1 Jan 2001 00:00 +0000"), SEVEN),
        (message(None, SEVEN, received="from a by b; soon", date="1 Jan 2001 00:00 +0000"), SEVEN),
        (message(None, SEVEN, received="x; 1 Jan 1970 00:00:10 +0000"), SEVEN),
        (message(None, SEVEN, received=RECEIVED.replace("2026", "2036")), SEVEN),
        (message(date="10 Jun 2026 07:00 +0000"), SEVEN),
        (message(None, NOW + timedelta(days=2), date="10 Jun 2026 07:00 +0000"), SEVEN),
        (message(None, SEVEN, date="Yesterday"), SEVEN),
        (message(None, SEVEN, date="1 Jan 1970 00:00 +0000"), SEVEN),
        (message(None, SEVEN), SEVEN),
        (message(), None),
        (message(date="nonsense"), None),
        (message(date="10 Jun 2036 07:00 +0000"), None),
        (message(received=RECEIVED.replace("2026", "2036")), None),
        (message(NOW + SKEW), NOW + SKEW),
        (message(NOW + SKEW + timedelta(seconds=1)), None),
    ],
)
def test_who_is_believed(mail: Message, expected: datetime | None) -> None:
    assert arrived(mail, NOW) == expected


def test_the_topmost_received_counts() -> None:
    twice = Message((("received", RECEIVED.encode()), ("received", b"x; 1 Jan 2001 00:00 +0000")))
    assert arrived(twice, NOW) == SEVEN


@pytest.mark.parametrize(
    ("undated", "expected"),
    [(["by mail.example.org"], SEVEN), (["x; 1 Jan 1970 00:00:10 +0000", "x; soon"], SEVEN), (["x"] * 20, None)],
)
def test_a_received_without_a_usable_date_is_passed_over(undated: list[str], expected: datetime | None) -> None:
    fields = [*undated, RECEIVED, "x; 1 Jan 2001 00:00 +0000"]
    assert arrived(Message(tuple(("received", text.encode()) for text in fields)), NOW) == expected


@given(st.one_of(st.binary(max_size=300), st.text("0123456789 :+-JunGMT,.;()").map(str.encode)))
def test_no_bytes_raise(field: bytes) -> None:
    found = read_date(field)
    assert found is None or found.tzinfo is UTC
    assert arrived(Message((("received", field), ("date", field))), NOW) == arrived(
        Message((("received", field), ("date", field))), NOW
    )
