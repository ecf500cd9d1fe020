"""The proof of life, written and read back, and what is refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.pulse import Pulse, read_pulse, write_pulse

ODD = 'a "quoted" line, \\n, \xe9 \u4f1a \U0001f600'


def pulse(**fields: Any) -> Pulse:
    usual: dict[str, Any] = {
        "owner": "321:7777",
        "monotonic": 5_000.5,
        "started_monotonic": 4_000.25,
        "started_at": "2026-06-10T07:00:00.000000Z",
        "written_at": "2026-06-10T08:00:00.000000Z",
        "last_beat_at": "2026-06-10T08:00:00.000000Z",
        "last_run_at": "2026-06-10T07:59:00.000000Z",
        "next_due_at": "2026-06-10T08:01:00.000000Z",
        "overdue": "vip-mail",
        "wedged": "run of due-queue",
        "jobs": 2,
        "items": 3,
        "findings": 4,
        "wakes": 5,
        "messages": 6,
        "version": "0.1.0",
        "problems": (("source_failed", "no answer"), ("x", ODD)),
    }
    return Pulse(**usual | fields)


def test_a_pulse_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "pulse"
    assert read_pulse(path) is None
    for written in (pulse(), pulse(next_due_at="", jobs=0, problems=())):
        write_pulse(path, written)
        assert read_pulse(path) == written
    assert [entry.name for entry in tmp_path.iterdir()] == ["pulse"]


@pytest.mark.parametrize("odd", list("\t\n\r\0\x0b\x1b\x1c\x7f\x85\x9b\u2028\u2029\u202e\u200b\ufeff\ud800"))
def test_a_message_cannot_add_a_line_or_a_field_or_steer_a_terminal(tmp_path: Path, odd: str) -> None:
    path = tmp_path / "pulse"
    write_pulse(path, pulse(problems=((f"a{odd}b", f"one{odd}owner{odd}end{odd}"),)))
    assert read_pulse(path) == pulse(problems=(("a b", "one owner end "),))


texts = st.text(max_size=20).filter(str.isprintable)


@given(
    st.builds(
        Pulse,
        owner=texts,
        monotonic=st.floats(1e6, 1e11, exclude_max=True),
        started_monotonic=st.floats(0, 1e6),
        started_at=texts,
        written_at=texts,
        last_beat_at=texts,
        last_run_at=texts,
        next_due_at=texts,
        overdue=texts,
        wedged=texts,
        jobs=st.integers(0, 10**6),
        items=st.integers(0, 10**6),
        findings=st.integers(0, 10**6),
        wakes=st.integers(0, 10**6),
        messages=st.integers(0, 10**6),
        version=texts,
        problems=st.lists(st.tuples(texts, texts), max_size=3).map(tuple),
    )
)
def test_any_pulse_comes_back(tmp_path_factory: pytest.TempPathFactory, written: Pulse) -> None:
    path = tmp_path_factory.getbasetemp() / f"any-{os.getpid()}"
    write_pulse(path, written)
    assert read_pulse(path) == written


def test_a_new_pulse_replaces_a_longer_one_whole(tmp_path: Path) -> None:
    path = tmp_path / "pulse"
    write_pulse(path, pulse())
    with path.open("rb") as reader:
        shorter = pulse(problems=())
        write_pulse(path, shorter)
        # Whoever had opened the old one still reads all of it.
        assert reader.read().endswith(b"\nend\n")
    assert read_pulse(path) == shorter


def test_only_the_owner_may_read_what_is_written(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_pulse(tmp_path / "pulse", pulse())
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"pulse": 0o600}


def test_a_pulse_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "pulse"
    write_pulse(path, pulse())
    (tmp_path / "pulse.new").mkdir()
    with pytest.raises(OSError, match=r"pulse\.new"):
        write_pulse(path, pulse(owner="1:1"))
    assert read_pulse(path) == pulse()


LINES = [
    "owner\t321:7777",
    "monotonic\t5000.5",
    "started_monotonic\t4000.25",
    "started_at\t2026-06-10T07:00:00.000000Z",
    "written_at\t2026-06-10T08:00:00.000000Z",
    "last_beat_at\t2026-06-10T08:00:00.000000Z",
    "last_run_at\t2026-06-10T07:59:00.000000Z",
    "next_due_at\t2026-06-10T08:01:00.000000Z",
    "overdue\tvip-mail",
    "wedged\trun of due-queue",
    "jobs\t2",
    "items\t3",
    "findings\t4",
    "wakes\t5",
    "messages\t6",
    "version\t0.1.0",
    "problem\tcode\tmessage",
    "end",
]
WHOLE = "".join(f"{line}\n" for line in LINES).encode()


def refused(path: Path, content: bytes | list[str]) -> str:
    path.write_bytes(content if isinstance(content, bytes) else "".join(f"{line}\n" for line in content).encode())
    with pytest.raises(ValueError, match=r".") as error:
        read_pulse(path)
    return str(error.value)


def test_the_file_is_a_line_for_each_field(tmp_path: Path) -> None:
    path = tmp_path / "pulse"
    write_pulse(path, pulse(problems=(("code", "message"),)))
    assert path.read_bytes() == WHOLE


def test_a_pulse_torn_at_any_byte_is_refused(tmp_path: Path) -> None:
    for length in range(len(WHOLE)):
        refused(tmp_path / "pulse", WHOLE[:length])


@pytest.mark.parametrize(
    "content",
    [b"\0" * 400, b"\xff\xfe\x00\n", WHOLE + b"x", WHOLE * 2, b"end\n", b"{}", b"a" * 1_048_576 + WHOLE, b"\n" + WHOLE],
)
def test_what_is_no_pulse_is_refused(tmp_path: Path, content: bytes) -> None:
    refused(tmp_path / "pulse", content)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[
            (name, wrong)
            for name in ("monotonic", "started_monotonic")
            for wrong in ("", "x", "nan", "inf", "-inf", "-1")
        ],
        ("monotonic", "4000.0"),
        ("monotonic", "1e11"),
        ("started_monotonic", "5000.75"),
        *[
            (name, wrong)
            for name in ("jobs", "items", "findings", "wakes", "messages")
            for wrong in ("", "two", "2.5", "nan")
        ],
        *[(line.split("\t")[0], "one\tfield\tmore") for line in LINES[:-1]],
        ("problem", "no message"),
    ],
)
def test_a_pulse_with_a_field_that_makes_no_sense_is_refused(tmp_path: Path, name: str, value: str) -> None:
    refused(tmp_path / "pulse", [f"{name}\t{value}" if line.split("\t")[0] == name else line for line in LINES])


@pytest.mark.parametrize("number", range(len(LINES) - 2))
def test_a_pulse_with_a_field_missing_twice_or_renamed_is_of_another_version(tmp_path: Path, number: int) -> None:
    before, line, after = LINES[:number], LINES[number], LINES[number + 1 :]
    for content in ([*before, *after], [*before, line, line, *after], [*before, f"x{line}", *after]):
        refused(tmp_path / "pulse", content)


def test_a_pulse_with_fields_this_version_does_not_know_is_refused(tmp_path: Path) -> None:
    assert "version" in refused(tmp_path / "pulse", [*LINES[:-2], "mood\tgood\tbad", *LINES[-2:]])
