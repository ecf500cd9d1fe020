"""Fixtures of the calendar lookahead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from heartbeat.sources import apart
from tests.lookahead.support import Tell


@pytest.fixture
def told(tmp_path: Path) -> Tell:
    return Tell(tmp_path / "me.ics")


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many calendars each worker was given."""
    started: list[int] = []

    def noted(contents: Any, ask: Any) -> Any:
        started.append(len(contents))
        return real(contents, ask)

    real = apart.expand_apart
    monkeypatch.setattr(apart, "expand_apart", noted)
    return started
