"""The evidence of another daemon: its files, its processes, and what its supervisor says. Standard library only.

Nothing here decides, and nothing here touches what it looks at: what cannot be read is a fault.
"""

from __future__ import annotations

import os

from heartbeat.probe.foreign_files import Reading, read_pid_files, read_record, read_starts_log
from heartbeat.probe.processes import Process, find_process
from heartbeat.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from heartbeat.probe.supervisor import Supervised
    from heartbeat.probe.watched import Target


class Evidence(Record):
    """What was found of a target at one moment.

    `is_installed` says that its daemon left a trace, or that its supervisor knows it. `state`, `heartbeat` and
    `pid_file` are None when there is no such file. `starts` are the instants of its log. `processes` are those that any
    of this names, by pid. `supervised` is what was answered by each supervisor that knows it or is silent, if any was
    asked (`was_asked`); `restarters`, `faults` and `unseen` (where restarters could not be sought) are
    (code, message).
    """

    __slots__ = (
        "faults",
        "heartbeat",
        "is_installed",
        "pid_file",
        "processes",
        "restarters",
        "starts",
        "state",
        "supervised",
        "unseen",
        "was_asked",
    )

    def __init__(
        self,
        *,
        is_installed: bool = True,
        state: Reading | None = None,
        heartbeat: Reading | None = None,
        pid_file: Reading | None = None,
        starts: tuple[float, ...] = (),
        processes: Mapping[int, Process] | None = None,
        supervised: tuple[Supervised, ...] = (),
        was_asked: bool = False,
        restarters: tuple[tuple[str, str], ...] = (),
        faults: tuple[tuple[str, str], ...] = (),
        unseen: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.is_installed = is_installed
        self.state = state
        self.heartbeat = heartbeat
        self.pid_file = pid_file
        self.starts = starts
        self.processes = processes or {}
        self.supervised = supervised
        self.was_asked = was_asked
        self.restarters = restarters
        self.faults = faults
        self.unseen = unseen

    @property
    def readings(self) -> tuple[Reading, ...]:
        return tuple(each for each in (self.state, self.heartbeat, self.pid_file) if each)


def gather_foreign(target: Target, *, thorough: bool = True) -> Evidence:
    """Look at everything that the section names, and if *thorough* for what restarts it."""
    from heartbeat.probe.foreign_service import (
        ask_about,
        is_supervised,
        restarters_of,
    )  # here: it may have to run programs

    if not target.is_judgeable:
        return Evidence(is_installed=False)
    if target.home and not os.path.isdir(target.home):
        restarters, unseen = restarters_of(target, None) if thorough else ((), ())
        return Evidence(is_installed=False, restarters=restarters, unseen=unseen)
    faults: list[tuple[str, str]] = []
    starts: tuple[float, ...] = ()
    try:
        starts = read_starts_log(target.starts_log)
    except OSError as error:
        faults.append(("starts_unreadable", f"cannot read {target.starts_log}: {error.strerror or error}"))
    except ValueError as error:
        faults.append(("starts_corrupt", f"cannot understand {target.starts_log}: {error}"))
    evidence = Evidence(
        state=read_record("state", target.state_file, target),
        heartbeat=read_record("heartbeat", target.heartbeat_file, target),
        pid_file=read_pid_files(target),
        starts=starts,
        supervised=ask_about(target),
        was_asked=is_supervised(target),
        faults=tuple(faults),
    )
    evidence.processes = {pid: find_process(pid) for pid in _pids(evidence)}
    evidence.is_installed = _is_installed(target, evidence)
    if thorough:
        alive = (process.pid for process in evidence.processes.values() if process.alive)
        evidence.restarters, evidence.unseen = restarters_of(target, next(alive, None))
    return evidence


def _pids(evidence: Evidence) -> set[int]:
    named = [*(each.pid for each in evidence.readings), *(each.pid for each in evidence.supervised)]
    return {pid for pid in named if pid is not None}


def _is_installed(target: Target, evidence: Evidence) -> bool:
    """A folder alone proves nothing: many programs make theirs long before, or without, their daemon."""
    if evidence.readings or evidence.faults or any(not each.fault for each in evidence.supervised):
        return True
    has_files = target.state_file or target.heartbeat_file or target.pid_file or target.starts_log
    if evidence.supervised and not (has_files or target.installed):
        return True  # the only one who could know of it is silent: that does not make it absent
    return any(map(os.path.lexists, (*target.installed, target.starts_log)))
