"""Each slow test gets homes of its own; when it fails, their logs are shown, and nothing is left running."""

from __future__ import annotations

import faulthandler
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.slow.homes import Home


@pytest.fixture(autouse=True)
def may_take_minutes() -> None:
    """These tests bound their own waits; a stack trace after five minutes would only be noise."""
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def make_home(tmp_path: Path) -> Iterator[Callable[[str], Home]]:
    homes: list[Home] = []

    def make(name: str) -> Home:
        homes.append(Home(tmp_path / name))
        return homes[-1]

    yield make
    for home in homes:
        home.clear()
        print(home.report())


@pytest.fixture
def home(make_home: Callable[[str], Home]) -> Home:
    return make_home("home")
