"""`--since`: an instant that is past, or how long ago it is."""

from __future__ import annotations

from datetime import datetime

from heartbeat.cli.shell import instant
from heartbeat.durations import DurationTooLong, parse_duration
from heartbeat.errors import Invalid

METAVAR = "ISO|DURATION"


def past_instant(text: str, now: datetime) -> datetime:
    """The instant that a text stands for; raises Invalid."""
    try:
        start = now - parse_duration(text)
    except (DurationTooLong, OverflowError) as error:
        raise Invalid(f"--since: cannot go back {text}: it is too long; give a shorter time, such as 7d") from error
    except ValueError:
        start = instant(text, "--since")
    if start > now:
        raise Invalid(f"--since: cannot use {text}: it lies in the future; give a past instant, or how long ago: 7d")
    return start
