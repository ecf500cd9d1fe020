"""iCalendar bytes as the lines of whole components: lenient, so that what is broken costs only itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_CONTENT = re.compile(r'([A-Za-z0-9-]+)((?:;[A-Za-z0-9-]+=(?:"[^"]*"|[^";:])*)*):(.*)', re.DOTALL)
_TIME_CONTENT = re.compile(r'([A-Za-z0-9-]+)((?:;[A-Za-z0-9-]+=(?:"[^"]*"|[^";])*)*)', re.DOTALL)
_PARAM = re.compile(r';([A-Za-z0-9-]+)=((?:"[^"]*"|[^";])*)')
_CALENDAR = re.compile(rb"(?i)(?:^(?:\xef\xbb\xbf)?|[\r\n])BEGIN:VCALENDAR[ \t]*[\r\n]")
LONGEST_LINE = 200_000
"""The rest of a line is dropped: to match some megabytes of parameters takes more memory than there is."""
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Line:
    """One content line: `NAME;PARAM=…:VALUE`, names in upper case."""

    name: str
    params: dict[str, str]
    value: str


@dataclass(slots=True)
class CalendarObject:
    """One VCALENDAR: the raw lines of what a lookahead needs of it."""

    method: str = ""
    zone_name: str = ""
    """X-WR-TIMEZONE: the zone of floating times, as Google writes it."""
    zones: list[list[str]] = field(default_factory=list)
    events: list[list[str]] = field(default_factory=list)
    """Without the lines of nested components, such as alarms."""
    ended: bool = False
    damaged: bool = False
    """A component in it has lost its END."""

    @property
    def whole(self) -> bool:
        return self.ended and not self.damaged


def holds_calendar(content: bytes) -> bool:
    """Whether there is any calendar in it, and not a login page or nothing at all."""
    return _CALENDAR.search(content) is not None


def split(content: bytes) -> list[CalendarObject]:
    """Every calendar object of a file or an answer, in order; empty when it holds none.

    What stands outside of VCALENDAR is ignored; a component without its END is left out.
    """
    calendars: list[CalendarObject] = []
    calendar: CalendarObject | None = None
    block: _Block | None = None
    for line in _lines(content):
        verb, component = _frame(line)
        if verb == "BEGIN" and component == "VCALENDAR":
            calendar, block = CalendarObject(), None
            calendars.append(calendar)
        elif calendar is None:
            continue
        elif verb == "END" and component == "VCALENDAR":
            calendar.ended, calendar.damaged = True, calendar.damaged or block is not None
            calendar = block = None
        elif block is None:
            block = _Block(component) if verb == "BEGIN" else None
            _note_property(calendar, line)
        elif component == block.name and verb == "END":
            _close(calendar, block)
            block = None
        elif component == block.name:
            calendar.damaged, block = True, _Block(component)
        else:
            block.take(line, verb)
    return calendars


class _Block:
    """A component that is being read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: list[str] = []
        self.depth = 0

    def take(self, line: str, verb: str) -> None:
        """Keep a line: of an event only its own, of a zone also those of its parts."""
        self.depth += verb == "BEGIN"
        if self.depth == 0 or self.name == "VTIMEZONE":
            self.lines.append(line)
        self.depth -= verb == "END" and self.depth > 0


def _close(calendar: CalendarObject, block: _Block) -> None:
    if block.name == "VEVENT":
        calendar.events.append(block.lines)
    elif block.name == "VTIMEZONE":
        calendar.zones.append(block.lines)


def _note_property(calendar: CalendarObject, line: str) -> None:
    if line[:6].upper() == "METHOD":
        calendar.method = line.rpartition(":")[2].strip().upper()
    elif line[:13].upper() == "X-WR-TIMEZONE":
        calendar.zone_name = line.partition(":")[2].strip()


def _frame(line: str) -> tuple[str, str]:
    """`BEGIN` or `END` and the component it names; two empty words for any other line."""
    verb, colon, component = line[:40].partition(":")
    if colon and len(verb) <= len("BEGIN") and verb.upper() in ("BEGIN", "END"):
        return verb.upper(), component.strip().upper()
    return "", ""


def _lines(content: bytes) -> Iterator[str]:
    """The unfolded lines; bytes are joined before they are decoded, for a fold may cut a character."""
    content = content.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n")
    if b"\n" not in content:
        # A lone CR ends a line only where nothing else does, or a title could begin a line of its own.
        content = content.replace(b"\r", b"\n")
    unfolded = re.sub(rb"\n[ \t]", b"", content)
    if unfolded.isascii():
        yield from unfolded.decode().split("\n")
    else:
        # Line by line: one emoji would make the text of a whole feed four times as large.
        yield from map(_decoded, unfolded.split(b"\n"))


def _decoded(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("cp1252", "replace")


def parse(line: str) -> Line | None:
    """A content line whose value is text; None when it is not one."""
    match = _CONTENT.fullmatch(line[:LONGEST_LINE])
    return Line(match[1].upper(), _params(match[2]), match[3]) if match else None


def parse_time(line: str) -> Line | None:
    """A content line whose value is a time: it follows the *last* colon, for Exchange writes zone names with one."""
    head, colon, value = line.rpartition(":")
    match = _TIME_CONTENT.fullmatch(head) if colon and len(head) <= LONGEST_LINE else None
    return Line(match[1].upper(), _params(match[2]), value.strip()) if match else None


def _params(text: str) -> dict[str, str]:
    return {name.upper(): value.replace('"', "") for name, value in _PARAM.findall(text)}


def unescape(value: str) -> str:
    r"""A TEXT value without its escapes (`\n`, `\,`, `\;`, `\\`)."""
    return _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)
