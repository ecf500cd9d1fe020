"""Files and folders between runs: what has not changed is not read again, and what is broken keeps what it was."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from heartbeat.model import Gate, Source
from tests.doubles.feed import ics
from tests.lookahead.support import NOW, tell


@dataclass
class Kept:
    """The script, with a file or a folder as its source, and a cache."""

    kind: str
    place: Path
    cache: Path

    @property
    def file(self) -> Path:
        return self.place if self.kind == "file" else self.place / "a.ics"

    def run(self, minutes: float = 0) -> Gate:
        sources = [{self.kind: str(self.place), "name": "mine"}]
        return tell({"sources": sources}, NOW + timedelta(minutes=minutes), cache=self.cache)

    def titles(self, minutes: float = 0) -> list[str]:
        return sorted(finding.title for finding in self.run(minutes).findings)


@pytest.fixture(params=["file", "vdir"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    place = tmp_path / "place"
    kept = Kept(request.param, place, tmp_path / "cache")
    kept.file.parent.mkdir(exist_ok=True)
    kept.file.write_bytes(ics("One"))
    return kept


def test_what_has_not_changed_is_not_read_again(kept: Kept, workers: list[int]) -> None:
    assert kept.titles() == kept.titles(10) == ["One"]
    assert workers == [1]


def in_place(path: Path) -> None:
    path.write_bytes(ics("Two"))


def by_rename(path: Path) -> None:
    new = path.with_suffix(".tmp")
    new.write_bytes(ics("Two"))
    os.replace(new, path)


def with_its_old_time(path: Path) -> None:
    before = path.stat()
    in_place(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("write", [in_place, by_rename, with_its_old_time])
def test_what_has_changed_is_read_again(kept: Kept, workers: list[int], write: Callable[[Path], None]) -> None:
    kept.titles()
    write(kept.file)
    assert kept.titles(1) == ["Two"]
    assert workers == [1, 1]


def empty(path: Path) -> None:
    path.write_bytes(b"")


def login_page(path: Path) -> None:
    path.write_bytes(b"<html>Please log in</html>")


def vanish(path: Path) -> None:
    path.unlink()
    if path.parent.name == "place":
        path.parent.rmdir()


def cut(path: Path) -> None:
    path.write_bytes(ics("One")[:-60])


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (empty, "cannot use 'NAME': it is empty"),
        (login_page, "cannot use 'NAME': it holds no calendar"),
        (vanish, "No such file or directory"),
        (cut, "the calendar is cut off"),
    ],
)
def test_what_is_broken_keeps_what_it_was_and_says_how_old_that_is(
    kept: Kept, spoil: Callable[[Path], None], why: str
) -> None:
    kept.run()
    spoil(kept.file)
    for minutes in (5, 10):
        gate = kept.run(minutes)
        (source,) = gate.sources
        assert [finding.title for finding in gate.findings] == ["One"]
        # Of a folder only what stood in the broken file is unknown.
        assert (source.ok, source.items) == (kept.kind == "vdir" and spoil in (empty, login_page), 1)
        assert why.replace("NAME", kept.file.name) in source.message
        assert f"copy from {minutes}m ago" in source.message
    kept.file.parent.mkdir(exist_ok=True)
    kept.file.write_bytes(ics("One", "Two"))
    assert kept.titles(11) == ["One", "Two"]
    assert kept.run(12).sources == (Source("mine", True, 2, ""),)


def test_a_folder_that_lost_all_of_its_many_files_is_believed_the_third_time(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    names = ["1", "2", "3", "4", "5"]
    for name in names:
        (place / f"{name}.ics").write_bytes(ics(name))
    kept = Kept("vdir", place, tmp_path / "cache")
    assert kept.titles() == names
    for path in place.iterdir():
        path.unlink()
    assert [kept.titles(minutes) for minutes in (1, 2, 3)] == [names, names, []]


def test_a_file_added_to_a_folder_or_taken_from_it_is_seen(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    kept = Kept("vdir", place, tmp_path / "cache")
    told = [kept.titles()]
    (place / "a.ics").write_bytes(ics("One"))
    told.append(kept.titles(1))
    (place / "b.ics").write_bytes(ics("Two"))
    told.append(kept.titles(2))
    (place / "a.ics").unlink()
    told.append(kept.titles(3))
    assert told == [[], ["One"], ["One", "Two"], ["Two"]]


def test_what_was_not_whole_is_tried_again_after_an_hour_though_it_has_not_changed(
    tmp_path: Path, workers: list[int]
) -> None:
    kept = Kept("file", tmp_path / "a.ics", tmp_path / "cache")
    cut(kept.place)
    for minutes in (0, 59.9, 60, 61):
        assert not kept.run(minutes).sources[0].ok
    assert workers == [1, 1]
