"""Instants to come as a person gives them: with an offset, so long from now, or as a time of day."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from heartbeat.cli.shell import Shell
from heartbeat.clock import local
from heartbeat.durations import DurationTooLong, parse_duration
from heartbeat.errors import Invalid
from heartbeat.schedule.wall import passages

MOMENT = "ISO|TIME|HH:MM"
MOMENT_HELP = "An instant with offset, so long from now (2h), or a time of day where you are (09:00)."
_TIME = re.compile("([01]?[0-9]|2[0-3]):([0-5][0-9])")


def read_moment(text: str, label: str, call: Shell, now: datetime) -> datetime:
    """The instant that a text stands for, which only with an offset may be past; raises Invalid. *label* may be ''."""
    from heartbeat.config import load_settings
    from heartbeat.queue.items import read_instant

    lead = f"{label}: " if label else ""
    try:
        return now + parse_duration(text)
    except DurationTooLong as error:
        raise Invalid(f"{lead}{error}") from None
    except OverflowError:
        raise Invalid(f"{lead}cannot use {text!r}: it ends after the year 9999; give a shorter one") from None
    except ValueError:
        pass
    if time := _TIME.fullmatch(text):
        # Raises for a configuration with problems: in a zone that is only guessed it would mean another instant.
        load_settings(call.home)
        return next_passage(timedelta(hours=int(time[1]), minutes=int(time[2])), call.here(), now)
    if not text[:4].isdigit():
        raise Invalid(
            f"{lead}cannot use {text!r}; write an instant such as 2026-06-10T08:00:00+02:00, a time of day"
            " such as 09:00, or how long, such as 2h"
        )
    return read_instant(text, label or "WHEN", call.zone)


def as_iso(text: str, label: str, call: Shell, now: datetime) -> str:
    """The same as text with an offset, to the second; one that has an offset is left as it was written."""
    at = read_moment(text, label, call, now)
    return text if "T" in text or " " in text else local(at, ZoneInfo("UTC")).isoformat(timespec="seconds")


def next_passage(time: timedelta, zone: tzinfo, now: datetime) -> datetime:
    """When the clock shows that time of day next; where it skips it, when it does so."""
    today = datetime.fromordinal(local(now, zone).toordinal())
    walls = (today + timedelta(days=number) + time for number in range(3))
    return next(instant for wall in walls for instant in passages(wall, zone) if instant > now)
