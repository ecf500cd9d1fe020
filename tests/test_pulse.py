"""The proof of life and the log of starts, written and read back, and what is refused."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.pulse import Pulse, log_start, read_pulse, read_starts, write_pulse

NOW = 1_780_000_000.0
PULSE = Pulse(
    owner="321:7777",
    monotonic=5_000.5,
    started_monotonic=4_000.25,
    started_at="2026-06-10T07:00:00.000000Z",
    written_at="2026-06-10T08:00:00.000000Z",
    last_beat_at="2026-06-10T08:00:00.000000Z",
    next_due_at="2026-06-10T08:01:00.000000Z",
    jobs=2,
    version="0.1.0",
    problems=(("source_failed", "no answer"), ("x", 'a "quoted"\nline \u2028 \U0001f600 \ud800')),
)


def test_a_pulse_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "pulse.json"
    assert read_pulse(path) is None
    write_pulse(path, PULSE)
    assert read_pulse(path) == PULSE
    assert [entry.name for entry in tmp_path.iterdir()] == ["pulse.json"]


texts = st.text(max_size=20)
clocks = st.floats(0, 1e12)


@given(
    st.builds(
        Pulse,
        owner=texts,
        monotonic=st.just(1e12),
        started_monotonic=clocks,
        started_at=texts,
        written_at=texts,
        last_beat_at=texts,
        next_due_at=st.none() | texts,
        jobs=st.integers(0, 10**6),
        version=texts,
        problems=st.lists(st.tuples(texts, texts), max_size=3).map(tuple),
    )
)
def test_any_pulse_comes_back(tmp_path_factory: pytest.TempPathFactory, pulse: Pulse) -> None:
    path = tmp_path_factory.getbasetemp() / f"any-{os.getpid()}.json"
    write_pulse(path, pulse)
    assert read_pulse(path) == pulse


def test_a_new_pulse_replaces_a_longer_one_whole(tmp_path: Path) -> None:
    path = tmp_path / "pulse.json"
    write_pulse(path, PULSE)
    with path.open("rb") as reader:
        shorter = Pulse(**{**asdict(PULSE), "problems": ()})
        write_pulse(path, shorter)
        # Whoever had opened the old one still reads all of it.
        assert len(json.loads(reader.read())["problems"]) == 2
    assert read_pulse(path) == shorter


def test_only_the_owner_may_read_what_is_written(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_pulse(tmp_path / "pulse.json", PULSE)
        log_start(tmp_path / "made" / "starts.log", NOW)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"pulse.json": 0o600, "made": 0o700, "starts.log": 0o600}


def test_a_pulse_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "pulse.json"
    write_pulse(path, PULSE)
    (tmp_path / "pulse.json.new").mkdir()
    with pytest.raises(OSError, match=r"pulse\.json\.new"):
        write_pulse(path, Pulse(**{**asdict(PULSE), "owner": "1:1"}))
    assert read_pulse(path) == PULSE


GOOD: dict[str, Any] = json.loads(json.dumps(asdict(PULSE)))
WRONG: tuple[object, ...] = ({}, [[1]], True)
WHOLE = json.dumps(GOOD).encode()


@pytest.mark.parametrize("length", [0, 1, len(WHOLE) // 2, len(WHOLE) - 1])
def test_a_torn_pulse_is_refused(tmp_path: Path, length: int) -> None:
    path = tmp_path / "pulse.json"
    path.write_bytes(WHOLE[:length])
    with pytest.raises(ValueError, match=r"."):
        read_pulse(path)


@pytest.mark.parametrize(
    "content",
    [
        b"\0" * 400,
        b"\xff\xfe\x00",
        WHOLE + b"x",
        WHOLE * 2,
        b"[" * 200_000,
        b"null",
        b"[]",
        b'"pulse"',
        b"{}",
        b'{"pid": 321, "updated_at": "2026-06-10T08:00:00Z"}',
        b" " * 1_048_576 + WHOLE,
    ],
)
def test_what_is_no_pulse_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "pulse.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"."):
        read_pulse(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[(field.name, wrong) for field in fields(Pulse) for wrong in WRONG if field.name != "jobs"],
        ("jobs", "2"),
        ("jobs", 2.5),
        ("monotonic", 5000),
        ("monotonic", "5000.5"),
        ("monotonic", None),
        ("monotonic", float("nan")),
        ("monotonic", float("inf")),
        ("started_monotonic", float("nan")),
        ("started_monotonic", float("-inf")),
        ("started_monotonic", -1.0),
        ("started_monotonic", 5000.75),
        ("last_beat_at", None),
        ("problems", [["code", "message", "more"]]),
        ("problems", [["code", 5]]),
        ("problems", ["ab"]),
        ("problems", {"code": "message"}),
    ],
)
def test_a_pulse_with_a_field_that_makes_no_sense_is_refused(tmp_path: Path, name: str, value: object) -> None:
    path = tmp_path / "pulse.json"
    path.write_text(json.dumps({**GOOD, name: value}))
    with pytest.raises(ValueError, match=r"."):
        read_pulse(path)


@pytest.mark.parametrize("name", [field.name for field in fields(Pulse)])
def test_a_pulse_with_a_field_missing_or_too_many_is_of_another_version(tmp_path: Path, name: str) -> None:
    path = tmp_path / "pulse.json"
    path.write_text(json.dumps({key: value for key, value in GOOD.items() if key != name}))
    with pytest.raises(ValueError, match="version"):
        read_pulse(path)
    path.write_text(json.dumps({**GOOD, name + "_more": 1}))
    with pytest.raises(ValueError, match="version"):
        read_pulse(path)


# Starts


def test_starts_come_back_to_the_millisecond_in_order(tmp_path: Path) -> None:
    path = tmp_path / "state" / "starts.log"
    assert read_starts(path) == []
    for start in (NOW, NOW + 0.1234, NOW + 5):
        log_start(path, start)
    assert read_starts(path) == [NOW, NOW + 0.123, NOW + 5]


@pytest.mark.parametrize(("had", "kept"), [(0, 1), (198, 199), (199, 200), (200, 200), (201, 200), (1000, 200)])
def test_the_log_keeps_the_latest_two_hundred_starts(tmp_path: Path, had: int, kept: int) -> None:
    path = tmp_path / "starts.log"
    path.write_text("".join(f"{NOW + number}\n" for number in range(had)))
    log_start(path, NOW + had)
    assert read_starts(path) == [NOW + number for number in range(had + 1 - kept, had + 1)]
    assert len(path.read_text().splitlines()) == kept


def test_lines_that_are_no_instant_are_left_out_and_go_with_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "starts.log"
    odd = [
        "started",
        "",
        "nan",
        "inf",
        "-inf",
        "-5",
        "0",
        f"{NOW * 1000}",
        "1e300",
        "2026-06-10T08:00:00Z",
        "\0",
        "1 2",
    ]
    path.write_bytes("\n".join([f"{NOW}", *odd, f"{NOW + 1}", "12"]).encode() + b"\n\xff\xfe")
    assert read_starts(path) == [NOW, NOW + 1, 12.0]
    log_start(path, NOW + 2)
    assert path.read_text() == f"{NOW:.3f}\n{NOW + 1:.3f}\n12.000\n{NOW + 2:.3f}\n"


def test_a_huge_log_is_read_only_in_part(tmp_path: Path) -> None:
    path = tmp_path / "starts.log"
    path.write_bytes(b"x" * 65_535 + b"\n" + f"{NOW}\n".encode())
    assert read_starts(path) == []
    path.write_bytes(b"x" * 65_500 + b"\n" + f"{NOW}\n".encode())
    assert read_starts(path) == [NOW]
