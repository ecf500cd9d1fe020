"""Whether one command restarts or stops the subject, or runs it a second time. Pure."""

from __future__ import annotations

import os

from heartbeat.probe.restarters.kills import KILLS
from heartbeat.probe.restarters.subject import words_of
from heartbeat.probe.restarters.target import is_harmless, names_unit, parted, value_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from heartbeat.probe.restarters.shell import Step
    from heartbeat.probe.restarters.target import Target

_SYSTEMCTL = (
    *("restart", "try-restart", "condrestart", "reload-or-restart", "try-reload-or-restart", "reload-or-try-restart"),
    *("force-reload", "stop", "kill"),
)
_SYSTEMCTL_VALUES = (
    *("-t", "--type", "-p", "--property", "-P", "-s", "--signal", "-n", "--lines", "-o", "--output", "--kill-who"),
    *("--kill-whom", "--job-mode", "--root", "--state", "-M", "--machine", "-H", "--host"),
)
_SERVICE = frozenset({"restart", "try-restart", "condrestart", "force-reload", "stop", "--full-restart"})
_LAUNCHCTL = frozenset({"kickstart", "bootout", "kill", "stop", "unload", "remove"})
_HOME, _OF_ANOTHER = ("--home",), ("-p", "--profile")
_VARIABLES = ("HEARTBEAT_HOME", "HERMES_HOME", "OPENCLAW_STATE_DIR")
SYSTEM_HOME = "/etc/heartbeat"


def restarts(target: Target, step: Step) -> bool:
    """Whether the command ends or restarts the subject."""
    if not step.words:
        return False
    folder, _, name = step.words[0].rpartition("/")
    words = step.words[1:]
    deed = _DEEDS.get(name)
    if deed is not None and deed(target, step):
        return True
    if folder in {"/etc/init.d", "/etc/rc.d/init.d"} and _service(target, step.inner(("service", name, *words[:1]))):
        return True
    if "--replace" in words and _is_own_command(target, step, ("run", "start")):
        return True  # a start that ends the one that runs
    return _is_own_command(target, step, ("restart", "stop"))


def runs(target: Target, step: Step) -> bool:
    """Whether the command is the daemon itself, of the same home."""
    return bool(step.words) and _is_own_command(target, step, ("run",))


def _systemctl(target: Target, step: Step) -> bool:
    plain, options = parted(step.words[1:], _SYSTEMCTL_VALUES)
    machine = value_of(options, "-M", "--machine")
    if value_of(options, "-H", "--host") or (machine and "@" not in machine):
        return False  # another machine's
    if plain[:1] == ["kill"] and is_harmless(options, "-s", "--signal"):
        return False
    scope = "user" if ("--user", "") in options else "system"
    if target.subject.scope and scope != target.subject.scope:
        return False
    if scope == "user" and not target.is_owners(machine.partition("@")[0] or step.user):
        return False
    return "".join(plain[:1]) in _SYSTEMCTL and any(names_unit(name, target.subject.units) for name in plain[1:])


def _service(target: Target, step: Step) -> bool:
    """`service NAME restart`, `rc-service NAME restart`, `invoke-rc.d NAME restart`."""
    plain = [word for word in step.words[1:] if not word.startswith("-") or word in _SERVICE]
    is_ours = target.subject.scope != "user" and names_unit("".join(plain[:1]), target.subject.units)
    return is_ours and any(word in _SERVICE for word in plain[1:2])


def _launchctl(target: Target, step: Step) -> bool:
    verb, rest = "".join(step.words[1:2]), step.words[2:]
    names = [word for word in rest if not word.startswith("-")]
    if verb == "kickstart" and not any(word.startswith("-") and "k" in word for word in rest):
        return False  # only started
    if verb == "kill":
        names = [] if is_harmless([("", "".join(rest[:1]))], "") else names[-1:]
    labels = [word.rpartition("/")[2].removesuffix(".plist") for word in names]
    return verb in _LAUNCHCTL and any(label in target.subject.labels for label in labels)


_DEEDS: dict[str, Callable[[Target, Step], bool]] = {
    **KILLS,
    "systemctl": _systemctl,
    "service": _service,
    "rc-service": _service,
    "invoke-rc.d": _service,
    "launchctl": _launchctl,
}


def _is_own_command(target: Target, step: Step, verbs: Sequence[str]) -> bool:
    for command in target.subject.commands:
        first, *rest = words_of(command)
        if step.words[0].rpartition("/")[2] != first:
            continue
        plain, options = parted(step.words[1:], _HOME + _OF_ANOTHER)
        if plain[: len(rest)] == rest and "".join(plain[len(rest) : len(rest) + 1]) in verbs:
            return _is_same_home(target, step, options)
    return False


def _is_same_home(target: Target, step: Step, options: Sequence[tuple[str, str]]) -> bool:
    subject = target.subject
    if any(name in _OF_ANOTHER for name, _ in options):
        return False
    if not subject.home:
        return True
    assigned = dict(pair.partition("=")[::2] for pair in step.assigned)
    given = value_of(options, *_HOME) or (SYSTEM_HOME if ("--system", "") in options else "")
    given = given or next((assigned[name] for name in _VARIABLES if assigned.get(name)), "")
    if not given:
        return subject.is_default and target.is_owners(step.user)
    return os.path.normpath(os.path.expanduser(given)) == os.path.normpath(subject.home)
