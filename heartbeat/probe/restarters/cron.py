"""Lines of crontabs that restart the subject: the owner's own, root's where we may look, and the system's."""

from __future__ import annotations

import os

from heartbeat.ask import ask
from heartbeat.probe.restarters.search import Search, told
from heartbeat.probe.restarters.subject import Restarter, quote, unseen
from heartbeat.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from heartbeat.probe.restarters.shell import Step

TABLES, FOLDER = ("/etc/crontab", "/etc/anacrontab"), "/etc/cron.d"
_DEBIAN = "/etc/debian_version"
_LIMIT = 1_048_576
_COPIES = (".dpkg-", ".rpm", ".bak", ".orig", ".swp", "~")


class Table(Record):
    """One crontab: what it is called, whose it is (empty: each line says), how `crontab` is given it back."""

    __slots__ = ("command", "place", "user")

    def __init__(self, place: str, user: str = "", command: tuple[str, ...] = ()) -> None:
        self.place = place
        self.user = user
        self.command = command

    @property
    def is_anacron(self) -> bool:
        """Whether its lines are `PERIOD DELAY NAME COMMAND`, all of root's."""
        return self.place.endswith("/anacrontab")


def look(search: Search) -> tuple[list[Restarter], list[tuple[str, str]]]:
    """The lines found, and the tables that could not be read."""
    found: list[Restarter] = []
    faults: list[tuple[str, str]] = []
    for user in dict.fromkeys((search.me, search.owner) if search.is_root else (search.me,)):
        command = ("crontab",) if user == search.me else ("crontab", "-u", user)
        answer = ask((*command, "-l"))
        if answer.status == 0:
            found.extend(judge_table(search, Table(f"the crontab of {user}", user, command), answer.text))
        elif answer.status is None and "no such program" not in answer.fault:
            faults.append(unseen(f"the crontab of {user}", answer.fault))
    for path in _tables():
        try:
            with open(path, "rb") as file:
                text = file.read(_LIMIT).decode(errors="replace")
        except FileNotFoundError:
            continue
        except OSError as error:
            faults.append(unseen(path, error.strerror or str(error)))
            continue
        found.extend(judge_table(search, Table(path), text))
    return found, faults


def judge_table(search: Search, table: Table, text: str) -> list[Restarter]:
    """What the lines of one table show."""
    found = []
    for number, when, user, command in _lines(table, text):
        folder = os.path.expanduser("~") if user == search.me else ""
        step = search.restarting_text(command, user=user, folder=folder)
        if step is None or (when == "@reboot" and not step.looped):
            continue
        message = f"{table.place} line {number} ({when}) runs {told(step)}"
        remedy = _remedy(search, table, number, _part(command, step))
        found.append(Restarter("cron", f"{table.place}:{number}", message, remedy))
    return found


def _lines(table: Table, text: str) -> Iterator[tuple[int, str, str, str]]:
    """(number, when, user, command) of every line that runs something."""
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#") or _is_setting(stripped):
            continue
        times = 1 if stripped.startswith("@") else 5
        if table.is_anacron:
            times = 3
        names_user = not (table.user or table.is_anacron)
        fields = stripped.split(None, times + names_user)
        if len(fields) == times + names_user + 1:
            user = fields[times] if names_user else table.user or "root"
            yield number, " ".join(fields[:times]), user, _before_percent(fields[-1])


def _is_setting(line: str) -> bool:
    name = line.partition("=")[0].strip().strip("'\"")
    return "=" in line and name.replace("_", "").isalnum() and not name[0].isdigit()


def _before_percent(command: str) -> str:
    """What the shell gets: the rest after a bare `%` is the command's input."""
    parts = command.replace("\\%", "\0").split("%", 1)
    return parts[0].replace("\0", "%")


def _part(command: str, step: Step) -> str:
    """The script, when it is one of those that `run-parts` starts from a folder."""
    folder = os.path.dirname(step.script)
    return step.script if folder and "run-parts" in command and folder in command.split() else ""


def _remedy(search: Search, table: Table, number: int, part: str) -> str:
    """Made a comment rather than deleted: it can be taken back."""
    if part:
        return search.as_root("chmod", "a-x", part)  # which `run-parts` passes over
    edit = f"{number}s/^/#/"
    if not table.command:
        return search.as_root("sed", "-i", edit, table.place)
    return f"{quote((*table.command, '-l'))} | {quote(('sed', edit))} | {quote((*table.command, '-'))}"


def _tables() -> list[str]:
    try:
        names = sorted(os.listdir(FOLDER))
    except OSError:
        names = []
    is_debian = os.path.exists(_DEBIAN)  # whose cron passes over every name with a dot
    read = [name for name in names if not name.startswith(".") and not (is_debian and "." in name)]
    return [*TABLES, *(f"{FOLDER}/{name}" for name in read if not any(copy in name for copy in _COPIES))]
