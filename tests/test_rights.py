"""Root in somebody else's installation: it may look, and run nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import Place

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be the wrong one")
NOBODY = 65534


@pytest.fixture
def theirs(place: Place) -> Place:
    place.finds({"key": "k"})
    place.state.mkdir()
    os.chown(place.state, NOBODY, NOBODY)
    return place


@pytest.mark.parametrize(
    "words", [("tick", "check"), ("tick", "check", "--dry-run"), ("messages", "test", "x"), ("run",)]
)
def test_root_runs_nothing_of_another_users_and_is_told_the_command_that_does(
    theirs: Place, words: tuple[str, ...]
) -> None:
    done = theirs.run(*words)
    assert done.status == 5, done
    assert f"sudo -u nobody heartbeat --home {theirs.folder} {words[0]}" in done.err
    assert not (theirs.folder / "runs.log").exists()
    assert list(theirs.state.iterdir()) == []


def test_root_may_look_at_it(theirs: Place) -> None:
    for words in (("jobs",), ("check",), ("runs",), ("health",)):
        assert theirs.call(*words).status == 0


def test_a_user_that_is_no_longer_known_is_named_by_number(theirs: Place, tmp_path: Path) -> None:
    os.chown(theirs.state, 54321, 54321)
    assert "sudo -u '#54321' heartbeat" in theirs.run("tick", "check").err
