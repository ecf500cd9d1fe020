"""Asking every question at once, each within its time: one that hangs costs only itself, and says so."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import ModuleType

from heartbeat.doctor._answer import Answer, fail
from heartbeat.doctor._case import Case
from heartbeat.doctor._hide import hidden
from heartbeat.errors import HeartbeatError
from heartbeat.process import without
from heartbeat.text import one_line

SECONDS = 2.0
"""For a question whose file says nothing else."""
_LONGEST = 1000
_OURS = re.compile(r"`(?:sudo (?:-u \S+ )?)?heartbeat(?= [a-z])(?![^`]* --system)")
"""A command of ours within an answer."""
_ORDER = ("installation", "configuration", "alive", "starts", "service")
"""What the rest hangs on comes first."""


def questions() -> dict[str, ModuleType]:
    """Every question by its name, the most telling ones first."""
    names = [
        found.name for found in pkgutil.iter_modules([os.path.dirname(__file__)]) if not found.name.startswith("_")
    ]
    names.sort(key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))
    return {name.replace("_", "-"): importlib.import_module(f"heartbeat.doctor.{name}") for name in names}


def consult(case: Case, asked: Mapping[str, ModuleType] | None = None) -> list[Answer]:
    """The answers to all questions, or those *asked*, in their order; no secret that is known is in any of them."""
    asked = questions() if asked is None else asked
    secrets = hidden(case)
    rounds = {name: _Round(name, module.look, case) for name, module in asked.items()}
    began = time.monotonic()
    answers: list[Answer] = []
    for name, one in rounds.items():
        limit = float(getattr(asked[name], "SECONDS", SECONDS))
        answers += one.answers(limit, began + limit)
    return [_shown(answer, case.option) for answer in without(answers, secrets)]


class _Round:
    """One question on its way, in a thread that is left behind when it takes too long."""

    def __init__(self, name: str, look: Callable[[Case], Iterable[Answer]], case: Case) -> None:
        self._name = name
        self._found: list[Answer] = []
        self._thread = threading.Thread(target=self._ask, args=(look, case), name=f"doctor-{name}", daemon=True)
        self._thread.start()

    def answers(self, seconds: float, until: float) -> Sequence[Answer]:
        self._thread.join(max(0.0, until - time.monotonic()))
        found = list(self._found)
        if self._thread.is_alive():
            seen = f"this was not answered within {seconds:g} s"
            found.append(fail(seen, "see whether a disk, a server or the machine is slow, then ask again"))
        return [replace(answer, check=self._name) for answer in found]

    def _ask(self, look: Callable[[Case], Iterable[Answer]], case: Case) -> None:
        try:
            for answer in look(case):
                self._found.append(answer)
        except Exception as error:  # noqa: BLE001 - one question must not cost the others
            self._found.append(_trouble(case, error))


def _trouble(case: Case, error: Exception) -> Answer:
    """What kept a question from being answered; the text of an error that is not ours may hold a secret."""
    if isinstance(error, HeartbeatError):
        message, _, remedy = str(error).rpartition("; ")
        return fail(message or str(error), remedy)
    if isinstance(error, PermissionError):
        remedy = f"run `{case.as_owner or 'sudo '}heartbeat doctor`"
        return fail(f"cannot look at {error.filename}: {error.strerror}", remedy)
    if isinstance(error, OSError):
        return fail(f"cannot look at {error.filename or 'it'}: {error.strerror}", "correct the path, or its disk")
    return fail(f"cannot tell: {type(error).__name__}", "please report this")


def _shown(answer: Answer, option: str) -> Answer:
    """As it may be printed; its commands are for this installation and no other."""
    return replace(
        answer,
        seen=one_line(_OURS.sub(lambda found: found[0] + option, answer.seen), _LONGEST),
        remedy=one_line(_OURS.sub(lambda found: found[0] + option, answer.remedy), _LONGEST),
        about=one_line(answer.about, _LONGEST),
    )
