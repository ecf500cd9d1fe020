"""What the tests of other daemons begin with."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.probe.scenes import Scene, sleeping


@pytest.fixture(scope="session")
def live() -> Iterator[int]:
    """The pid of a process that runs."""
    with sleeping() as child:
        yield child.pid


@pytest.fixture
def scene(tmp_path: Path, live: int, monkeypatch: pytest.MonkeyPatch) -> Scene:
    scene = Scene(tmp_path, live)
    monkeypatch.setenv("PATH", f"{scene.root}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("HEARTBEAT_LAUNCHCTL", f"{scene.root}/bin/launchctl")
    return scene
