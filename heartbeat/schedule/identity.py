"""A timing as one line of text, which is another when other instants may be due, and back: the ledger keeps it."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from heartbeat.schedule.kinds import EVERY_DAY, At, Cron, Every, Schedule, Timing, Window


def identity_of(timing: Timing) -> str:
    parts = [_of_schedule(schedule) for schedule in timing.schedules]
    if timing.between or timing.days != EVERY_DAY or any(isinstance(each, Cron) for each in timing.schedules):
        parts.append(f"zone {timing.zone.key}")  # to the other schedules a clock on the wall means nothing
    parts += [f"moved {timing.shift.total_seconds():.0f}s"] if timing.shift else []
    parts += [f"between {window.start}-{window.end}" for window in timing.between]
    parts += ["days " + ",".join(map(str, sorted(timing.days)))] if timing.days != EVERY_DAY else []
    parts += [f"until {timing.until.isoformat()}"] if timing.until else []
    return "; ".join(parts)


def _of_schedule(schedule: Schedule) -> str:
    match schedule:
        case Every(period):
            return f"every {period.total_seconds():.0f}s"
        case Cron(expression):
            return f"cron {expression}"
        case At(instant):
            return f"at {instant.isoformat()}"


@lru_cache(maxsize=4096)
def timing_of(identity: str) -> Timing | None:
    """The timing that has this identity; None for a text that is none, or of a zone that is not known any more."""
    try:
        return _read(identity)
    except (ValueError, LookupError, OSError):  # no such number or date, no such zone, a zone that is no file
        return None


def _read(identity: str) -> Timing:
    values: dict[str, list[str]] = {}
    schedules: list[Schedule] = []
    for part in identity.split("; "):
        word, value = part.split(" ", 1)
        match word:
            case "every":
                schedules.append(Every(_seconds(value)))
            case "cron":
                schedules.append(Cron(value))
            case "at":
                schedules.append(At(datetime.fromisoformat(value)))
            case _:
                values.setdefault(word, []).append(value)
    return Timing(
        tuple(schedules),
        ZoneInfo(values.get("zone", ["UTC"])[0]),
        shift=_seconds(values.get("moved", ["0s"])[0]),
        between=tuple(Window(*map(int, value.split("-"))) for value in values.get("between", ())),
        days=frozenset(map(int, values["days"][0].split(","))) if "days" in values else EVERY_DAY,
        until=datetime.fromisoformat(values["until"][0]) if "until" in values else None,
    )


def _seconds(text: str) -> timedelta:
    return timedelta(seconds=int(text.removesuffix("s")))
