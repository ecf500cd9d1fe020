"""The kinds of calendars: one file a kind, found by listing this folder.

A kind is a module with `KIND` (its name in the option `sources`), `SETTINGS` (what may stand beside the place),
`IS_PATH` (whether the place is one), and `read(entry, ask) -> Content`; see `asking`.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from typing import Any, Protocol

from heartbeat.sources.calendars.asking import Asking, Content
from heartbeat.sources.entries import Entry


class Kind(Protocol):
    """What a module of this folder holds; it must be cheap to import, and import what is heavy inside of `read`."""

    @property
    def KIND(self) -> str: ...  # noqa: N802

    @property
    def SETTINGS(self) -> tuple[str, ...]: ...  # noqa: N802

    @property
    def IS_PATH(self) -> bool: ...  # noqa: N802

    @property
    def read(self) -> Callable[[Entry, Asking], Content]:
        """What the calendar holds now; raises SourceFailed. Called in a thread of its own."""


def find_kinds() -> dict[str, Kind]:
    """Every kind by its name, in order of their files."""
    files = sorted(name for name in os.listdir(os.path.dirname(__file__)) if name.endswith(".py"))
    modules: list[Any] = [
        importlib.import_module(f"{__name__}.{name[:-3]}") for name in files if not name.startswith("_")
    ]
    return {module.KIND: module for module in modules if hasattr(module, "KIND")}
