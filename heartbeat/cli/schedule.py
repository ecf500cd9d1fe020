"""`heartbeat schedule explain`: what an expression means, its next instants, and what the next clock changes do."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import typer

from heartbeat.cli.shell import Shell, instant, shell
from heartbeat.clock import local, utc_now
from heartbeat.config import read_settings
from heartbeat.errors import ConfigError, Invalid
from heartbeat.schedule import Timing, next_slot
from heartbeat.schedule.changes import AHEAD, clock_changes
from heartbeat.schedule.cron_wording import WEEKDAYS
from heartbeat.schedule.phrases import read_expression
from heartbeat.schedule.wording import means
from heartbeat.zones import host_zone, is_zone

app = typer.Typer(name="schedule", help="Understand schedules.")


@app.callback()
def _group() -> None:
    """Understand schedules."""


@app.command()
def explain(
    words: list[str] = typer.Argument(
        metavar="EXPR", help="Cron fields (quote them), a phrase, 'every 10m', 'at ISO'; several with ';' between."
    ),
    zone_name: str = typer.Option(None, "--zone", metavar="ZONE", help="An IANA zone instead of the owner's."),
    start: str = typer.Option(None, "--from", metavar="ISO", help="After this instant instead of now."),
    count: int = typer.Option(5, "-n", min=1, max=1000, help="How many instants."),
) -> None:
    """Say in words what EXPR means, when it is due next, and what the next clock changes do to it."""
    call = shell("schedule explain")
    zone = _zone(call, zone_name)
    after = instant(start, "--from") if start is not None else utc_now().replace(microsecond=0)
    data = explained(" ".join(words), zone, after, count)
    call.show(data, lambda: _text(data, zone))


def explained(expression: str, zone: ZoneInfo, after: datetime, count: int) -> dict[str, Any]:
    """The facts; raises Invalid for an expression that is refused. An interval counts from *after*."""
    try:
        timing = Timing(read_expression(expression), zone)
    except ValueError as error:
        raise Invalid(str(error)) from error
    changes = clock_changes(timing, after)
    return {
        "means": means(timing),
        "next": [local(slot, zone) for slot in islice(_slots(timing, after), count)],
        "clock_changes": [{"at": local(each.at, zone), "effect": each.effect} for each in changes],
    }


def _slots(timing: Timing, after: datetime) -> Iterator[datetime]:
    slot = next_slot(timing, after, anchor=after)
    while slot is not None:
        yield slot
        slot = next_slot(timing, slot, anchor=after)


def _zone(call: Shell, name: str | None) -> ZoneInfo:
    """The zone that was asked for, else the owner's, as far as the configuration can be read, else the host's."""
    if name is not None and not is_zone(name):
        close = difflib.get_close_matches(name, available_timezones(), n=1)
        hint = f"did you mean {close[0]!r}?" if close else "write an IANA zone, such as Europe/Berlin"
        raise Invalid(f"--zone: cannot use {name!r} as a time zone; {hint}")
    if name is None:
        try:
            name = read_settings(call.home.config_file).settings.owner.zone
        except ConfigError:
            name = host_zone()
            warning = "cannot read the owner's zone: the configuration has problems, see `heartbeat check`"
            print(f"heartbeat: {warning}; this is by the clock of the machine, {name or 'UTC'}", file=sys.stderr)
    return ZoneInfo(name or "UTC")


def _text(data: dict[str, Any], zone: ZoneInfo) -> str:
    lines = [data["means"], "", "next"]
    lines += [f"  {_day(slot)}" for slot in data["next"]] or ["  never"]
    lines += ["", f"changes of the clock in {zone.key}"]
    lines += [f"  {_day(each['at'])}  {each['effect']}" for each in data["clock_changes"]]
    return "\n".join(lines if data["clock_changes"] else [*lines, f"  none within {AHEAD.days} days"])


def _day(at: datetime) -> str:
    """With its day of the week, to be compared with what was meant."""
    return f"{WEEKDAYS[at.weekday()][:3]} {at.isoformat(' ')}"
