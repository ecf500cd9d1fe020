"""The marker of an installed service and the intent of its owner, written, read back and refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.marker import Marker, forget_intent, read_intent, read_marker, write_intent, write_marker

NOW = 1_780_000_000.0
WHOLE = Marker("systemd", "heartbeat.service", "user", "0.1.0")
texts = st.text(max_size=30).filter(str.isprintable)


def test_a_marker_comes_back_and_none_is_none(tmp_path: Path) -> None:
    path = tmp_path / "service"
    assert read_marker(path) is None
    for marker in (WHOLE, Marker("none", "heartbeat run --detach", "", "")):
        write_marker(path, marker)
        assert read_marker(path) == marker
    assert [entry.name for entry in tmp_path.iterdir()] == ["service"]


def test_a_marker_that_may_be_there_but_cannot_be_looked_for_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "lstat", refuse)  # as a folder of another user's does
    with pytest.raises(PermissionError):
        read_marker(tmp_path / "service")


def test_there_is_no_marker_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert read_marker(tmp_path / "file" / "service") is None


@given(texts.filter(bool), texts.filter(bool), texts, texts)
def test_any_marker_comes_back(
    tmp_path_factory: pytest.TempPathFactory, manager: str, unit: str, domain: str, version: str
) -> None:
    path = tmp_path_factory.getbasetemp() / f"marker-{os.getpid()}"
    write_marker(path, Marker(manager, unit, domain, version))
    assert read_marker(path) == Marker(manager, unit, domain, version)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0",
        b"\xff",
        b"manager\tsystemd\n",
        b"manager\t\nunit\tx\ndomain\tuser\nversion\t1\n",
        b"manager\tsystemd\nunit\t\ndomain\tuser\nversion\t1\n",
        b"manager\tsystemd\nunit\tx\ndomain\tuser\nversion\t1\nmore\tx\n",
        b"x" * 100_000,
    ],
)
def test_what_is_no_marker_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "service"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"heartbeat install|can't decode"):
        read_marker(path)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_something_else_in_its_place_is_an_error_and_blocks_nothing(tmp_path: Path, make: object) -> None:
    path = tmp_path / "service"
    assert callable(make)
    make(path)
    with pytest.raises((OSError, ValueError)):
        read_marker(path)


@pytest.mark.parametrize(
    ("age", "word"), [(0, "restart"), (119.9, "restart"), (120, "restart"), (120.1, ""), (-0.1, ""), (1e9, "")]
)
def test_an_intent_holds_for_two_minutes_and_never_before_its_time(tmp_path: Path, age: float, word: str) -> None:
    path = tmp_path / "intent"
    write_intent(path, "restart", "ann", NOW)
    assert read_intent(path, NOW + age) == ((word, "ann") if word else ("", ""))


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"restart", b"restart\tsoon\tann\n", b"restart\t1\n", b"a\t1780000000\tb\tc\n", b"\t\t\n"]
)
def test_what_is_no_intent_is_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "intent"
    path.write_bytes(content)
    assert read_intent(path, NOW) == ("", "")


def test_an_intent_is_forgotten_once_it_is_fulfilled(tmp_path: Path) -> None:
    path = tmp_path / "intent"
    forget_intent(path)
    write_intent(path, "start", "tab\tnew\nline", NOW)
    assert read_intent(path, NOW) == ("start", "tab new line")
    forget_intent(path)
    assert read_intent(path, NOW) == ("", "")
    assert list(tmp_path.iterdir()) == []
