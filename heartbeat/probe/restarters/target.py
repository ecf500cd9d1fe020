"""Whose commands are judged, and the pieces of a command line. Pure."""

from __future__ import annotations

from heartbeat.probe.restarters.shell import fits
from heartbeat.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from heartbeat.probe.restarters.subject import Subject

# Signals that end nothing: a program that is asked to read its configuration again is not restarted.
HARMLESS = frozenset(
    {"0", "1", "HUP", "10", "USR1", "12", "USR2", "17", "CHLD", "18", "CONT", "23", "URG", "28", "WINCH"}
)


class Target(Record):
    """The subject, as it is met on this machine.

    `owner` is the name of its user and `user` who runs the command that is judged, unless that says otherwise; `line`
    is the command line of the live process (or what it would be) and `names` what the kernel may call it.
    """

    __slots__ = ("line", "names", "owner", "subject", "user")

    def __init__(self, subject: Subject, *, owner: str, user: str, line: str, names: Sequence[str]) -> None:
        self.subject = subject
        self.owner = owner
        self.user = user
        self.line = line
        self.names = tuple(names)

    def of(self, user: str) -> Target:
        """The same, for the commands of this user."""
        return Target(self.subject, owner=self.owner, user=user, line=self.line, names=self.names)

    def is_owners(self, user: str) -> bool:
        """Whether a command of this user (empty: of whoever is assumed) reaches what belongs to the owner alone."""
        whose = user or self.user
        return whose in {"", "?", self.owner}


def names_unit(word: str, units: Iterable[str]) -> bool:
    """Whether an argument of `systemctl` means one of the units."""
    name = word if word.endswith((".service", ".scope", ".socket", "*")) else f"{word}.service"
    return bool(word) and any(fits(name, unit) for unit in units)


def parted(words: Sequence[str], with_value: Iterable[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """The plain words, and the options with their values (`-s TERM`, `--signal=TERM`)."""
    plain: list[str] = []
    options: list[tuple[str, str]] = []
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            return [*plain, *words[at + 1 :]], options
        if not word.startswith("-") or word == "-":
            plain.append(word)
        elif word in with_value:
            at += 1
            options.append((word, "".join(words[at : at + 1])))
        else:
            name, _, value = word.partition("=") if word.startswith("--") else (word, "", "")
            options.append((name, value))
        at += 1
    return plain, options


def value_of(options: Iterable[tuple[str, str]], *names: str) -> str:
    """The value of the first option that has one of the names."""
    return next((value for name, value in options if name in names), "")


def is_harmless(options: Iterable[tuple[str, str]], *names: str) -> bool:
    """Whether the options choose a signal that ends nothing: `-HUP`, or the value of an option of these names."""
    signals = [value if name in names else name for name, value in options]
    return any(signal.lstrip("-").upper().removeprefix("SIG") in HARMLESS for signal in signals)
