"""The text of a unit from the templates in `systemd/`, by systemd's own rules of quoting; and its directives again.

A line of a template that is nothing but a placeholder may become several lines, or none.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping
from datetime import timedelta

from heartbeat.errors import Invalid
from heartbeat.paths import share
from heartbeat.service.plan import Plan

SLACK = timedelta(seconds=10)
"""Beside the drain of running scripts, for a stop."""

_BARE = re.compile(r"[A-Za-z0-9_./:@+=,-]+")
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_CREDENTIAL = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
# What systemd takes in User= (VALID_USER_RELAX), but no blanks: also `ann.b`, `ann@example.org`, `DOMAIN\\ann`.
_USER = re.compile(r"(?![-.]|[0-9]+$)[\w.@+\\-]+[$]?")


def service_text(plan: Plan, home: str = "") -> str:
    """The unit of the daemon; *home* is the home folder of the user it runs as, in the system's scope."""
    template = _read("heartbeat.service") + _read(f"{plan.scope}.conf")
    command = _command_of(plan)
    places = {
        "run": exec_line(plan.argv),
        "ended": exec_line((*command, "ended")),
        "stop_seconds": str(math.ceil((plan.drain + SLACK).total_seconds())),
        "home": quoted(f"-{home}") if home else "",
        "folders": _folders(plan),
    }
    return _filled(template, _shared(plan) | places)


def alarm_text(plan: Plan) -> str:
    """The unit that is started when the daemon's fails."""
    places = {"alarm": exec_line((*_command_of(plan), "alarm", "--unit")) + " %i"}
    shared = _shared(plan)
    return _filled(_read("heartbeat-alarm@.service"), shared | places | {"user": _user_line(shared["user"])})


def _command_of(plan: Plan) -> tuple[str, ...]:
    """The `heartbeat` command that the daemon's own is a verb of."""
    *command, verb = plan.argv
    if verb != "run" or not command:
        raise Invalid(f"cannot make a service of {plan.argv!r}: it is not the command `heartbeat run`")
    return tuple(command)


def _shared(plan: Plan) -> dict[str, str]:
    if plan.user and not _USER.fullmatch(plan.user):
        raise Invalid(f"cannot run a service as {plan.user!r}: systemd takes no such name; name a user as `id` does")
    environment = {"PATH": plan.path, **plan.environment}
    return {
        "name": plan.name,
        "version": plan.version,
        "user": plan.user,
        "environment": "\n".join(f"Environment={quoted(f'{name}={value}')}" for name, value in environment.items()),
        "credentials": "\n".join(_credential(name, path) for name, path in plan.credentials.items()),
    }


def _user_line(user: str) -> str:
    return f"User={user}" if user else ""


def _credential(name: str, path: str) -> str:
    if not _CREDENTIAL.fullmatch(name):
        raise Invalid(f"cannot name a credential {name!r}; write letters, digits, '-' and '_' in [service] credentials")
    # \n, which no secret ends with: systemd wants a value there.
    return f"LoadCredential={name}:{rest_of_line(path)}\nSetCredential={name}:\\n"


def _folders(plan: Plan) -> str:
    """State and cache: by systemd's own directives where those mean them, else as further writable folders."""
    lines = []
    for folder, above, directive in (
        (plan.home.state, "/var/lib", "StateDirectory"),
        (plan.home.cache, "/var/cache", "CacheDirectory"),
    ):
        managed = str(folder.parent) == above and _BARE.fullmatch(folder.name)
        lines.append(f"{directive}={folder.name}" if managed else f"ReadWritePaths={quoted(str(folder))}")
    return "\n".join(lines)


def exec_line(words: tuple[str, ...]) -> str:
    """A command as ExecStart= wants it. The program's own name knows no variables, so a $ in it stays as it is."""
    program, *arguments = words
    if not program.startswith("/"):
        raise Invalid(f"cannot make a service of the program {program!r}: it is no absolute path")
    return " ".join([quoted(program), *(quoted(each.replace("$", "$$")) for each in arguments)])


def quoted(text: str) -> str:
    """One word of a directive that holds words: a blank, a quote or a backslash in it means nothing."""
    escaped = _one_line(text).replace("%", "%%")
    if _BARE.fullmatch(escaped):
        return escaped
    return '"' + escaped.replace("\\", "\\\\").replace('"', '\\"') + '"'


def rest_of_line(text: str) -> str:
    """A value taken as it stands; systemd would cut off blanks, and join the next line behind a backslash."""
    if text != text.strip() or text.endswith("\\"):
        raise Invalid(f"cannot write {text!r} into a unit: it begins or ends with a blank, or ends with a backslash")
    return _one_line(text).replace("%", "%%")


def directives(text: str) -> dict[tuple[str, str], tuple[str, ...]]:
    """What a unit says: (section, name) -> its values in order. Of Environment each variable is a name of its own."""
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    section = ""
    for line in text.replace("\\\n", " ").splitlines():
        bare = line.strip()
        if not bare or bare[0] in "#;":
            continue
        if bare.startswith("[") and bare.endswith("]"):
            section = bare[1:-1]
            continue
        name, _, value = (part.strip() for part in bare.partition("="))
        if name == "Environment":
            variable = value.lstrip('"').partition("=")[0]
            name = f"{name} {variable}"
        found[section, name] = (*found.get((section, name), ()), value)
    return found


def _read(name: str) -> str:
    return (share("systemd") / name).read_text(encoding="utf-8")


def _filled(template: str, places: Mapping[str, str]) -> str:
    lines: list[str] = []
    given = template.splitlines()
    for line, following in zip(given, [*given[1:], ""], strict=True):
        filled = _PLACEHOLDER.sub(lambda place: places[place[1]], line)
        if filled or not line:
            lines.append(filled)
        elif not _PLACEHOLDER.fullmatch(following):
            # The reason for a directive that is not there.
            while lines and lines[-1].startswith("#"):
                lines.pop()
    return "\n".join([*lines, ""])


def _one_line(text: str) -> str:
    for character in text:
        # Blanks of other widths are no line ends to systemd, and it takes them as they are.
        if not character.isprintable() and unicodedata.category(character) != "Zs":
            raise Invalid(f"cannot write {text!r} into a unit: it holds {_named(character)}; use a name without it")
    return text


def _named(character: str) -> str:
    code, kind = f"U+{ord(character):04X}", unicodedata.category(character)
    if kind == "Cs":
        return "a byte that is not UTF-8"
    if kind == "Cc":
        return f"a line end or another control character ({code})"
    return unicodedata.name(character, f"the character {code}")
