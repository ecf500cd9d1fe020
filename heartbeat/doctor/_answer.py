"""What a question comes to: what was seen, whether that is well, and what to do if it is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warn", "fail", "skip"]


@dataclass(frozen=True, slots=True)
class Answer:
    """One thing that was looked at."""

    status: Status
    """`fail`: heartbeat does not do its work, or will soon not; `warn`: worth knowing; `skip`: it cannot be told here,
    and *seen* says why."""
    seen: str
    remedy: str = ""
    """What to do: a command where there is one."""
    about: str = ""
    """Which of several, such as the name of a job or a path."""
    check: str = ""
    """The question; whoever asks it fills this in."""


def count(number: int, noun: str) -> str:
    """`1 job`, `3 jobs`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def ok(seen: str, about: str = "") -> Answer:
    return Answer("ok", seen, about=about)


def warn(seen: str, remedy: str, about: str = "") -> Answer:
    return Answer("warn", seen, remedy, about)


def fail(seen: str, remedy: str, about: str = "") -> Answer:
    return Answer("fail", seen, remedy, about)


def skip(reason: str, about: str = "", remedy: str = "") -> Answer:
    return Answer("skip", reason, remedy, about)
