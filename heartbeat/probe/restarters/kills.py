"""The commands that end a process by its name, its pid or a file of its. Pure."""

from __future__ import annotations

import os

from heartbeat.probe.restarters.shell import fits, parse
from heartbeat.probe.restarters.target import is_harmless, names_unit, parted, value_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from heartbeat.probe.restarters.shell import Step
    from heartbeat.probe.restarters.target import Target

_PKILL_VALUES = ("--signal", "-u", "-U", "-g", "-P", "-t", "-G", "-s", "-F", "--pidfile")
_KILLALL_VALUES = ("-s", "--signal", "-u", "--user", "-o", "-y")
_KILL_VALUES = ("-s", "--signal", "-n")


def _pkill(target: Target, step: Step) -> bool:
    plain, options = parted(step.words[1:], _PKILL_VALUES)
    if is_harmless(options, "--signal"):
        return False
    if pid_file := value_of(options, "-F", "--pidfile"):
        return _holds_pid(target, pid_file)
    return _selects(target, plain, options)


def _selects(target: Target, plain: Sequence[str], options: Sequence[tuple[str, str]]) -> bool:
    """Whether `pkill` or `pgrep` with these means the subject."""
    letters = "".join(name[1:] for name, value in options if not name.startswith("--") and not value)
    texts = [target.line] if "f" in letters or ("--full", "") in options else target.names
    return bool(plain) and any(_matches(plain[-1], text, exact="x" in letters) for text in texts)


def _killall(target: Target, step: Step) -> bool:
    plain, options = parted(step.words[1:], _KILLALL_VALUES)
    return not is_harmless(options, "-s", "--signal") and any(word in target.names for word in plain)


def _kill(target: Target, step: Step) -> bool:
    plain, options = parted(step.words[1:], _KILL_VALUES)
    if is_harmless(options, *_KILL_VALUES) or ("-l", "") in options:
        return False
    return any(_stands_for_pid(target, word) for word in plain)


def _stands_for_pid(target: Target, word: str) -> bool:
    """`4711`, `-4711`, `$(cat FILE)`, `$(pgrep …)`, `$(systemctl show -p MainPID …)`."""
    if target.subject.pid and word.lstrip("-") == str(target.subject.pid):
        return True
    if not word.startswith(("$(", "`")):
        return False
    inner = parse(word.strip("`").removeprefix("$(").removesuffix(")"), {"HOME": os.path.expanduser("~")})
    return any(_tells_pid(target, step.words) for step in inner)


def _tells_pid(target: Target, words: Sequence[str]) -> bool:
    """Whether the command prints the pid of the subject."""
    name, rest = words[0].rpartition("/")[2], words[1:]
    if name == "pgrep":
        return _selects(target, *parted(rest, (*_PKILL_VALUES, "-d")))
    if name == "pidof":
        return any(word in target.names for word in rest)
    if name == "systemctl" and "show" in rest:
        return any(names_unit(word, target.subject.units) for word in rest)
    return _holds_pid(target, *rest)


def _xargs(target: Target, step: Step) -> bool:
    """`pgrep … | xargs kill`: the wrapped `kill` has no pid of its own."""
    words = step.words
    kills = [at for at, word in enumerate(words) if word.rpartition("/")[2] == "kill"]
    if not kills or not step.piped:
        return False
    _, options = parted(words[kills[0] + 1 :], _KILL_VALUES)
    return not is_harmless(options, *_KILL_VALUES) and _tells_pid(target, step.piped)


def _fuser(target: Target, step: Step) -> bool:
    plain, options = parted(step.words[1:], ())
    kills = any(name == "--kill" or (not name.startswith("--") and "k" in name) for name, _ in options)
    return kills and _holds_pid(target, *plain)


KILLS: dict[str, Callable[[Target, Step], bool]] = {
    "pkill": _pkill,
    "killall": _killall,
    "kill": _kill,
    "xargs": _xargs,
    "fuser": _fuser,
}


def _holds_pid(target: Target, *words: str) -> bool:
    """Whether one of the words is a file that holds the subject's pid."""
    return any(os.path.expanduser(word) in target.subject.pid_files for word in words)


def _matches(pattern: str, text: str, *, exact: bool) -> bool:
    """Whether an expression of `pkill`'s fits; none of `re`'s, which could keep us busy for ever."""
    for choice in pattern.split("|"):
        literal = choice.replace(".*", "*").replace("\\.", ".")
        literal = "".join(letter for letter in literal if letter not in "^$[]()\\+?")
        start = "" if exact or choice.startswith("^") else "*"
        end = "" if exact or choice.endswith("$") else "*"
        if literal.strip("*. ") and fits(f"{start}{literal}{end}", text):
            return True
    return False
