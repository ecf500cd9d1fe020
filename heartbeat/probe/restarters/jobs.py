"""What `launchctl list` and `launchctl print` say -> labels and jobs. Pure.

`print` is no interface: its lines are looked for one by one, and what is missing is empty.
"""

from __future__ import annotations

from heartbeat.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_OFTEN = 2
_CALENDAR = "com.apple.launchd.calendarinterval"


class Job(Record):
    """One job as launchd has it in memory; `is_timed` says that it runs every so often, or at certain hours."""

    __slots__ = ("_facts", "argv", "environment", "is_timed")

    def __init__(
        self, facts: Mapping[str, str], argv: Sequence[str], environment: Sequence[str], is_timed: bool
    ) -> None:
        self.is_timed = is_timed
        self._facts = dict(facts)
        self.argv = tuple(argv)
        self.environment = tuple(environment)

    def _fact(self, name: str) -> str:
        return self._facts.get(name, "")

    @property
    def path(self) -> str:
        """Of its property list."""
        return self._fact("path")

    @property
    def user(self) -> str:
        return self._fact("username")

    @property
    def folder(self) -> str:
        return self._fact("working directory")

    @property
    def pid(self) -> int:
        digits = self._fact("pid")
        return int(digits) if digits.isdigit() else 0

    @property
    def is_submitted(self) -> bool:
        """Whether it was made by `launchctl submit`, which means KeepAlive."""
        return self.path.startswith("(submitted by") or self._fact("type") == "Submitted"

    @property
    def keeps_alive(self) -> bool:
        return self.is_submitted or "keepalive" in self._fact("properties").replace("|", " ").split()

    @property
    def comes_again(self) -> bool:
        """Whether it will run, or has run, more than once."""
        runs = self._fact("runs")
        return self.keeps_alive or self.is_timed or (runs.isdigit() and int(runs) >= _OFTEN)


def read_labels(text: str) -> list[str]:
    """The labels in the table of `launchctl list`, or among the services of `launchctl print DOMAIN`."""
    labels = []
    is_inside = not text.rstrip().endswith("}")  # the table is all there is
    is_domain = not is_inside
    for line in text.split("\n"):
        fields = line.split()
        if is_domain and line.strip() == "services = {":
            is_inside = True
        elif is_domain and line.strip() == "}":
            is_inside = False
        elif is_inside and len(fields) == 3 and fields[2] != "Label":  # noqa: PLR2004 pid, status, label
            labels.append(fields[2])
    return labels


def read_job(text: str) -> Job:
    """The job in what `launchctl print DOMAIN/LABEL` says."""
    facts: dict[str, str] = {}
    blocks: dict[str, list[str]] = {}
    block = ""
    for line in text.split("\n")[1:]:
        stripped = line.strip()
        if block:
            if line == "\t}":
                block = ""
            else:
                blocks[block].append(stripped)
        elif not line.startswith("\t") or line.startswith("\t\t"):
            continue  # only what is indented once is of the job itself
        elif stripped.endswith(("= {", "=> {")):
            block = stripped.rpartition("=")[0].strip()
            blocks.setdefault(block, [])
        elif " = " in stripped:
            name, _, value = stripped.partition(" = ")
            facts.setdefault(name, value)
    argv = blocks.get("arguments") or ([facts["program"]] if "program" in facts else [])
    pairs = [line.split(" => ", 1) for line in blocks.get("environment", []) if " => " in line]
    is_timed = "run interval" in facts or any(_CALENDAR in line for line in blocks.get("event triggers", []))
    return Job(facts, argv, [f"{name}={value}" for name, value in pairs], is_timed)
