"""A command -> the commands it runs in its turn: through `sudo`, `sh -c`, `watch`, `run-parts`, and into scripts."""

from __future__ import annotations

import os

from heartbeat.probe.restarters.calls import spelled
from heartbeat.probe.restarters.shell import Step, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from heartbeat.probe.restarters.scripts import Scripts

_DEEPEST = 5
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish"})
_INTERPRETERS = ("python", "perl", "ruby", "node", "bun", "deno", "php", "lua", "osascript", "tclsh")
# What each wrapper takes: the short options with a value, how many words come before the command.
_WRAPPERS = {
    "sudo": ("ughpCTrtUDR", 0),
    "doas": ("uC", 0),
    "env": ("uC", 0),
    "nohup": ("", 0),
    "setsid": ("", 0),
    "exec": ("a", 0),
    "command": ("", 0),
    "builtin": ("", 0),
    "nice": ("n", 0),
    "ionice": ("cnp", 0),
    "timeout": ("sk", 1),
    "gtimeout": ("sk", 1),
    "chrt": ("TPD", 1),
    "taskset": ("", 1),
    "flock": ("wE", 1),
    "lockf": ("t", 1),
    "chronic": ("", 0),
    "cronic": ("", 0),
    "stdbuf": ("ioe", 0),
    "systemd-cat": ("tp", 0),
    "systemd-inhibit": ("", 0),
    "systemd-run": ("puMEH", 0),
    "runuser": ("ugGw", 0),
    "su": ("gGws", 0),
    "setpriv": ("", 0),
    "dbus-run-session": ("", 0),
    "caffeinate": ("tw", 0),
    "busybox": ("", 0),
    "xargs": ("nIPLdEas", 0),
    "watch": ("n", 0),
}
_LONG_WITH_VALUE = frozenset(
    (
        *("--user", "--group", "--signal", "--kill-after", "--unit", "--property", "--description", "--on-active"),
        *("--on-boot", "--on-calendar", "--on-startup", "--on-unit-active", "--on-unit-inactive", "--timer-property"),
        *("--setenv", "--slice", "--machine", "--host", "--uid", "--gid", "--nice", "--working-directory", "--unset"),
        *("--chdir", "--adjustment", "--interval", "--reuid", "--regid", "--max-args", "--identifier", "--priority"),
        *("--timeout", "--who", "--why", "--what", "--mode", "--service-type", "--shell"),
    )
)
_FLAGS = frozenset({"systemd-run --user", "sudo --shell"})  # which take no value after all
_WITH_VALUE, _CODE = "WX", frozenset({"-r", "-E", "--eval"})


def unwrap(steps: Iterable[Step], scripts: Scripts, folder: str = "", depth: int = 0) -> Iterator[Step]:
    """The steps, and every step that one of them runs; relative names of scripts are in the *folder*."""
    for step in steps:
        yield step
        if depth < _DEEPEST and step.words:
            yield from unwrap(_inside(step, scripts, folder), scripts, folder, depth + 1)


def _inside(step: Step, scripts: Scripts, folder: str) -> list[Step]:
    name = step.words[0].rpartition("/")[2].lstrip("-")
    if name in _WRAPPERS:
        found = _wrapped(name, step)
    elif name in _SHELLS:
        found = _of_shell(step, scripts, folder)
    elif name == "eval":
        found = _of_text(step, " ".join(step.words[1:]))
    elif name == "run-parts":
        found = [step.inner([path]) for path in scripts.parts(step.words[-1])]
    elif name.startswith(_INTERPRETERS):
        found = _of_interpreter(step, scripts, folder)
    elif name in {".", "source"}:
        found = _of_script(step, step.words[1:], scripts, folder, by="shell")
    else:
        found = _of_script(step, step.words, scripts, folder)
    return found


def _wrapped(name: str, step: Step) -> list[Step]:
    words, user, text = _after_options(name, step.words[1:])
    if text is not None:
        return _of_text(step, text, user=user)
    if name == "watch":
        return _of_text(step, " ".join(words), looped=True)
    count = 0
    while count < len(words) and "=" in words[count].partition("/")[0] and name in {"env", "sudo", "doas"}:
        count += 1
    if not words[count:]:
        return []
    return [
        Step(
            words[count:],
            assigned=(*step.assigned, *words[:count]),
            looped=step.looped,
            piped=step.piped,
            user=user or step.user,
            script=step.script,
        )
    ]


def _after_options(name: str, words: Sequence[str]) -> tuple[Sequence[str], str, str | None]:
    """The words of the command, who it is run as, and the text after `-c` for those that take such."""
    takes, before = _WRAPPERS[name]
    user = {"sudo": "root", "doas": "root", "su": "root", "setpriv": "?"}.get(name, "")
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            at += 1
            break
        if word in {"-c", "--command"} and name in {"su", "runuser", "flock"}:
            return (), user, " ".join(words[at + 1 :])
        if not word.startswith("-") or word == "-":
            if name == "su" or (name == "runuser" and not user):  # the user comes first, `-c` after
                user, at = (word if word != "-" else user), at + 1
                continue
            if not before:
                break
            before, at = before - 1, at + 1
            continue
        has_value = _has_value(name, word, takes)
        if name in {"sudo", "runuser", "doas"} and word.startswith(("-u", "--user")):
            user = words[at + 1] if has_value and at + 1 < len(words) else word.partition("=")[2] or word[2:]
        at += 2 if has_value else 1
    return words[at + before :], user, None


def _has_value(name: str, word: str, takes: str) -> bool:
    """Whether the value of this option is the next word."""
    if word.startswith("--"):
        return word in _LONG_WITH_VALUE and f"{name} {word}" not in _FLAGS
    return word[-1] in takes and not any(letter in takes for letter in word[1:-1])


def _of_shell(step: Step, scripts: Scripts, folder: str) -> list[Step]:
    words = step.words[1:]
    for at, word in enumerate(words):
        if word[:1] in {"-", "+"} and word != "-":
            if "c" in word[1:] and not word.startswith("--"):
                # systemd shows argv without the bounds of its words: all the rest may be the text.
                return _of_text(step, " ".join(words[at + 1 :]))
            continue
        if word in {"pipefail", "errexit", "nounset"}:
            continue  # the value of -o
        return _of_script(step, words[at:], scripts, folder, by="shell")
    return []


def _of_interpreter(step: Step, scripts: Scripts, folder: str) -> list[Step]:
    words = step.words[1:]
    at = 0
    while at < len(words) and words[at].startswith("-"):
        last = "" if words[at].startswith("--") else words[at][1:][-1:]
        if last == "m":
            return [step.inner(words[at + 1 :])] if words[at + 1 :] else []
        if words[at] in _CODE or last in {"c", "e"}:
            return [step.inner(inner.words, looped=inner.looped) for inner in spelled(" ".join(words[at + 1 :]))]
        at += 2 if last and last in _WITH_VALUE else 1
    if not words[at:]:
        return []
    # The script is a command as well: `python /usr/bin/heartbeat restart`.
    return [step.inner(words[at:]), *_of_script(step, words[at:], scripts, folder, by="program")]


def _of_text(step: Step, text: str, *, user: str = "", looped: bool = False) -> list[Step]:
    known = {"HOME": os.path.expanduser("~"), **dict(pair.partition("=")[::2] for pair in step.assigned)}
    inner = parse(text, known)
    return [_joined(step, each, user=user, looped=looped) for each in inner]


def _of_script(step: Step, words: Sequence[str], scripts: Scripts, folder: str, *, by: str = "") -> list[Step]:
    if not words:
        return []
    found = scripts.read(words[0], folder, by=by)
    if found is None:
        return []
    known = {"HOME": os.path.expanduser("~"), "0": found.path}
    known.update((str(number), word) for number, word in enumerate(words[1:10], 1))
    inner = parse(found.text, known) if found.is_shell else spelled(found.text)
    return [_joined(step, each, script=found.path) for each in inner]


def _joined(step: Step, inner: Step, *, user: str = "", looped: bool = False, script: str = "") -> Step:
    """A step that was found inside another."""
    return Step(
        inner.words,
        assigned=(*step.assigned, *inner.assigned),
        looped=step.looped or inner.looped or looped,
        piped=inner.piped,
        user=user or step.user,
        script=script or step.script,
    )
