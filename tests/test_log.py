"""Log lines: one event, one line, whatever the values hold."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat import log


class Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def line_of(**fields: Any) -> str:
    logger, lines = logging.getLogger("heartbeat"), Lines()
    before = logger.level
    logger.addHandler(lines)
    logger.setLevel(logging.INFO)
    try:
        log.event("run_ended", **fields)
    finally:
        logger.removeHandler(lines)
        logger.setLevel(before)
    (line,) = lines.lines
    return line


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("quiet", "quiet"),
        ("vip-mail", "vip-mail"),
        (3, "3"),
        (True, "True"),
        (2.5, "2.5"),
        ("", '""'),
        ("two words", '"two words"'),
        ('say "hi"', '"say \\"hi\\""'),
        ("a\nERROR forged", '"a\\nERROR forged"'),
        ("a\r\x0b\x0c\x1c\x85\u2028\u2029b", '"a\\r\\u000b\\f\\u001c\\u0085\\u2028\\u2029b"'),
        ("\x1b[31mred\x07\x00", '"\\u001b[31mred\\u0007\\u0000"'),
        ("caf\xe9", '"caf\\u00e9"'),
        ("\u202eevil", '"\\u202eevil"'),
        ("\ud800", '"\\ud800"'),
        ("%s %(x)s", '"%s %(x)s"'),
        ("50%d", "50%d"),
        (ValueError("bad\nvalue"), '"bad\\nvalue"'),
        (["a", 1], "\"['a', 1]\""),
    ],
)
def test_a_value_stays_on_its_line(value: object, expected: str) -> None:
    assert line_of(job="x", value=value, more=1) == f"run_ended job=x value={expected} more=1"


def test_a_field_that_is_none_is_left_out() -> None:
    assert line_of(job="x", wake=None) == "run_ended job=x"
    assert line_of() == "run_ended"


@given(st.dictionaries(st.sampled_from("abcdef"), st.text() | st.integers() | st.floats()))
def test_no_value_can_break_or_hide_a_line_and_each_can_be_read_back(fields: dict[str, object]) -> None:
    line = line_of(**fields)
    assert line.isascii()
    assert line.isprintable()
    found = dict(re.findall(r' (\w)=("(?:[^"\\]|\\.)*"|[^ "]+)', line))
    read = {name: json.loads(text) if text.startswith('"') else text for name, text in found.items()}
    assert read == {name: str(value) for name, value in fields.items()}


def run(code: str) -> tuple[str, list[str]]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return done.stdout, done.stderr.splitlines()


def test_lines_go_to_stderr_with_an_instant_and_a_level() -> None:
    stdout, lines = run("from heartbeat.log import *; start_logging(); event('begun', job='x'); warn('odd', why='y z')")
    assert stdout == ""
    stamp = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}"
    assert re.fullmatch(stamp + r" INFO begun job=x", lines[0])
    assert re.fullmatch(stamp + r' WARNING odd why="y z"', lines[1])
    assert len(lines) == 2


def test_other_libraries_speak_only_from_warning_up_and_heartbeat_as_told() -> None:
    others = "import logging; logging.getLogger('httpx').info('chatter'); logging.getLogger('httpx').warning('look')"
    _, lines = run(f"from heartbeat.log import *; start_logging('warning'); event('begun'); warn('odd'); {others}")
    assert [line.split(" ", 1)[1] for line in lines] == ["WARNING odd", "WARNING look"]


def test_a_reader_that_stands_still_stops_nobody() -> None:
    code = (
        "from heartbeat.log import event, start_logging\n"
        "start_logging('info', behind=True)\n"
        "for number in range(5000):\n    event('word', number=number, text='x' * 500)\n"
        "print('went on', flush=True)\n"
    )
    reader, writer = os.pipe()
    try:
        done = subprocess.run(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=writer, timeout=60, check=False
        )
    finally:
        os.close(reader)
        os.close(writer)
    assert (done.returncode, done.stdout) == (0, b"went on\n")


def test_lines_written_behind_arrive_before_the_end() -> None:
    code = "from heartbeat.log import event, start_logging\nstart_logging('info', behind=True)\nevent('bye')\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True)
    assert done.stderr.endswith(b"INFO bye\n")


# A log of its own, for a daemon that no journal keeps one for

WRITES = """
from pathlib import Path
from heartbeat.log import event, start_logging
start_logging("info", file=Path({file!r}))
"""


def logged(file: Path, code: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run code whose log is *file*."""
    text = WRITES.format(file=str(file)) + code
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=60, **more)


def test_a_log_file_gets_the_lines_and_is_its_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / "state/heartbeat.log"
    done = logged(file, "event('begun', job='x')", umask=0)
    assert (done.stdout, done.stderr) == ("", "")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4} INFO begun job=x\n", file.read_text())
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    file.chmod(0o666)
    logged(file, "event('again')")
    assert file.read_text().splitlines()[1].endswith("INFO again")
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_log_file_is_rotated_by_size_and_five_old_ones_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "heartbeat.log"
    write = log._File(file).write
    lines = [f"{number:06d} {'x' * 1000}\n" for number in range(8000)]
    for line in lines:
        write(line.encode())
    names = ["heartbeat.log", *(f"heartbeat.log.{number}" for number in range(1, 6))]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    kept = [(tmp_path / name).read_text() for name in reversed(names)]
    assert all(1_040_000 < len(text) <= 1_048_576 for text in kept[:-1])
    # No line is cut, doubled, lost between two files, or out of order.
    text = "".join(kept)
    assert text == "".join(lines[-text.count("\n") :])
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in names} == {0o600}


def test_a_line_that_is_longer_than_a_file_may_be_is_written_all_the_same(tmp_path: Path) -> None:
    file = tmp_path / "heartbeat.log"
    write = log._File(file).write
    for number in range(3):
        write(f"{number} {'x' * 2_000_000}\n".encode())
    assert [path.read_text()[0] for path in sorted(tmp_path.iterdir())] == ["2", "1", "0"]


def test_a_log_that_is_taken_away_begins_anew(tmp_path: Path) -> None:
    file = tmp_path / "heartbeat.log"
    write = log._File(file).write
    write(b"one\n")
    file.rename(tmp_path / "taken")
    write(b"two\n")
    assert (file.read_text(), (tmp_path / "taken").read_text()) == ("two\n", "one\n")


def fill(file: Path) -> None:
    """Let there be a folder where the log should be: nobody can write into that, not even root."""
    file.unlink(missing_ok=True)
    file.mkdir()


def test_a_log_that_cannot_be_written_is_said_once_and_counted_when_it_can_be_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "heartbeat.log"
    write = log._File(file).write
    write(b"one\n")
    for _ in range(2):
        fill(file)
        write(b"lost\n")
        write(b"lost\n")
        file.rmdir()
    write(b"two\n")
    first, second = file.read_text().splitlines()
    assert re.fullmatch(r"\S+ WARNING log_lines_lost count=4", first)
    assert second == "two"
    assert capfd.readouterr().err == f"cannot write {file}: Is a directory; until it can be, the log is lost\n"


def test_an_unwritable_log_does_not_stop_the_program(tmp_path: Path) -> None:
    file = tmp_path / "heartbeat.log"
    fill(file)
    done = logged(file, "for number in range(3000): event('word', number=number)\nprint('went on')")
    assert done.stdout == "went on\n"
    assert done.stderr.count("\n") == 1


# By the limit of the process for a file's size: the kernel writes what fits, and then refuses, as on a full disk.
FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from heartbeat import log
write = log._File({file!r}).write
write(b"one\\n")
resource.setrlimit(resource.RLIMIT_FSIZE, (8, resource.RLIM_INFINITY))
write(b"two, of which half fits\\n")
write(b"three\\n")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
write(b"four\\n")
"""


def test_after_a_disk_was_full_each_line_is_whole_again(tmp_path: Path) -> None:
    file = tmp_path / "heartbeat.log"
    done = subprocess.run(
        [sys.executable, "-c", FULL.format(file=str(file))], capture_output=True, text=True, check=True, timeout=60
    )
    first, half, lost, last = file.read_text().splitlines()
    assert (first, half, last) == ("one", "two,", "four")
    assert lost.endswith("WARNING log_lines_lost count=2")
    assert done.stderr.count("cannot write") == 1


def test_a_pipe_in_the_place_of_the_log_blocks_nobody(tmp_path: Path) -> None:
    file = tmp_path / "heartbeat.log"
    os.mkfifo(file)
    code = f"from heartbeat import log\nlog._File({str(file)!r}).write(b'word')\nprint('went on')"
    assert logged(file, code).stdout == "went on\n"


def test_logging_that_is_set_up_anew_loses_no_line(tmp_path: Path) -> None:
    file = tmp_path / "heartbeat.log"
    logged(file, f"event('before')\nstart_logging('warning', file=Path({str(file)!r}))\nevent('not told')")
    assert [line.split()[-1] for line in file.read_text().splitlines()] == ["before"]


@pytest.mark.parametrize(("length", "shown"), [(1000, 1000), (1001, 1001)])
def test_a_value_is_cut_at_a_thousand_characters(caplog: pytest.LogCaptureFixture, length: int, shown: int) -> None:
    with caplog.at_level(logging.INFO, "heartbeat"):
        log.event("word", text="x" * length)
    value = caplog.records[0].getMessage().removeprefix("word text=").strip('"')
    assert len(value.replace("\\u2026", "…")) == shown
    assert value.count("x") == 1000
