"""What is kept of a stream, whatever its length and however it arrives."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heartbeat.model import Captured
from heartbeat.process.capture import BLANK, BLANK_KEPT, Capture

MIB = 1024 * 1024
LETTERS = st.sampled_from([b"a", b"{", b"\n", b" ", b"\r", b"\t", b"\xff", b"\v"])
STREAMS = st.lists(LETTERS, max_size=60).map(b"".join)


def captured(chunks: list[bytes], limit: int) -> Captured:
    capture = Capture(limit)
    for chunk in chunks:
        capture.feed(chunk)
    return capture.result()


def reference(stream: bytes, limit: int) -> Captured:
    """The rule itself, on a stream that lies in memory."""
    half, rest_limit = limit // 2, limit - limit // 2
    if len(stream) <= limit:
        return Captured(stream[:half], stream[half:])
    head, rest = stream[:half], stream[half:]
    text = rest.rstrip(BLANK)
    kept = min(len(rest) - len(text), BLANK_KEPT, rest_limit // 2)
    blank = rest[len(rest) - kept :]
    if len(text) + len(blank) > rest_limit:
        tail = text[len(text) + len(blank) - rest_limit :] + blank
    else:
        text = head + text
        start = text.rstrip(BLANK).rfind(b"\n") + 1
        head, tail = text[:start], text[start:] + blank
    return Captured(head, tail, len(stream) - len(head) - len(tail))


def last_line(text: bytes) -> bytes:
    return text.rstrip(BLANK).rpartition(b"\n")[2]


@given(STREAMS, st.lists(st.integers(0, 60), max_size=8), st.integers(1, 40))
@example(b"a" * 40 + b" " * 41 + b"b", [1, 2, 41], 20)
@example(b"a" * 60, [30], 20)
def test_any_split_into_chunks_keeps_the_same(stream: bytes, cuts: list[int], limit: int) -> None:
    places = [0, *sorted(cuts), len(stream)]
    chunks = [stream[start:end] for start, end in itertools.pairwise(places)]
    assert captured(chunks, limit) == reference(stream, limit)


@given(STREAMS, st.integers(1, 40))
def test_what_is_kept_never_exceeds_the_limit_and_the_rest_is_counted(stream: bytes, limit: int) -> None:
    result = captured([stream], limit)
    assert len(result.head) + len(result.tail) <= limit
    assert result.total == len(stream)
    assert result.dropped or result.head + result.tail == stream
    assert stream.startswith(result.head)


@given(STREAMS, st.integers(0, 200), st.integers(16, 40))
def test_a_last_line_of_a_quarter_of_the_limit_is_whole_after_any_number_of_blanks(
    stream: bytes, blanks: int, limit: int
) -> None:
    line = b"{" * (limit // 4)
    result = captured([stream, b"\n", line, b"\n", b" \n\r\t" * blanks], limit)
    assert last_line(result.joined()) == line


@pytest.mark.parametrize(("size", "dropped"), [(8 * MIB, 0), (8 * MIB + 1, 1)])
def test_a_stream_at_the_limit_is_exact_and_one_byte_more_is_cut(size: int, dropped: int) -> None:
    result = captured([b"x" * size], 8 * MIB)
    assert (result.dropped, len(result.head)) == (dropped, 4 * MIB)


def test_a_gate_at_the_end_of_the_head_is_not_split_from_its_rest() -> None:
    gate = b'{"wakeAgent": true}'
    stream = b"log\n" * MIB + gate + b"\n" * (20 * MIB)
    for inside_head in (0, 4, 8, 16, 20):
        result = captured([stream[inside_head:]], 8 * MIB)
        assert result.dropped
        assert last_line(result.joined()) == gate


def test_two_hundred_megabytes_are_taken_in_a_moment_and_in_bounded_memory() -> None:
    capture, chunk, blank = Capture(8 * MIB), b"x" * 65536, b" " * 65536
    began = time.process_time()
    for number in range(3200):
        capture.feed(blank if number % 7 < 3 else chunk)
    assert time.process_time() - began < 3
    assert len(capture._text) + len(capture._blank) <= 24 * MIB
    assert capture.result().total == 200 * MIB
