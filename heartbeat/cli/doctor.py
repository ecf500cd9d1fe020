"""`heartbeat doctor`: everything that a support person would ask, each answer with what to do about it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import typer

from heartbeat.cli.shell import Shell, localized, shell
from heartbeat.clock import utc_now
from heartbeat.errors import HeartbeatError
from heartbeat.zones import zone_or

if TYPE_CHECKING:
    from heartbeat.doctor import Answer, Case, Status

_TO_READ = 5.0
"""Seconds for the configuration and what lies beside it; a disk that hangs is an answer too."""
_INVALID = 4


def register(app: typer.Typer) -> None:
    app.command()(doctor)


def doctor() -> None:
    """Look at everything that heartbeat needs; exit 1 when something fails, 4 when the configuration is not valid."""
    from heartbeat.doctor import consult  # imported here: it brings all rooms of the house

    call = shell("doctor")
    case = _admitted(call)
    answers = consult(case)
    met = Counter(answer.status for answer in answers)
    counts: dict[Status, int] = {status: met[status] for status in ("fail", "warn", "ok", "skip")}
    data = {
        "home": {"config": str(case.home.config), "state": str(case.home.state), "cache": str(case.home.cache)},
        "owner": case.owner_name,
        "counts": counts,
        "answers": [asdict(answer) for answer in answers],
    }
    call.show(data, lambda: localized("\n".join([*_lines(answers), "", _summary(counts)]), _zone(case)))
    raise typer.Exit(_INVALID if case.problems else 1 if counts["fail"] else 0)


def _zone(case: Case) -> ZoneInfo:
    zone = zone_or(case.settings.owner.zone, ZoneInfo("UTC"))
    return zone if isinstance(zone, ZoneInfo) else ZoneInfo("UTC")


def _admitted(call: Shell) -> Case:
    from heartbeat.doctor import admit

    found: list[Case] = []
    thread = threading.Thread(
        target=lambda: found.append(admit(call.home, call.environ, utc_now())), name="doctor", daemon=True
    )
    thread.start()
    thread.join(_TO_READ)
    if not found:
        message = f"cannot read {call.home.config} and {call.home.state}: not done in {_TO_READ:g} s"
        raise HeartbeatError(f"{message}; see whether their disk answers: `ls {call.home.config}`")
    return found[0]


def _lines(answers: Sequence[Answer]) -> list[str]:
    lines, last = [], ""
    for answer in answers:
        check = answer.check if answer.check != last else ""
        last = answer.check
        about = f"{answer.about}: " if answer.about else ""
        lines.append(f"{answer.status:<5} {check:<14} {about}{answer.seen}")
        if answer.remedy:
            lines.append(f"{'':<20} -> {answer.remedy}")
    return lines


def _summary(counts: Mapping[Status, int]) -> str:
    words = {"fail": "failed", "warn": "to know", "ok": "ok", "skip": "left out"}
    return ", ".join(f"{count} {words[status]}" for status, count in counts.items())
