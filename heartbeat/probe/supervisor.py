"""What systemd or launchd says of one unit or job: asked within a second, changing nothing. Standard library only."""

from __future__ import annotations

import os

from heartbeat.ask import ask, launchctl, session
from heartbeat.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from heartbeat.ask import Answer

_SHOWN = (
    *("LoadState", "ActiveState", "SubState", "Result", "MainPID", "NRestarts", "ExecMainStatus"),
    *("ExecMainStartTimestampMonotonic", "StateChangeTimestampMonotonic"),
)
_NO_SUCH_JOB, _NO_SUCH_DOMAIN = 113, 125  # of launchctl(1); see `launchctl error 113`


class Supervised(Record):
    """A unit of systemd, or a job of launchd.

    `state` is `active`, `activating`, `deactivating`, `inactive` or `failed`; `sub` and `result` are the supervisor's
    own words beside it; `pid` is its main process, None while there is none; `restarts` and `exit_status` (of the last
    end) are None where it does not tell. `begun` is when its latest main process began, `changed` when `state` became
    what it is, both by the monotonic clock in seconds, None where it does not tell. With a `fault` nothing else is
    known: it could not be asked.
    """

    __slots__ = (
        "begun",
        "changed",
        "domain",
        "exit_status",
        "fault",
        "manager",
        "pid",
        "restarts",
        "result",
        "state",
        "sub",
        "unit",
    )

    def __init__(
        self,
        manager: str,
        unit: str,
        domain: str,
        *,
        state: str = "",
        sub: str = "",
        result: str = "",
        pid: int | None = None,
        restarts: int | None = None,
        exit_status: int | None = None,
        begun: float | None = None,
        changed: float | None = None,
        fault: str = "",
    ) -> None:
        self.manager = manager
        self.unit = unit
        self.domain = domain
        self.state = state
        self.sub = sub
        self.result = result
        self.pid = pid
        self.restarts = restarts
        self.exit_status = exit_status
        self.begun = begun
        self.changed = changed
        self.fault = fault


def ask_supervisor(manager: str, unit: str, domain: str) -> Supervised | None:
    """What *manager* (`systemd`, `launchd`) says of exactly this unit or label; None when it knows none.

    *domain* is `user` or `system`, for systemd also `user:UID` (another user's, for root); for launchd a domain such
    as `gui/501`.
    """
    return _ask_launchd(unit, domain) if manager == "launchd" else _ask_systemd(unit, domain)


def _ask_systemd(unit: str, domain: str) -> Supervised | None:
    shown = f"--property={','.join(_SHOWN)}"
    answer = ask(
        ["systemctl", *_whose(domain), "show", "--no-pager", shown, "--", unit], {**session(os.environ), "LC_ALL": "C"}
    )
    facts = dict(line.partition("=")[::2] for line in answer.text.splitlines())
    if answer.status != 0 or "LoadState" not in facts:
        return Supervised("systemd", unit, domain, fault=_fault(answer, "systemctl"))
    # What a generator or a drop-in alone leaves of a unit, or a unit that is only wanted by another, is none.
    if facts["LoadState"] == "not-found" and facts.get("ActiveState") in ("inactive", None):
        return None
    return Supervised(
        "systemd",
        unit,
        domain,
        state=facts.get("ActiveState", ""),
        sub=facts.get("SubState", ""),
        result=facts.get("Result", ""),
        pid=_number(facts.get("MainPID")) or None,
        restarts=_number(facts.get("NRestarts")),
        exit_status=_number(facts.get("ExecMainStatus")),
        begun=_seconds(facts.get("ExecMainStartTimestampMonotonic")),
        changed=_seconds(facts.get("StateChangeTimestampMonotonic")),
    )


def _whose(domain: str) -> list[str]:
    scope, _, uid = domain.partition(":")
    return ["--system"] if scope == "system" else ["--user", *([f"--machine={uid}@.host"] if uid else [])]


def _ask_launchd(label: str, domain: str) -> Supervised | None:
    answer = ask([launchctl(os.environ), "print", f"{domain}/{label}"])
    if answer.status in (_NO_SUCH_JOB, _NO_SUCH_DOMAIN):
        return None
    # Only what is indented once is of the job itself.
    lines = [line[1:] for line in answer.text.splitlines() if line.startswith("\t") and not line.startswith("\t\t")]
    facts = dict(line.partition(" = ")[::2] for line in lines)
    if answer.status != 0 or "state" not in facts:
        return Supervised("launchd", label, domain, fault=_fault(answer, "launchctl"))
    pid, runs, sub = _number(facts.get("pid")), _number(facts.get("runs")), facts["state"]
    return Supervised(
        "launchd",
        label,
        domain,
        state="active" if pid else "activating" if sub == "spawn scheduled" else "inactive",
        sub=sub,
        result=facts.get("last terminating signal", ""),
        pid=pid,
        restarts=None if runs is None else max(runs - 1, 0),
        exit_status=_number(facts.get("last exit code")),
    )


def _fault(answer: Answer, program: str) -> str:
    last = answer.text.strip().splitlines()[-1:]
    return answer.fault or f"{program} ended with {answer.status}: {' '.join(last)[:200] or 'it said nothing'}"


def _number(text: str | None) -> int | None:
    """The number that a text begins with; None when it is none, such as `(never exited)`."""
    digits = (text or "").split(":", 1)[0].strip()
    return int(digits) if digits.isascii() and digits.removeprefix("-").isdigit() and len(digits) < 20 else None  # noqa: PLR2004 - beyond lies nonsense


def _seconds(microseconds: str | None) -> float | None:
    """0 is what systemd writes for never."""
    number = _number(microseconds)
    return number / 1e6 if number else None
