"""`heartbeat demo`: the whole beat end to end, by the same verbs an owner types, in a throw-away home."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import typer

from heartbeat.cli.shell import enter, shell
from heartbeat.clock import utc_now
from heartbeat.errors import HeartbeatError, Invalid
from heartbeat.paths import find_home, share
from heartbeat.stores.sqlite import open_existing

Run = Callable[[list[str]], int]

_CALENDAR = """\
BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//heartbeat//demo//EN
BEGIN:VEVENT
UID:standup@demo
DTSTAMP:{start:%Y%m%dT%H%M%SZ}
DTSTART:{start:%Y%m%dT%H%M%SZ}
DTEND:{end:%Y%m%dT%H%M%SZ}
SUMMARY:Contract talk with Rae
END:VEVENT
END:VCALENDAR
"""


def play(run: Run) -> None:
    """Show every kind of fate a finding can have."""
    zone = str(shell().zone())
    with tempfile.TemporaryDirectory(prefix="heartbeat-demo-") as folder:
        home = Path(folder)
        _furnish(home, zone, utc_now())

        def say(comment: str, *words: str, expect: int = 0) -> None:
            print(f"\n# {comment}\n$ heartbeat {shlex.join(words)}")
            status = run(["--home", folder, *words])
            if status != expect:
                raise HeartbeatError(f"cannot go on with the demo: `heartbeat {' '.join(words)}` ended with {status}")

        print(f"A home with a calendar, a queue, an agent and two scripts of the owner's: {folder}")
        soon = (utc_now() - timedelta(minutes=1)).isoformat(timespec="seconds")
        say("A meeting is near: the agent is woken.", "tick", "calendar-lookahead")
        say("Nothing has changed: nobody is woken, and no model was paid.", "tick", "calendar-lookahead")
        say("A reminder falls due.", "queue", "add", "--message", "Call the garage", "--due", soon)
        say("The owner is told, without an agent.", "tick", "due-queue")
        say("A quiet script: what it found waits for the morning.", "tick", "disk-space")
        say("A broken script wakes nobody, and does not vanish.", "tick", "broken-check")
        say("What reached the owner, and how far it came.", "messages", "list")
        say("The morning.", "brief", "--consume")
        say("And why?", "why", _told(folder))
        enter(folder, as_json=False)


def _furnish(home: Path, zone: str, now: datetime) -> None:
    shutil.copytree(share("config") / "demo", home, dirs_exist_ok=True)
    config = home / "config.toml"
    config.write_text(config.read_text().replace("{home}", str(home)).replace("{zone}", zone))
    start = (now + timedelta(minutes=40)).replace(second=0)
    (home / "me.ics").write_text(_CALENDAR.format(start=start, end=start + timedelta(minutes=30)))


def _told(folder: str) -> str:
    """The finding that the agent was told of first."""
    with open_existing(find_home(folder, {}).ledger_file) as ledger:
        return ledger.findings("calendar-lookahead")[0].id


def register(app: typer.Typer, run: Run) -> None:
    @app.command()
    def demo() -> None:
        """Show the whole beat, end to end, in a throw-away home."""
        if shell().as_json:
            raise Invalid("cannot tell the demo as JSON: it is for people; leave --json out")
        play(run)
