"""What the tests of the calendar lookahead share: calendars as text, what they expand to, and runs of the script."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from heartbeat import gate
from heartbeat.durations import parse_duration
from heartbeat.model import Captured, Execution, Finding, Gate, Source, Verdict
from heartbeat.paths import share
from heartbeat.sources.expansion import Expanded, Span, expand
from heartbeat.sources.meetings import DAY, Calendar, Wanted, Window, meetings
from heartbeat.sources.rows import to_row

SCRIPT = share("jobs") / "calendar_lookahead.py"
NOW = datetime(2026, 6, 10, 7, 45, tzinfo=UTC)
GOOD = (
    "BEGIN:VEVENT\nUID:good@example.com\nDTSTART:20260610T080000Z\nDTEND:20260610T083000Z\nSUMMARY:Good one\nEND:VEVENT"
)
TOKEN = "0123456789abcdef"  # made for one run
AT_8 = "2026-06-10T08:00:00Z"
DTSTART = "DTSTART:20260610T080000Z"
BERLIN = "TZID=Europe/Berlin"
WEEKLY = (f"DTSTART;{BERLIN}:20260603T100000", "RRULE:FREQ=WEEKLY", "SUMMARY:Weekly")
MINE = "pat.owner@example.com"


def load_script() -> Any:
    spec = importlib.util.spec_from_file_location("calendar_lookahead", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


MAIN = load_script().main


def environment(
    options: dict[str, Any],
    now: datetime = NOW,
    zone: str = "Europe/Berlin",
    owner: str = "",
    cache: Path | None = None,
) -> dict[str, str]:
    return {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "HOME": "/nonexistent",
        "HEARTBEAT_NOW": now.isoformat(),
        "HEARTBEAT_ZONE": zone,
        "HEARTBEAT_TOKEN": TOKEN,
        "HEARTBEAT_OPTIONS": json.dumps(options),
        "HEARTBEAT_OWNER_EMAILS": owner,
        "HEARTBEAT_CACHE_DIR": str(cache or ""),
    }


def judged(stdout: bytes) -> Gate:
    ended = Execution(NOW, NOW, exit_code=0, stdout=Captured(head=stdout))
    judgement = gate.judge(ended, token=TOKEN, require_token=True, dialect="strict")
    assert judgement.gate is not None, judgement
    assert judgement.verdict is (Verdict.WAKE if judgement.gate.findings else Verdict.QUIET)
    return judgement.gate


def tell(
    options: dict[str, Any],
    now: datetime = NOW,
    zone: str = "Europe/Berlin",
    owner: str = "",
    cache: Path | None = None,
) -> Gate:
    """One run of the script in this process, for an interpreter takes as long to start as many runs."""
    before = dict(os.environ)
    stdout = io.StringIO()
    os.environ.update(environment(options, now, zone, owner, cache))
    try:
        with contextlib.redirect_stdout(stdout):
            MAIN()
    finally:
        os.environ.clear()
        os.environ.update(before)
    return judged(stdout.getvalue().encode())


def calendar(*events: str, head: str = "") -> str:
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", *([head] if head else []), *events, "END:VCALENDAR", ""]
    return "\n".join(lines).replace("\n", "\r\n")


def event(*lines: str, uid: str = "e@example.com") -> str:
    return "\n".join(["BEGIN:VEVENT", f"UID:{uid}", "DTSTAMP:20260101T000000Z", *lines, "END:VEVENT"])


def zone(name: str, offset: str) -> str:
    standard = f"BEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETFROM:{offset}\nTZOFFSETTO:{offset}\nEND:STANDARD"
    return f"BEGIN:VTIMEZONE\nTZID:{name}\n{standard}\nEND:VTIMEZONE"


@dataclass
class Looked:
    """What some calendars hold, seen without the script around them."""

    expanded: Expanded
    events: list[tuple[str, str]]
    """Title and start of what would be told."""


def look(
    *contents: str | bytes,
    now: datetime = NOW,
    lookahead: str = "30m",
    wanted: Wanted = Wanted(),  # noqa: B008  # frozen
    zone: str = "Europe/Berlin",
    owner: str = "",
    seconds: float = 20.0,
) -> Looked:
    """What one source of these contents would tell."""
    until = now + parse_duration(lookahead)
    span = Span(now - DAY, until + DAY, ZoneInfo(zone), tuple(owner.split(",")), wanted.description)
    expanded = expand([text if isinstance(text, bytes) else text.encode() for text in contents], span, seconds)
    rows = [to_row(occurrence) for occurrence in expanded.occurrences]
    (told,) = meetings([Calendar(rows, wanted, Window(now, until))])
    return Looked(expanded, sorted((one.title or "(no title)", utc(one.start)) for one in told))


@dataclass
class Told:
    """What one file led to."""

    gate: Gate

    @property
    def events(self) -> list[tuple[str, str]]:
        return sorted((finding.title, utc(finding.starts_at)) for finding in self.gate.findings)

    @property
    def source(self) -> Source:
        (source,) = self.gate.sources
        return source

    @property
    def only(self) -> Finding:
        (finding,) = self.gate.findings
        return finding


def utc(instant: datetime | None) -> str:
    assert instant is not None
    return f"{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


@dataclass
class Tell:
    """Runs the script over one file with the given content."""

    path: Path

    def __call__(
        self,
        content: str | bytes,
        now: datetime = NOW,
        *,
        lookahead: str = "30m",
        zone: str = "Europe/Berlin",
        owner: str = "",
        cache: Path | None = None,
        **options: Any,
    ) -> Told:
        self.path.write_bytes(content if isinstance(content, bytes) else content.encode())
        given = {"sources": [{"file": str(self.path)}], "lookahead": lookahead, **options}
        return Told(tell(given, now, zone, owner, cache))
