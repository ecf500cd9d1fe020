"""launchd, spoken to through `launchctl`, by the verbs of today; its numbers are said in words.

Nothing it answers means that the thing is done: what was asked for is looked for until it is so, or time is up.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from heartbeat.ask import Answer, ask
from heartbeat.errors import ServiceError

_POLL = 0.2
_ANSWER = 10.0
"""Seconds that one answer may take; `kickstart` is known to wait for ever."""
_BUSY = (5, 36, 37)
"""Also said while an earlier one is still being taken away."""
_MEANS = {
    1: "it is not permitted: services of the machine need root, so use sudo",
    3: "launchd knows no such job",
    5: "launchd does not take the job: the one before is still ending, it is disabled, or it is meant for the other"
    " kind of session",
    36: "it is still being ended",
    37: "an earlier request for it is still being carried out",
    112: "there is no such domain: nobody is logged in at the screen",
    113: "launchd has no such job loaded",
    119: "the job is disabled, which outlives even its removal",
    122: "launchd does not trust the file: it must be its owner's, and writable by nobody else",
    125: "the domain does not exist just now: nobody is logged in at the screen",
    134: "the job is meant for another kind of session",
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """Of what `launchctl print` shows of a job, the little that may be relied on."""

    state: str
    pid: int | None
    runs: int | None
    ended: str
    """How it ended last, in launchd's words, such as `0` or `Killed: 9`; empty when it never did."""
    path: str

    @property
    def line(self) -> str:
        """For the owner."""
        runs = f", runs = {self.runs}" if self.runs is not None else ""
        return f"state = {self.state}{runs}, last exit = {self.ended or '(never)'}"


class Launchctl:
    """The program, which tests replace. *tempo* shortens every wait, for a launchd whose seconds are shorter."""

    def __init__(self, program: str, tempo: float = 1.0) -> None:
        self._program = program
        self._tempo = tempo

    # Questions

    def loaded(self, target: str) -> Loaded | None:
        """The job, when launchd has it; raises ServiceError when launchd does not answer."""
        answer = self._ask("print", target)
        return read_print(answer.text) if answer.status == 0 else None

    def has_domain(self, domain: str) -> bool:
        return self._ask("print", domain).status == 0

    def is_disabled(self, target: str) -> bool:
        """Whether somebody said `launchctl disable`, which removing and writing the file anew does not undo."""
        domain, _, label = target.rpartition("/")
        lines = [line.split("=>") for line in self._ask("print-disabled", domain).text.splitlines()]
        said = {line[0].strip().strip('"'): line[1].strip() for line in lines if len(line) == 2}  # noqa: PLR2004 - name, value
        return said.get(label) in ("disabled", "true")  # the second before macOS 13

    # Requests

    def take_out(self, target: str, seconds: float) -> None:
        """Have the job ended and forgotten; it is over only when launchd no longer knows it."""
        if self.loaded(target) is None:
            return
        answer = self._tell("bootout", target)
        if not self._until(lambda: self.loaded(target) is None, seconds):
            raise ServiceError(f"cannot stop {target}: {self._explain(answer)}; `launchctl print {target}` shows it")

    def bring_in(self, target: str, file: str, seconds: float) -> None:
        """Have the job loaded from its file, also when somebody disabled it, or the one before has yet to go."""
        domain = target.rpartition("/")[0]
        self._tell("enable", target)
        for _ in self._rounds(seconds):
            answer = self._tell("bootstrap", domain, file)
            if answer.status == 0 or self.loaded(target) is not None:
                return
            if answer.status not in _BUSY and answer.status is not None:
                break
        raise ServiceError(f"cannot load {file} into {domain}: {self._explain(answer)}; {_remedy(answer, domain)}")

    def replace(self, target: str) -> None:
        """Have launchd kill it and start it anew, all by itself: whoever asks may be killed along with it."""
        self._tell("kickstart", "-k", target)

    def end(self, target: str, pid: int, seconds: float) -> bool:
        """Have the process asked to end, as a stop does; whether it has gone."""
        self._tell("kill", "SIGTERM", target)
        return self._until(lambda: self._pid(target) != pid, seconds)

    # Watching

    def spawned(self, target: str, runs: int, seconds: float) -> int | None:
        """The process of a loaded job that ran *runs* times before; None when it ended at once, or never came.

        Longer than the throttle is a fair time: launchd may make it wait for that.
        """
        job = self.loaded(target)
        if job is not None and job.pid is None and job.runs in (runs, None):
            # What is loaded need not run, whatever RunAtLoad says.
            self._tell("kickstart", target)
        for _ in self._rounds(seconds):
            job = self.loaded(target)
            if job is None or job.pid is not None:
                break
            if job.runs is not None and job.runs > runs:
                return None
        return job.pid if job is not None else None

    def stays(self, target: str, pid: int, is_proved: Callable[[int], bool], seconds: float) -> bool:
        """Whether this process proves itself, or at least is still there after a while."""
        for _ in self._rounds(seconds):
            if self._pid(target) != pid:
                return False
            if is_proved(pid):
                return True
        return True

    def _pid(self, target: str) -> int | None:
        job = self.loaded(target)
        return job.pid if job is not None else None

    def _until(self, is_so: Callable[[], bool], seconds: float) -> bool:
        return any(is_so() for _ in self._rounds(seconds))

    def _rounds(self, seconds: float) -> Iterator[None]:
        end = time.monotonic() + seconds * self._tempo
        yield
        while time.monotonic() < end:
            time.sleep(_POLL * self._tempo)
            yield

    def _tell(self, *words: str) -> Answer:
        return ask((self._program, *words), os.environ, seconds=_ANSWER)

    def _ask(self, *words: str) -> Answer:
        answer = self._tell(*words)
        if answer.status is None:
            raise ServiceError(f"cannot ask launchd: {answer.fault}; try again")
        return answer

    @staticmethod
    def _explain(answer: Answer) -> str:
        if answer.status is None:
            return answer.fault
        said = " ".join(answer.text.split())
        meaning = _MEANS.get(answer.status, "launchctl refused")
        return f"{meaning} (launchctl: {answer.status}{', ' if said else ''}{said})"


def read_print(text: str) -> Loaded:
    """The job's own lines of `launchctl print`: those of what it contains stand further in, and have a `state` too."""
    own = [line[1:] for line in text.splitlines() if line.startswith("\t") and not line.startswith("\t\t")]
    values = {name.strip(): value.strip() for name, equals, value in (line.partition(" = ") for line in own) if equals}
    # A signal stands in the place of the exit code.
    ended = values.get("last terminating signal") or values.get("last exit code", "")
    return Loaded(
        state=values.get("state", "unknown"),
        pid=_number(values.get("pid", "")),
        runs=_number(values.get("runs", "")),
        ended="" if ended == "(never exited)" else ended,
        path=values.get("path", ""),
    )


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None


def _remedy(answer: Answer, domain: str) -> str:
    if answer.status in (112, 125):
        return f"log in there, or run `heartbeat install` again from here, which does without {domain}"
    if answer.status == 1:
        return "run the same with sudo"
    return f"`launchctl print {domain}` shows what it has; try again"
