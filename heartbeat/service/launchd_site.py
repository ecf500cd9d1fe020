"""One installation under launchd: where its file is, which domain its job is in, and bringing it up there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from heartbeat.errors import ServiceError
from heartbeat.folders import make_private
from heartbeat.marker import Marker, read_marker, write_marker
from heartbeat.pulse import read_pulse, replace
from heartbeat.service.acting import acting_for
from heartbeat.service.launchctl import Launchctl, Loaded
from heartbeat.service.plan import Plan, Scope
from heartbeat.service.plist import THROTTLE, crash_log, exit_timeout, label_of

KIND = "launchd"
_PATIENCE = 10.0
"""Seconds by which we wait longer than launchd means to take."""
_STAYS = 15.0
"""Seconds after which a new process that has not proved itself is believed because it is still there."""
_GUARDED = ("Documents", "Desktop", "Downloads", "Library/Mobile Documents")


@dataclass(frozen=True, slots=True)
class Site:
    """A plan, on this machine, for whoever asks."""

    plan: Plan
    launchctl: Launchctl
    home: Path
    """The asking user's."""
    daemons: Path
    """Where the machine's daemons are."""

    @property
    def file(self) -> Path:
        folder = self.daemons if self.plan.scope == "system" else self.home / "Library/LaunchAgents"
        return folder / f"{label_of(self.plan)}.plist"

    @property
    def marked(self) -> Marker | None:
        """The marker, when it is one of launchd's."""
        try:
            marker = read_marker(self.plan.home.marker_file)
        except (OSError, ValueError):
            return None
        return marker if marker is not None and marker.manager == KIND else None

    def target(self, domain: str) -> str:
        return f"{domain}/{label_of(self.plan)}"

    def domain(self) -> str:
        """The one that it was installed into: one for every verb; else the one to install into."""
        marked = self.marked
        return marked.domain if marked is not None and marked.domain else self.domain_here()

    def domain_here(self) -> str:
        """The best that exists just now; raises ServiceError when there is none."""
        found = next((domain for domain in domains(self.plan.scope) if self.launchctl.has_domain(domain)), None)
        if found is None:
            raise ServiceError(f"cannot reach launchd for user {os.getuid()}: no domain; log in at the screen once")
        return found

    def patience(self) -> float:
        """Seconds until what launchd was asked to end must be gone."""
        return exit_timeout(self.plan) + _PATIENCE

    def take_out_all(self, verb: str, *, but: str = "") -> Iterator[str]:
        """End the job in each domain, but for one, and say so."""
        for domain in domains(self.plan.scope):
            job = self.launchctl.loaded(self.target(domain)) if domain != but else None
            if job is not None:
                self.refuse_from_within(verb, job)
                self.launchctl.take_out(self.target(domain), self.patience())
                yield f"stopped {self.target(domain)}"

    def write(self, text: str) -> None:
        """Put the file in its place; raises ServiceError."""
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            replace(self.file, text)
            self.file.chmod(0o644)  # launchd trusts no file that others may write
        except OSError as error:
            raise ServiceError(cannot("write", Path(error.filename or self.file), error)) from error

    def mark(self, marker: Marker) -> None:
        """Say that heartbeat is installed here, and in which domain; raises ServiceError."""
        home = self.plan.home
        try:
            with acting_for(home.state):
                make_private(home.state)  # launchd starts nothing in a folder that is not there
                if self.marked != marker:
                    write_marker(home.marker_file, marker)
        except OSError as error:
            raise ServiceError(cannot("write", home.marker_file, error)) from error

    def up(self, domain: str) -> str:
        """Have the job loaded and running, and see that it stays so; raises ServiceError."""
        target = self.target(domain)
        before = self.launchctl.loaded(target)
        if before is None:
            self.launchctl.bring_in(target, str(self.file), self.patience())
        runs = before.runs or 0 if before is not None else 0
        pid = self.launchctl.spawned(target, runs, THROTTLE + _PATIENCE)
        if pid is None or not self.launchctl.stays(target, pid, self._is_proved, _STAYS):
            raise self._ended(target)
        return f"{target} runs as process {pid}"

    def refuse_from_within(self, verb: str, job: Loaded) -> None:
        """What takes the job out of launchd is ended along with it before it has done the rest."""
        if job.pid is not None and is_within(job.pid):
            raise ServiceError(
                f"cannot {verb} from within heartbeat's own service: it would be left half done; use a terminal"
            )

    def advice(self) -> tuple[str, ...]:
        """What will not work under launchd as it is."""
        guarded = [self.home / folder for folder in _GUARDED]
        paths = (Path(self.plan.argv[0]), self.plan.home.config, self.plan.home.state)
        said = [
            f'macOS keeps services out of {path} ("Operation not permitted"): move it, or give the interpreter'
            " Full Disk Access in System Settings, Privacy & Security"
            for path in dict.fromkeys(paths)
            if any(path.is_relative_to(folder) for folder in guarded)
        ]
        if names := ", ".join(self.plan.credentials):
            said.append(f"launchd hands over no credentials ({names}): use {{ file = … }} or {{ keyring = … }} instead")
        return tuple(said)

    def _is_proved(self, pid: int) -> bool:
        """Whether the daemon itself says that it beats."""
        try:
            pulse = read_pulse(self.plan.home.pulse_file)
        except (OSError, ValueError):
            return False
        return pulse is not None and pulse.owner.startswith(f"{pid}:") and bool(pulse.last_beat_at)

    def _ended(self, target: str) -> ServiceError:
        job = self.launchctl.loaded(target)
        line = job.line if job is not None else "launchd no longer has it"
        look = (
            f"`heartbeat logs` and {crash_log(self.plan.home)} say why; `heartbeat check` finds a wrong configuration"
        )
        return ServiceError(f"cannot keep {target} running: {line}; {look}")


def domains(scope: Scope) -> tuple[str, ...]:
    """Where a job can be, the better first: of a user, the session at the screen, or that of none, as over SSH."""
    return ("system",) if scope == "system" else (f"gui/{os.getuid()}", f"user/{os.getuid()}")


def is_within(pid: int) -> bool:
    """Whether this process is one that the service started."""
    import psutil  # here: slow to load, and most verbs need it not

    try:
        return any(parent.pid == pid for parent in psutil.Process().parents())
    except psutil.Error:
        return False


def cannot(verb: str, path: Path, error: OSError) -> str:
    remedy = (
        "use sudo, or correct its permissions" if isinstance(error, PermissionError) else "see to it, and try again"
    )
    return f"cannot {verb} {path}: {error.strerror}; {remedy}"
