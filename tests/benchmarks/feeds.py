"""What the calendar lookahead costs on large calendars, and on those that have not changed."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil

from heartbeat.paths import share
from tests.benchmarks.tools import say

_NOW = datetime(2026, 6, 10, 7, 45, tzinfo=UTC)
_EVENTS, _SERIES, _BYTES = 20_000, 2_000, 20_000_000
_RULES = (
    "FREQ=WEEKLY;BYDAY=MO,WE", "FREQ=DAILY;COUNT=300", "FREQ=MONTHLY;BYDAY=2TU",
    "FREQ=WEEKLY;INTERVAL=2;UNTIL=20280101T000000Z",
)  # fmt: skip
_PLAIN = """
import sys
from datetime import datetime, timedelta
from icalendar import Calendar
from recurring_ical_events import of
now = datetime.fromisoformat(sys.argv[2])
with open(sys.argv[1], "rb") as file:
    query = of(Calendar.from_ical(file.read()))
print(len(query.between(now, now + timedelta(minutes=90))))
"""


def feeds(folder: Path) -> None:
    """The script itself, worker included, against a program that gives the same file to icalendar and
    recurring-ical-events and asks for the same 90 minutes.

    20 MB with 20,000 events over ten years, 2,000 of them series. Cold is the first run, with nothing kept; warm is the
    next one. Memory is that of all processes together at its highest. Then the CPU seconds of one run over sources that
    have not changed, start of the interpreter included, against an interpreter that does nothing.
    """
    file = folder / "large.ics"
    file.write_bytes(_feed())
    plain = _run([sys.executable, "-P", "-c", _PLAIN, str(file), _NOW.isoformat()], {})
    cold, warm = (_lookahead(folder, {"file": str(file)}) for _ in range(2))
    assert cold.said == warm.said
    than = "icalendar + RIE"
    say("20 MB feed, cold", f"{cold.wall:.2f} s", than, f"{plain.wall:.2f} s", cold.wall / plain.wall, "10 s")
    say("20 MB feed, cold, CPU", f"{cold.cpu:.2f} s", than, f"{plain.cpu:.2f} s", cold.cpu / plain.cpu, "-")
    say("20 MB feed, cold, RSS", f"{cold.rss:.0f} MB", than, f"{plain.rss:.0f} MB", cold.rss / plain.rss, "250 MB")
    say("20 MB feed, warm", f"{warm.wall:.2f} s", than, f"{plain.wall:.2f} s", warm.wall / plain.wall, "1 s")
    bare = min(_run([sys.executable, "-P", "-c", "pass"], {}).cpu for _ in range(5))
    for what, source in _unchanged(folder, file):
        _lookahead(folder, source)
        spent = min(_lookahead(folder, source).cpu for _ in range(5))
        say(
            f"unchanged, {what}, CPU",
            f"{spent * 1e3:.0f} ms",
            "python3 -c pass",
            f"{bare * 1e3:.0f} ms",
            spent / bare,
            "150 ms",
        )


def _unchanged(folder: Path, file: Path) -> list[tuple[str, dict[str, str]]]:
    vdir = folder / "vdir"
    vdir.mkdir()
    for number in range(1000):
        (vdir / f"{number}.ics").write_text(
            f"BEGIN:VCALENDAR\r\n{_event(random.Random(number), number, 200)}\r\nEND:VCALENDAR\r\n"
        )
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Feed)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/feed.ics"
    return [
        ("20 MB file", {"file": str(file)}),
        ("folder of 1,000", {"vdir": str(vdir)}),
        ("address, 304", {"url": address}),
    ]


class _Feed(BaseHTTPRequestHandler):
    """Hands out the feed once, and says 304 to whoever has it."""

    def do_GET(self) -> None:
        known = self.headers.get("If-None-Match")
        body = b"" if known else _feed(200, 20, 200_000)
        self.send_response(304 if known else 200)
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@dataclass(frozen=True)
class _Cost:
    said: bytes
    wall: float
    cpu: float
    rss: float


def _lookahead(folder: Path, source: dict[str, str]) -> _Cost:
    environment = {
        "HEARTBEAT_NOW": _NOW.isoformat(),
        "HEARTBEAT_ZONE": "Europe/Berlin",
        "HEARTBEAT_CACHE_DIR": str(folder / "cache"),
        "HEARTBEAT_OPTIONS": json.dumps({"sources": [source]}),
    }
    return _run([sys.executable, "-P", str(share("jobs") / "calendar_lookahead.py")], environment)


def _run(command: list[str], environment: dict[str, str]) -> _Cost:
    """What a program and all that it started cost until its end."""
    started = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, **environment}) as program:
        watch = _Watch(program.pid)
        watch.start()
        assert program.stdout is not None
        said = program.stdout.read()
        _, status, usage = os.wait4(program.pid, 0)
        program.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - started
        watch.join()
    assert program.returncode == 0
    return _Cost(said, wall, usage.ru_utime + usage.ru_stime, watch.most)


class _Watch(threading.Thread):
    """The most memory that a process and its children held together, in MB."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self.most = 0.0

    def run(self) -> None:
        try:
            process = psutil.Process(self._pid)
            while True:
                family = [process, *process.children(recursive=True)]
                self.most = max(self.most, sum(_resident(one) for one in family))
                time.sleep(0.02)
        except psutil.Error:
            return


def _resident(process: psutil.Process) -> float:
    try:
        return process.memory_info().rss / 1e6
    except psutil.NoSuchProcess:
        return 0.0


def _feed(events: int = _EVENTS, series: int = _SERIES, size: int = _BYTES) -> bytes:
    chance = random.Random(7)
    rest = size // events - 420
    made = [_event(chance, number, rest, _RULES[number % 4] if number < series else "") for number in range(events)]
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", *made, "END:VCALENDAR", ""]).encode()


def _event(chance: random.Random, number: int, description: int, rule: str = "") -> str:
    day = date(2021, 6, 10) + timedelta(days=chance.randrange(3650))
    start = f"{day:%Y%m%d}T{chance.randrange(7, 20):02}"
    text = "DESCRIPTION:" + "word " * (description // 5)
    folded = "\r\n ".join(text[at : at + 73] for at in range(0, len(text), 73))
    lines = [
        "BEGIN:VEVENT", f"UID:{number}-{chance.random()}@bench.example.com", "DTSTAMP:20260101T000000Z",
        f"DTSTART;TZID=Europe/Berlin:{start}0000", f"DTEND;TZID=Europe/Berlin:{start}3000",
        f"SUMMARY:Meeting number {number}", "STATUS:CONFIRMED", *([f"RRULE:{rule}"] if rule else []), folded,
        "ATTENDEE;CN=Pat;PARTSTAT=ACCEPTED:mailto:pat.owner@example.com", "END:VEVENT",
    ]  # fmt: skip
    return "\r\n".join(lines)
