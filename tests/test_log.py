"""Log lines: one event, one line, whatever the values hold."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
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


@pytest.mark.parametrize(("length", "shown"), [(1000, 1000), (1001, 1001)])
def test_a_value_is_cut_at_a_thousand_characters(caplog: pytest.LogCaptureFixture, length: int, shown: int) -> None:
    with caplog.at_level(logging.INFO, "heartbeat"):
        log.event("word", text="x" * length)
    value = caplog.records[0].getMessage().removeprefix("word text=").strip('"')
    assert len(value.replace("\\u2026", "…")) == shown
    assert value.count("x") == 1000
