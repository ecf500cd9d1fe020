"""What the contract asks of the double of an agent, and what those that are programs have in common.

A kind of agent is put to the contract by one file, `fake_KIND.py`, with one function `fake(place)`: a context in which
`place` is configured to wake a double of that kind, with a secret `OWN_SECRET` of heartbeat's own environment.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import psutil

from tests.conftest import Place, wait_for

REPLY = "the reply"
TESTS = Path(__file__).resolve().parent


class Fake(Protocol):
    """A double of an agent."""

    longest: int
    """Bytes of the longest prompt that it can be given."""

    def behave(self, how: str) -> None:
        """From the next call on.

        `accept`: says ` the reply `; `empty`: accepts without a word; `refuse`: says `broken` and fails for now;
        `hang`: never answers; `limit`: asks to be left alone for 7 s; `junk`: answers with nonsense;
        `flood`: with 20 MB of it, and then as `accept`.
        """

    @property
    def heard(self) -> bytes:
        """The prompt that it got last."""

    def wait(self) -> None:
        """Until it has been called."""


class ProgramFake:
    """A double that is a program: `fake_KIND.py`, run as a script with the behaviour as its first argument."""

    def __init__(self, place: Place, kind: str, longest: int = 2**40) -> None:
        self.place, self.kind, self.longest = place, kind, longest

    def configure(self, more: str = "") -> None:
        """With *more* in [agent]."""
        self.place.configure(
            f'[environment]\npath = "{self.place.folder}/bin:/usr/bin:/bin"\n[agent]\nkind = "{self.kind}"\n{more}\n'
            'secrets = { MY_KEY = { env = "OWN_SECRET" } }\n'
        )

    def behave(self, how: str) -> None:
        self.place.file(
            f"bin/{self.kind}",
            '#!/bin/sh\nenv > "$HEARTBEAT_HOME/environment"\nPYTHONPATH="' + str(TESTS.parent.parent) + '" '
            f'exec {sys.executable} -S -m tests.agents.fake_{self.kind} {how} "$@"\n',
        )

    @property
    def heard(self) -> bytes:
        return (self.place.folder / "heard").read_bytes()

    @property
    def argv(self) -> list[str]:
        """Without the program's own name."""
        words: list[str] = json.loads((self.place.folder / "argv").read_text())
        return words

    @property
    def environment(self) -> Mapping[str, str]:
        lines = (self.place.folder / "environment").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines)

    def wait(self) -> None:
        wait_for(self.place.folder / "started")


def living(place: Place) -> list[int]:
    """The processes that were started for this home and live still."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            ours = process.environ().get("HEARTBEAT_HOME") == str(place.folder)
            found += [process.pid] if ours and process.status() != psutil.STATUS_ZOMBIE else []
    return found


@contextmanager
def program(place: Place, kind: str, more: str = "", longest: int = 2**40) -> Iterator[ProgramFake]:
    """The double of a kind that is a program, configured."""
    made = ProgramFake(place, kind, longest)
    made.configure(more)
    yield made
