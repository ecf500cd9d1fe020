"""What `systemctl show` prints -> units. Pure."""

from __future__ import annotations

from heartbeat.probe.restarters.shell import parse
from heartbeat.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_COMMANDS = ("ExecStartPre", "ExecStart", "ExecStartPost", "ExecStop", "ExecStopPost")
PROPERTIES = (
    *("Id", "ActiveState", "SubState", "UnitFileState", "FragmentPath", "TriggeredBy", "MainPID", "NRestarts"),
    *("User", "WorkingDirectory", "Restart", "Environment"),
    *_COMMANDS,
)
_SHELL_QUOTES = "'\"\\"


class Unit(Record):
    """One unit, as its manager has it in memory.

    `commands` are argv lists whose words may be cut at their spaces: systemd does not show where a word ends.
    """

    __slots__ = ("_facts", "commands")

    def __init__(self, facts: Mapping[str, str], commands: tuple[tuple[str, ...], ...]) -> None:
        self._facts = dict(facts)
        self.commands = commands

    def _fact(self, name: str) -> str:
        return self._facts.get(name, "")

    @property
    def name(self) -> str:
        return self._fact("Id")

    @property
    def user(self) -> str:
        return self._fact("User")

    @property
    def folder(self) -> str:
        return self._fact("WorkingDirectory").lstrip("!-")

    @property
    def pid(self) -> int:
        digits = self._fact("MainPID")
        return int(digits) if digits.isdigit() else 0

    @property
    def triggered_by(self) -> tuple[str, ...]:
        return _listed(self._fact("TriggeredBy"))

    @property
    def environment(self) -> tuple[str, ...]:
        """`NAME=value` each."""
        return _listed(self._fact("Environment"))

    @property
    def is_alive(self) -> bool:
        """Whether something of it runs, or is about to."""
        return self._fact("ActiveState") not in {"inactive", "failed", ""} and self._fact("SubState") != "exited"

    @property
    def will_trigger(self) -> bool:
        """Whether it is a timer, path or socket that will start its service once more."""
        return self._fact("ActiveState") == "active" and self._fact("SubState") in {"waiting", "running", "listening"}

    @property
    def keeps_alive(self) -> bool:
        return self._fact("Restart") not in {"", "no"}

    @property
    def comes_again(self) -> bool:
        """Whether it has been started again by its own `Restart=`."""
        return self.keeps_alive and self._fact("NRestarts") not in {"", "0"}

    @property
    def is_enabled(self) -> bool:
        return self._fact("UnitFileState").startswith("enabled")

    @property
    def is_transient(self) -> bool:
        """Whether it is gone when it is stopped: nothing of it lies on disk."""
        return self._fact("UnitFileState") in {"transient", "generated"} or self._fact("FragmentPath").startswith(
            "/run/"
        )


def _listed(text: str) -> tuple[str, ...]:
    """The entries of a list; systemd quotes those that hold more than plain letters."""
    if not any(letter in text for letter in _SHELL_QUOTES):
        return tuple(text.split())
    return tuple(word for step in parse(f"env {text}") for word in step.words[1:])


def read_units(text: str) -> dict[str, Unit]:
    """The units by name, from what `systemctl show` says of many."""
    units = {}
    facts: dict[str, str] = {}
    commands: list[str] = []
    for name, value in [*_properties(text), ("", "")]:
        if name in _COMMANDS:
            commands.append(value)
        elif name:
            facts[name] = value
        else:
            if "Id" in facts:
                units[facts["Id"]] = Unit(facts, tuple(map(_argv, commands)))
            facts, commands = {}, []
    return units


def _properties(text: str) -> list[tuple[str, str]]:
    """(name, value) of each; two empty texts between two units. A command may hold line ends."""
    found: list[tuple[str, str]] = []
    is_open = False
    for line in text.split("\n"):
        if is_open:
            name, value = found[-1]
            found[-1] = (name, f"{value}\n{line}")
        else:
            name, _, value = line.partition("=")
            found.append((name, value))
        is_open = found[-1][0] in _COMMANDS and found[-1][1].startswith("{") and not found[-1][1].endswith(" }")
    return found


def _argv(command: str) -> tuple[str, ...]:
    """The words of `{ path=… ; argv[]=… ; ignore_errors=… }`."""
    start = command.find(" argv[]=")
    end = command.rfind(" ; ignore_errors=")
    text = command[start + len(" argv[]=") : end] if 0 <= start < end else ""
    # A doubled dollar is a single one for the program.
    return tuple(text.replace("$$", "$").split(" "))
