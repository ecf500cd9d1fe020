"""What keeps restarting the subject: named, with the command that takes it away. Read only; every question bounded.

    subject = Subject(units=("heartbeat.service",), labels=("local.heartbeat",), commands=("heartbeat",), …)
    subject = subject_of(config, state, now=time.time())         # the same, of the heartbeat of these two folders
    found = find_restarters(subject)                              # never raises
    found.restarters: tuple[Restarter, ...]                       # kind, name, message, remedy, .problem
    found.faults: tuple[tuple[str, str], ...]                     # (code, message): what could not be looked at

`--assert-no-restarter` fails when there are `restarters`; `faults` are told on stderr and fail nothing: what cannot be
seen is not proved, and a host without a crontab must not be red for ever. Standard library only.
"""

from __future__ import annotations

from heartbeat.probe.restarters import cron, launchd, processes, systemd
from heartbeat.probe.restarters.own import recent_endings, subject_of
from heartbeat.probe.restarters.search import Search
from heartbeat.probe.restarters.subject import Found, Restarter, Subject, unseen

__all__ = ["Found", "Restarter", "Subject", "find_restarters", "recent_endings", "subject_of"]

# Processes last: what belongs to a unit or a job is named by that.
_KINDS = (("systemd", systemd.look), ("launchd", launchd.look), ("cron", cron.look), ("the processes", processes.look))


def find_restarters(subject: Subject) -> Found:
    """Look everywhere; never raises."""
    search = Search(subject)
    restarters: dict[str, Restarter] = {}
    faults: list[tuple[str, str]] = []
    for what, look in _KINDS:
        try:
            found, unseen_here = look(search)
        except Exception as error:  # noqa: BLE001 one kind of evidence must not hide the others
            faults.append(unseen(what, f"{type(error).__name__}: {error}"))
            continue
        faults.extend(unseen_here)
        for restarter in found:
            restarters.setdefault(restarter.remedy, restarter)  # a timer and its service are one restarter
    if not search.accuses:
        faults.append(unseen("units and jobs", "which of them is its own cannot be read; ask as its owner, or as root"))
    return Found(restarters.values(), faults, search.keeper)
