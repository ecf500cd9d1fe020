"""Who is restarted, and who restarts it: the two records of this folder. Standard library only."""

from __future__ import annotations

from heartbeat.pulse import plain
from heartbeat.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_SAFE = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
_LONGEST = 120
NAMED, UNNAMED, UNREAD = "named", "unnamed", "unread"
"""Whether `units` and `labels` are what its supervisor has it by; or nothing says so, and whoever has its process keeps
it; or what says so cannot be read, and nobody can be told from a second one."""


class Subject(Record):
    """What the restarters of are looked for: heartbeat itself, or any other daemon.

    `units` (`heartbeat.service`) and `labels` (`local.heartbeat`) are its own names with systemd and launchd, in the
    `scope` `user` or `system` (empty: either) of `user` (a name; empty: whoever asks). `restarters` are names of units
    and jobs that are known for restarting it; `NAME-restarter` of each own name is always among them. `commands` are
    the words with which its command line begins (`heartbeat`, `hermes gateway`), before `restart` or `run`; `home` is
    the folder of its configuration, of which `is_default` says that those commands mean it when they name no other
    (empty: there is only one). `pid` is its live process, `pid_files` hold it. `endings` are its latest ends by signal,
    oldest first: the sender (`PID:START@BOOT`) and how it ended in words. `kept` is of NAMED, UNNAMED, UNREAD.
    """

    __slots__ = (
        "commands",
        "endings",
        "home",
        "is_default",
        "kept",
        "labels",
        "pid",
        "pid_files",
        "restarters",
        "scope",
        "units",
        "user",
    )

    def __init__(
        self,
        *,
        units: Iterable[str] = (),
        labels: Iterable[str] = (),
        scope: str = "",
        user: str = "",
        restarters: Iterable[str] = (),
        commands: Iterable[str] = (),
        home: str = "",
        is_default: bool = True,
        pid: int | None = None,
        pid_files: Iterable[str] = (),
        endings: Iterable[tuple[str, str]] = (),
        kept: str = NAMED,
    ) -> None:
        self.units = tuple(name if "." in name else f"{name}.service" for name in units)
        self.labels = tuple(labels)
        self.scope = scope
        self.user = user
        self.restarters = tuple(restarters)
        self.commands = tuple(filter(words_of, commands))
        self.home = home
        self.is_default = is_default
        self.pid = pid
        self.pid_files = tuple(pid_files)
        self.endings = tuple(endings)
        self.kept = kept

    @property
    def known_restarters(self) -> frozenset[str]:
        """The names, without `.service` or `.timer`, that give a restarter away."""
        own = [f"{bare(name)}-restarter" for name in (*self.units, *self.labels)]
        return frozenset(map(bare, (*self.restarters, *own)))

    @property
    def needles(self) -> tuple[str, ...]:
        """A text that holds none of these cannot be about it."""
        names = [bare(name) for name in (*self.units, *self.labels)]
        commands = [words_of(command)[0] for command in self.commands]
        files = [path.rpartition("/")[2] for path in self.pid_files]
        return tuple(filter(None, (*names, *commands, *files, str(self.pid or ""))))


class Restarter(Record):
    """One thing that keeps restarting the subject.

    `kind` is `named`, `unit`, `launchd`, `submitted`, `cron`, `process`, `sender` or `second_supervisor`; `name` is the
    unit, label, file or pid; `message` says what it does in one line; `remedy` is the shell command that takes it away.
    """

    __slots__ = ("kind", "message", "name", "remedy")

    def __init__(self, kind: str, name: str, message: str, remedy: str) -> None:
        self.kind = kind
        self.name = name
        self.message = plain(message)
        self.remedy = remedy

    @property
    def problem(self) -> tuple[str, str]:
        """The same as the (code, message) of a Health."""
        code = self.kind if self.kind == "second_supervisor" else "restarter"
        return code, f"{self.message}; take it away with: {self.remedy}"


class Found(Record):
    """What was found, and what could not be looked at, as (code, message).

    `keeper` is the unit or job that was seen to keep the subject where nothing names one, empty otherwise.
    """

    __slots__ = ("faults", "keeper", "restarters")

    def __init__(
        self, restarters: Iterable[Restarter] = (), faults: Iterable[tuple[str, str]] = (), keeper: str = ""
    ) -> None:
        self.keeper = keeper
        self.restarters = tuple(restarters)
        self.faults = tuple(faults)


def unseen(what: str, reason: str) -> tuple[str, str]:
    """The fault that some kind of evidence could not be looked at."""
    return "restarters_unseen", plain(f"cannot look for restarters in {what}: {reason}")


def bare(name: str) -> str:
    """The name of a unit without its type; a label as it is."""
    for suffix in (".service", ".timer", ".path", ".socket"):
        if name.endswith(suffix):
            return name[: -len(suffix)]
    return name


def words_of(command: str) -> list[str]:
    """The words of one of a subject's commands: `python -m NAME …` is `NAME …`."""
    words = command.split()
    return words[words.index("-m") + 1 :] if "-m" in words else words


def quote(words: Iterable[str]) -> str:
    """The words as a command line that a shell reads as these very words."""
    return " ".join(word if word and not word.strip(_SAFE) else _quoted(word) for word in words)


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def short(words: Iterable[str]) -> str:
    """A command for a message."""
    text = plain(" ".join(words))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
