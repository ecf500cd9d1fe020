"""The log of the daemon's lives, written and read back, and what is left out."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.starts import HOWS, WHYS, Start, asked_by_programs, log_ending, log_start, read_log, read_starts

NOW = 1_780_000_000.0
BY_HAND = "heartbeat restart by ann, called from bash (7), at a terminal"
BY_CRON = "heartbeat restart by ann, called from cron (9), without a terminal"


def test_starts_come_back_to_the_millisecond_in_order(tmp_path: Path) -> None:
    path = tmp_path / "state" / "starts.log"
    assert read_starts(path) == []
    for at in (NOW, NOW + 0.1234, NOW + 5):
        log_start(path, Start(at, "crash", owner="1:2@b", by="somebody"))
    assert [start.at for start in read_starts(path)] == [NOW, NOW + 0.123, NOW + 5]
    assert read_log(path) == (tuple(read_starts(path)), True)


texts = st.text(max_size=40).filter(str.isprintable)


@given(
    st.builds(Start, st.floats(1, 1e10).map(lambda at: round(at, 3)), st.sampled_from(WHYS), owner=texts, by=texts),
    st.none() | st.tuples(st.sampled_from(HOWS), texts, texts),
)
def test_any_life_comes_back(
    tmp_path_factory: pytest.TempPathFactory, start: Start, end: tuple[str, str, str] | None
) -> None:
    path = tmp_path_factory.getbasetemp() / f"starts-{os.getpid()}"
    path.unlink(missing_ok=True)
    life = start.ended(NOW, *end) if end else start
    log_start(path, life)
    assert read_log(path) == ((life,), True)


def test_an_ending_is_written_once_into_the_life_it_is_of(tmp_path: Path) -> None:
    path = tmp_path / "starts.log"
    for owner in ("1:1", "2:2", "3:3"):
        log_start(path, Start(NOW, owner=owner))
    ending: dict[str, Any] = {"at": NOW + 9, "how": "killed", "ending": "SIGKILL", "sender": "7:7"}
    assert log_ending(path, "2:2", **ending)
    assert not log_ending(path, "2:2", **ending | {"how": "stopped"})
    assert not log_ending(path, "4:4", **ending)
    ended = read_starts(path)
    assert [life.how for life in ended] == ["", "killed", ""]
    assert (ended[1].ended_at, ended[1].ending, ended[1].sender) == (NOW + 9, "SIGKILL", "7:7")


def test_the_latest_life_of_an_owner_is_the_one_that_ends(tmp_path: Path) -> None:
    path = tmp_path / "starts.log"
    for _ in range(2):
        log_start(path, Start(NOW, owner="1:1"))
    log_ending(path, "1:1", at=NOW, how="failed", ending="x")
    assert [life.how for life in read_starts(path)] == ["", "failed"]


@pytest.mark.parametrize(
    ("why", "is_evidence"),
    [("asked", False), ("boot", False), ("crash", True), ("watchdog", True), ("unknown", True), ("nonsense", True)],
)
def test_every_start_counts_as_flapping_but_those_of_the_owner_and_the_machine(
    tmp_path: Path, why: str, is_evidence: bool
) -> None:
    path = tmp_path / "starts.log"
    path.write_text(f"{NOW}\t{why}\n")
    assert read_starts(path)[0].is_evidence == is_evidence


def test_the_boot_of_a_life_is_told_by_its_owner() -> None:
    assert (Start(NOW, owner="1:2@b-o-o-t").boot, Start(NOW, owner="1:2").boot) == ("b-o-o-t", "")


@pytest.mark.parametrize(
    ("by", "is_program"),
    [
        ("", False),
        ("a terminal", False),
        (BY_HAND, False),
        (BY_CRON, True),
        ("restart", True),
        ("a terminal emulator", True),
    ],
)
def test_a_start_is_a_programs_when_nobody_sat_there(by: str, is_program: bool) -> None:
    asked = [Start(NOW, "asked", by=by)]
    assert asked_by_programs(asked, NOW - 1, NOW) == (asked if is_program else [])


def test_only_starts_that_were_asked_for_within_the_time_are_requests() -> None:
    others = [
        Start(NOW, "crash", by=BY_CRON),
        Start(NOW - 601, "asked", by=BY_CRON),
        Start(NOW + 1, "asked", by=BY_CRON),
    ]
    assert asked_by_programs(others, NOW - 600, NOW) == []


# Its bounds


@pytest.mark.parametrize(("had", "kept"), [(0, 1), (198, 199), (199, 200), (200, 200), (201, 200), (1000, 200)])
def test_the_log_keeps_the_latest_two_hundred_starts(tmp_path: Path, had: int, kept: int) -> None:
    path = tmp_path / "starts.log"
    path.write_text("".join(f"{NOW + number}\n" for number in range(had)))
    log_start(path, Start(NOW + had))
    assert [start.at for start in read_starts(path)] == [NOW + number for number in range(had + 1 - kept, had + 1)]
    assert len(path.read_text().splitlines()) == kept


def test_endings_as_long_as_they_can_be_never_make_it_too_large_to_read(tmp_path: Path) -> None:
    path = tmp_path / "starts.log"
    long = "\U0001f600" * 5_000
    for number in range(90):
        log_start(path, Start(NOW + number, owner=f"{number}:1", by=long))
        log_ending(path, f"{number}:1", at=NOW, how="killed", ending=long, sender=long)
    starts, is_whole = read_log(path)
    assert is_whole
    assert starts[-1].owner == "89:1"
    assert 50 < len(starts) < 90
    assert path.stat().st_size < 262_144


@pytest.mark.parametrize("odd", list("\t\n\r\0\x0b\x1b\x85\u2028\u202e\ud800"))
def test_a_text_cannot_add_a_line_or_a_field(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "starts.log"
    log_start(path, Start(NOW, by=f"a{odd}b").ended(NOW, "killed", f"c{odd}d", f"e{odd}f"))
    (life,) = read_starts(path)
    assert (life.by, life.ending, life.sender) == ("a b", "c d", "e f")


ODD = ["started", "nan", "inf", "-inf", "-5", "0", f"{NOW * 1000}", "1e300", "2026-06-10T08:00:00Z", "\0", "1 2"]


def test_lines_that_are_no_instant_are_left_out_and_go_with_the_next_start(tmp_path: Path) -> None:
    path = tmp_path / "starts.log"
    path.write_bytes("\n".join([f"{NOW}", *ODD, "", f"{NOW + 1}", "12"]).encode() + b"\n\xff\xfe")
    assert [start.at for start in read_starts(path)] == [NOW, NOW + 1, 12.0]
    log_start(path, Start(NOW + 2))
    assert [line.split("\t")[0] for line in path.read_text().splitlines()] == [
        f"{NOW:.3f}",
        f"{NOW + 1:.3f}",
        "12.000",
        f"{NOW + 2:.3f}",
    ]


@pytest.mark.parametrize("line", ODD)
def test_a_log_with_a_line_that_is_no_start_is_not_whole(tmp_path: Path, line: str) -> None:
    path = tmp_path / "starts.log"
    path.write_text(f"{NOW}\n{line}\n")
    assert read_log(path)[1] is False


@pytest.mark.parametrize("content", [b"", b"\n", b"\n\n", f"{NOW}".encode(), f"{NOW}\n".encode()])
def test_an_empty_line_says_nothing_of_a_log(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "starts.log"
    path.write_bytes(content)
    assert read_log(path)[1] is True


def test_a_huge_log_is_read_only_in_part_and_known_to_be_huge(tmp_path: Path) -> None:
    path = tmp_path / "starts.log"
    path.write_bytes(b"x" * 262_143 + b"\n" + f"{NOW}\n".encode())
    starts, is_whole = read_log(path)
    assert ([start.at for start in starts], is_whole) == ([NOW], False)
    path.write_bytes(f"{NOW}\n".encode() * 99_999)
    starts, is_whole = read_log(path)
    assert (starts[0].at, is_whole) == (NOW, False)
    log_start(path, Start(NOW + 1))
    assert (len(read_log(path)[0]), read_log(path)[1]) == (200, True)


def test_only_the_owner_may_read_what_is_written(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        log_start(tmp_path / "made" / "starts.log", Start(NOW))
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"made": 0o700, "starts.log": 0o600}
