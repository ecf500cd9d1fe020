"""Taking a header apart: every byte string is answered, and what is no field is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.sources.mail.raw import LONGEST, MOST_FIELDS, read_message, split

CASES = {
    "nothing": (b"", [], False),
    "only the blank line": (b"\r\nFrom: body\r\n", [], False),
    "two fields, then a body": (b"A: 1\r\nB: 2\r\n\r\nC: 3\r\n", [("a", b"1"), ("b", b"2")], False),
    "bare LF": (b"A: 1\nB: 2\n\nC: 3\n", [("a", b"1"), ("b", b"2")], False),
    "mixed ends": (b"A: 1\nB: 2\r\n\nC: 3", [("a", b"1"), ("b", b"2")], False),
    "a header alone, whole": (b"A: 1\r\n", [("a", b"1")], False),
    "folded by space and by tab": (b"A: Your\r\n invoice\r\n\tfor\r\n\r\n", [("a", b"Your invoice\tfor")], False),
    "a folded line of blanks does not end it": (b"A: 1\r\n \r\n\t2\r\n\r\n", [("a", b"1 \t2")], False),
    "names in any case, no blank needed": (b"FROM:x@y\r\n\r\n", [("from", b"x@y")], False),
    "the same field twice, topmost first": (b"From: a\r\nFrom: b\r\n\r\n", [("from", b"a"), ("from", b"b")], False),
    "an empty value": (b"A:\r\nB: \t\r\n\r\n", [("a", b""), ("b", b"")], False),
    "colons in the value": (b"A: b: c\r\n\r\n", [("a", b"b: c")], False),
    "bytes of any kind stay": (b"A: \xff\x00\xc3\xbc\r\n\r\n", [("a", b"\xff\x00\xc3\xbc")], False),
    "a lone CR is part of a line": (b"A: 1\rB: 2\r\n\r\n", [("a", b"1\rB: 2")], False),
    "the line an mbox puts on top": (b"From eve@x Wed Jun 10 2026\nA: 1\n\n", [("a", b"1")], False),
    "that line further down": (b"A: 1\nFrom eve@x Wed\n\n", [("a", b"1")], True),
    "a space before the colon": (b"From : a\r\nB: 2\r\n\r\n", [("b", b"2")], True),
    "a line without a colon": (b"A: 1\r\nnonsense\r\nB: 2\r\n\r\n", [("a", b"1"), ("b", b"2")], True),
    "what is folded below no field is lost with it": (b"A: 1\r\nnonsense\r\n more\r\n\r\n", [("a", b"1")], True),
    "folded before any field": (b" x\r\nA: 1\r\n\r\n", [("a", b"1")], True),
    "an empty name": (b": x\r\nA: 1\r\n\r\n", [("a", b"1")], True),
    "a name that is not ASCII": ("Fröm: x\r\nA: 1\r\n\r\n".encode(), [("a", b"1")], True),
    "cut off in a line": (b"A: 1\r\nFrom: vip@exam", [("a", b"1")], True),
}  # fmt: skip


@pytest.mark.parametrize(("raw", "fields", "damaged"), CASES.values(), ids=CASES)
def test_a_header_is_taken_apart(raw: bytes, fields: list[tuple[str, bytes]], damaged: bool) -> None:
    assert split(raw) == (tuple(fields), damaged)


@pytest.mark.parametrize(("size", "damaged"), [(LONGEST, False), (LONGEST + 1, True)])
def test_a_header_may_be_so_long_and_no_longer(size: int, damaged: bool) -> None:
    head, end = b"From: a@b\r\nX: ", b"\r\n\r\n"
    raw = head + b"x" * (size - len(head) - len(end)) + end
    assert (len(raw), split(raw)[1]) == (size, damaged)
    assert split(raw)[0][0] == ("from", b"a@b")


@pytest.mark.parametrize(("count", "damaged"), [(MOST_FIELDS, False), (MOST_FIELDS + 1, True)])
def test_a_header_may_hold_so_many_fields_and_no_more(count: int, damaged: bool) -> None:
    fields, is_damaged = split(b"A: 1\r\n" * count + b"\r\n")
    assert (len(fields), is_damaged) == (MOST_FIELDS, damaged)


def test_a_long_body_does_no_damage() -> None:
    assert split(b"A: 1\r\n\r\n" + b"x" * LONGEST) == ((("a", b"1"),), False)


def test_half_a_million_folds_are_one_value() -> None:
    fields, _ = split(b"A: 1\r\n" + b" \r\n" * 80_000 + b"\r\n")
    assert fields[0][0] == "a"


def test_only_wanted_fields_are_kept_and_their_order_stays() -> None:
    message = read_message(b"X-Spam: no\r\nReceived: one\r\nFrom: a@b\r\nTo: me\r\nReceived: two\r\n\r\nbody")
    assert message.fields == (("received", b"one"), ("from", b"a@b"), ("received", b"two"))
    assert list(message.all("received")) == [b"one", b"two"]


@given(st.binary(max_size=400))
def test_no_bytes_are_refused(raw: bytes) -> None:
    fields, _ = split(raw)
    assert all(name == name.lower() and b"\n" not in value for name, value in fields)


@given(st.lists(st.tuples(st.sampled_from(["from", "subject", "received"]), st.binary(max_size=30)), max_size=8))
def test_what_is_written_as_a_header_is_read_back(written: list[tuple[str, bytes]]) -> None:
    clean = [(name, value.replace(b"\n", b"").replace(b"\r", b"").strip(b" \t")) for name, value in written]
    raw = b"".join(name.encode() + b": " + value + b"\r\n" for name, value in clean) + b"\r\nbody\r\n"
    assert split(raw) == (tuple(clean), False)
