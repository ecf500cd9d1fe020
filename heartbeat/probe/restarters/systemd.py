"""Units that restart the subject: timers, loops, transient ones, a second unit that runs it; of both managers."""

from __future__ import annotations

import os

from heartbeat.ask import ask, session
from heartbeat.probe.restarters.search import Search, told, uid_of
from heartbeat.probe.restarters.subject import Restarter, bare, quote, unseen
from heartbeat.probe.restarters.units import PROPERTIES, Unit, read_units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PATTERNS = ("*.service", "*.timer", "*.path", "*.socket")


def look(search: Search) -> tuple[list[Restarter], list[tuple[str, str]]]:
    """The units found, and the managers that could not be asked."""
    found: list[Restarter] = []
    faults: list[tuple[str, str]] = []
    answers: list[tuple[str, Sequence[str], Mapping[str, Unit]]] = []
    for scope in ("system", "user"):
        command, environ = _manager(search, scope)
        argv = (*command, "--all", "show", *_PATTERNS, f"--property={','.join(PROPERTIES)}")
        answer = ask(argv, environ)
        if answer.status == 0:
            answers.append((scope, command, read_units(answer.text)))
        elif os.path.exists(_sign(search, scope, environ)):
            reason = answer.fault or answer.text.strip() or f"systemctl ended with {answer.status}"
            faults.append(unseen(f"systemd ({scope} manager)", reason))
    for scope, _, units in answers:
        find_keeper(search, scope, units)
    for scope, command, units in answers:
        found.extend(judge_units(search, scope, command, units))
    return found, faults


def find_keeper(search: Search, scope: str, units: Mapping[str, Unit]) -> None:
    """Where nothing names the subject's own unit: the one whose main process it is keeps it, and is no second one."""
    for unit in units.values():
        user = _user_of(search, scope, unit)
        if search.is_kept_by(unit.pid, unit.commands, user=user, assigned=unit.environment):
            search.adopt(f"{unit.name} ({scope} manager)", units=(unit.name,), scope=scope)


def judge_units(search: Search, scope: str, command: Sequence[str], units: Mapping[str, Unit]) -> list[Restarter]:
    """What these units, all that one manager has, show."""
    found = []
    for unit in units.values():
        if unit.name in search.subject.units and search.subject.scope in {"", scope}:
            continue
        restarter = _judge(search, scope, command, unit, units)
        if restarter is not None:
            found.append(restarter)
            search.seen_units.add(unit.name)
            search.seen_pids.add(unit.pid)
    return found


def _judge(
    search: Search, scope: str, command: Sequence[str], unit: Unit, units: Mapping[str, Unit]
) -> Restarter | None:
    triggers = [units[name] for name in unit.triggered_by if name in units and units[name].will_trigger]
    culprits = triggers or [unit]
    where = f"({scope} manager)"
    remedy = _remedy(search, scope, command, culprits)
    if bare(unit.name) in search.subject.known_restarters and (triggers or unit.is_alive or unit.will_trigger):
        return Restarter("named", unit.name, f"{unit.name} {where} is there only to restart it", remedy)
    user = _user_of(search, scope, unit)
    for argv in unit.commands:
        step = search.restarting(argv, user=user, folder=unit.folder, assigned=unit.environment)
        if step is not None and (triggers or (unit.is_alive and (step.looped or unit.comes_again))):
            names = ", ".join(trigger.name for trigger in triggers)
            how = f"{unit.name} {where} runs {told(step)}"
            return Restarter("unit", unit.name, f"{how}, started by {names}" if names else how, remedy)
    if not search.accuses:
        return None
    if unit.keeps_alive and (unit.is_alive or unit.is_enabled) and _runs_it(search, scope, unit):
        message = f"{unit.name} {where} runs the same daemon a second time, and starts it again whenever it ends"
        return Restarter("second_supervisor", unit.name, message, remedy)
    return None


def _runs_it(search: Search, scope: str, unit: Unit) -> bool:
    user = _user_of(search, scope, unit)
    return any(search.is_daemon(argv, user=user, assigned=unit.environment) for argv in unit.commands)


def _user_of(search: Search, scope: str, unit: Unit) -> str:
    return unit.user or (search.owner if scope == "user" else "root")


def _remedy(search: Search, scope: str, command: Sequence[str], culprits: Sequence[Unit]) -> str:
    """Stop what lives in memory only; what lies on disk must not come back at the next boot either."""
    parts = []
    for is_transient, verb in ((True, ("stop",)), (False, ("disable", "--now"))):
        names = [unit.name for unit in culprits if unit.is_transient == is_transient]
        if names:
            words = (*command, *verb, "--", *names) if names[0].startswith("-") else (*command, *verb, *names)
            parts.append(search.as_root(*words) if scope == "system" else quote(words))
    return " && ".join(parts)


def _manager(search: Search, scope: str) -> tuple[Sequence[str], Mapping[str, str]]:
    """How the manager is asked."""
    if scope == "system":
        return ("systemctl",), os.environ
    if search.owner != search.me:
        return ("systemctl", "--user", "-M", f"{search.owner}@"), os.environ
    return ("systemctl", "--user"), session(os.environ)


def _sign(search: Search, scope: str, environ: Mapping[str, str]) -> str:
    """What exists when there is such a manager."""
    if scope == "system":
        return "/run/systemd/system"
    if search.owner != search.me:
        return f"/run/user/{uid_of(search.owner)}/systemd/private"
    return f"{environ['XDG_RUNTIME_DIR']}/systemd/private"
