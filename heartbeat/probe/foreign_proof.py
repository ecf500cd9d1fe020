"""What the files of another daemon prove of its process: each at most what it is fresh and certain enough for.

Pure: the readings of the clocks are arguments. Standard library only.
"""

from __future__ import annotations

from heartbeat.probe.instants import span_of
from heartbeat.probe.processes import has_started, was_written_by
from heartbeat.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from heartbeat.probe.foreign import Evidence
    from heartbeat.probe.foreign_files import Reading
    from heartbeat.probe.processes import Process
    from heartbeat.probe.watched import Target

    Problem = tuple[str, str]

GIVEN, CLAIMED, NONE, STALLED = "given", "claimed", "none", "stalled"
_FRESH, _STALE, _UNDATED, _FOREIGN = "fresh", "stale", "undated", "foreign"
_AHEAD = 60.0
"""Seconds by which a stamp may be ahead: two programs read the clock, and it may be set between."""


class Proof(Record):
    """What there is for a process that runs.

    `kind`: GIVEN, fresh proof that it works; CLAIMED, a record of its own that proves nothing; NONE, not even that;
    STALLED, proof that it does not. `beat` is when it last said something; `knows_state` says whether the state file is
    of this very process.
    """

    __slots__ = ("beat", "kind", "knows_state", "problems")

    def __init__(
        self,
        kind: str,
        problems: tuple[Problem, ...] = (),
        *,
        beat: float | None = None,
        knows_state: bool = False,
    ) -> None:
        self.kind = kind
        self.problems = problems
        self.beat = beat
        self.knows_state = knows_state


def weigh(target: Target, evidence: Evidence, main: Process, now: float, monotonic: float) -> Proof:
    """The proof for *main*, and what is wrong with the evidence."""
    scale = _Scale(evidence, main, now, monotonic)
    heartbeat, about_heartbeat = scale.weigh("heartbeat", evidence.heartbeat, target.heartbeat_stale)
    state, about_state = scale.weigh("state", evidence.state, target.stale)
    if target.state_file and evidence.state is None:
        about_state = ("state_missing", f"there is no {target.state_file}")
    if heartbeat == _FRESH and state == _STALE:
        about_state = None  # such files are written on changes only: an idle daemon's is old
    problems = [each for each in (about_heartbeat, about_state, _about_pid_file(target, evidence, main)) if each]
    own = [
        reading.stamp
        for kind, reading in ((heartbeat, evidence.heartbeat), (state, evidence.state))
        if reading and kind in (_FRESH, _STALE) and reading.stamp is not None
    ]
    kind = NONE
    if main.is_stopped:
        kind = STALLED
        problems.insert(0, ("stopped", f"process {main.pid} is stopped; `kill -CONT {main.pid}` lets it go on"))
    elif heartbeat == _STALE:
        kind = STALLED
    elif _FRESH in (heartbeat, state) or not (target.state_file or target.heartbeat_file):
        kind = GIVEN
    elif {heartbeat, state} & {_STALE, _UNDATED}:
        kind = CLAIMED
    knows_state = state in (_FRESH, _STALE, _UNDATED)
    return Proof(kind, tuple(problems), beat=max(own, default=None), knows_state=knows_state)


def belongs_to(reading: Reading, process: Process, evidence: Evidence) -> bool | None:
    """Whether what was read is of this process, not of one that had its number before; None when nothing tells."""
    has_its_start = has_started(process, reading.start)
    if has_its_start is not None:
        return has_its_start
    if any(each.pid == process.pid for each in evidence.supervised):
        return True
    return was_written_by(process, reading.written_at)


class _Scale:
    """One process and one moment, to weigh readings by."""

    def __init__(self, evidence: Evidence, main: Process, now: float, monotonic: float) -> None:
        self._evidence = evidence
        self._main = main
        self._now = now
        self._monotonic = monotonic

    def weigh(self, kind: str, reading: Reading | None, limit: float) -> tuple[str, Problem | None]:
        """What a file is good for, and what is wrong with it."""
        if reading is None:
            return "", None
        if reading.fault or not self._is_of(kind, reading):
            whose = f"process {reading.pid}" if reading.pid else "no process"
            message = f"{reading.path} is of {whose}, not of {self._main.pid} as it runs now"
            return _FOREIGN, reading.fault or (f"{kind}_foreign", message)
        age = self._age(reading, limit)
        if age is None:
            return _UNDATED, (f"{kind}_undated", f"{reading.path} does not say when it was written")
        if age < -_AHEAD:
            return _UNDATED, (f"{kind}_future", f"{reading.path} was written {span_of(-age)} in the future")
        if age > limit:
            message = f"{reading.path} was written {span_of(age)} ago; it may be {span_of(limit)} old"
            return _STALE, (f"{kind}_stale", message)
        return _FRESH, None

    def _is_of(self, kind: str, reading: Reading) -> bool:
        """A state file is its process's unless something speaks against that; a heartbeat must be it for certain."""
        belongs = belongs_to(reading, self._main, self._evidence)
        if kind == "heartbeat":
            return belongs is True and (reading.is_touched or reading.pid == self._main.pid)
        return belongs is not False and reading.pid == self._main.pid

    def _age(self, reading: Reading, limit: float) -> float | None:
        if reading.stamp is None:
            return None
        age = self._now - reading.stamp
        if reading.monotonic is None:
            return age
        # It is of this process, so of this boot: neither a suspend nor a step of the wall clock makes it look old,
        # and a stamp in the future cannot make it look young.
        by_monotonic = self._monotonic - reading.monotonic
        return age if age < -_AHEAD and by_monotonic <= limit else by_monotonic


def _about_pid_file(target: Target, evidence: Evidence, main: Process) -> Problem | None:
    reading = evidence.pid_file
    if reading is None:
        is_only_file = target.pid_file and not (target.state_file or target.heartbeat_file)
        return ("pid_file_missing", f"there is no {' or '.join(target.pid_file)}") if is_only_file else None
    if reading.fault:
        return reading.fault
    if reading.pid != main.pid or belongs_to(reading, main, evidence) is False:
        return "pid_file_foreign", f"{reading.path} names process {reading.pid}, not {main.pid} as it runs now"
    return None
