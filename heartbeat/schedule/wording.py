"""What a timing means, in English exact enough to be checked against a calendar."""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from heartbeat.clock import local
from heartbeat.durations import show_duration
from heartbeat.schedule.cron_wording import WEEKDAYS, cron_words, join, runs
from heartbeat.schedule.kinds import EVERY_DAY, At, Cron, Every, Schedule, Timing, Window

_WHOLE_DAY = 24 * 60
_UNITS = (("week", 604_800), ("day", 86_400), ("hour", 3_600), ("minute", 60))


def means(timing: Timing) -> str:
    """The whole timing: each part of it that decides when a slot lies is said."""
    has_cron = any(isinstance(schedule, Cron) for schedule in timing.schedules)
    text = "; and ".join(schedule_means(schedule, timing.zone) for schedule in timing.schedules)
    allowed = _allowed(timing)
    if allowed:
        text += f"{'; all of it' if len(timing.schedules) > 1 else ','} only {allowed}"
        text += "" if has_cron else f", {timing.zone.key}"
    if timing.shift:
        text += f"; then moved by {show_period(timing.shift)}, this job's share of its jitter"
    if timing.until is not None:
        text += f"; none after {show_instant(timing.until, timing.zone)}"
    return text


def schedule_means(schedule: Schedule, zone: ZoneInfo) -> str:
    """One of the schedules, without what narrows or moves it."""
    match schedule:
        case Every(period):
            return f"every {_long(period)} of elapsed time, counted from when heartbeat first saw the job"
        case Cron(expression):
            return f"{cron_words(expression)}, {zone.key}"
        case At(instant):
            return f"at {show_instant(instant, zone)}, once"


def show_instant(instant: datetime, zone: ZoneInfo) -> str:
    """On the clock of the zone, with its offset."""
    return local(instant, zone).isoformat(" ")


def show_period(period: timedelta) -> str:
    """Short, to the part of a second: `4m12s`."""
    whole = period // timedelta(seconds=1) * timedelta(seconds=1)
    return show_duration(period) if whole == period else f"{period.total_seconds():g}s"


def _long(period: timedelta) -> str:
    """Such as `10 minutes`, `hour`, `1 hour and 30 minutes`."""
    rest = period.total_seconds()
    parts: list[str] = []
    for unit, seconds in _UNITS:
        count, rest = divmod(rest, seconds)
        parts += [_counted(count, unit)] if count else []
    parts += [_counted(rest, "second")] if rest else []
    return parts[0].removeprefix("1 ") if len(parts) == 1 else join(parts)


def _counted(count: float, unit: str) -> str:
    return f"{count:.6f}".rstrip("0").rstrip(".") + f" {unit}{'' if count == 1 else 's'}"


def _allowed(timing: Timing) -> str:
    """The windows and the days; empty when every instant is allowed."""
    parts: list[str] = []
    over_midnight = any(window.end < window.start for window in timing.between)
    if timing.between:
        parts.append(f"{join([_window(window) for window in timing.between], 'or')}, both included")
    if timing.days != EVERY_DAY:
        days = join(runs(WEEKDAYS, sorted(timing.days))) if timing.days else "no day"
        parts.append(f"on {days}{', by the day on which the window begins' if over_midnight else ''}")
    return ", and only ".join(parts)


def _window(window: Window) -> str:
    if window.end == _WHOLE_DAY:  # 24:00 is never shown: the day ends before it
        return f"from {_minute(window.start)} to the end of the day"
    next_day = " of the next day" if window.end < window.start else ""
    return f"from {_minute(window.start)} to {_minute(window.end)}{next_day}"


def _minute(minutes: int) -> str:
    return "{:02}:{:02}".format(*divmod(minutes, 60))
