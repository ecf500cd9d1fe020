"""Quiet hours: until when nobody is to be disturbed, and what breaks through all the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache

from heartbeat.clock import local, shown
from heartbeat.durations import show_duration
from heartbeat.model import Finding, Overrides, Urgency
from heartbeat.schedule import Window
from heartbeat.schedule.wall import passages
from heartbeat.zones import zone_or

FOLLOWED = timedelta(days=14)
"""Quiet that never ends is said to end with the first window that ends after so long: it is looked at again then."""
_DAY = 24 * 60
_DATES = range(-2, 2)
"""A window that holds begins on one of these dates, counted from the clock's. The clock shows a date again where it
is set back over midnight, so yesterday is not enough, and tomorrow's may have begun."""


@dataclass(frozen=True, slots=True)
class QuietWindow:
    """A part of the day in which it is quiet; what reaches over midnight belongs to the day it begins on.

    Where the clock is set forward over its end, it ends with the gap; where the clock shows it twice, it begins with
    the first passage of its start and ends with the second of its end.
    """

    window: Window
    days: frozenset[int] = frozenset(range(7))
    """Monday is 0. On a holiday only what says so counts."""
    holidays: bool = True
    """It is quiet then on holidays too."""


@dataclass(frozen=True, slots=True)
class QuietHours:
    """When it is quiet, on the wall clock of a zone."""

    # Not in the hash, for it is taken for each finding.
    windows: tuple[QuietWindow, ...] = field(default=(), hash=False)
    zone: tzinfo = UTC
    holidays: frozenset[date] = field(default=frozenset(), hash=False)
    last_call: timedelta | None = timedelta(minutes=30)
    """What would be of no use any more when the quiet ends is told so long before that; None: it is not told."""
    forced_until: datetime | None = None
    loud_until: datetime | None = None

    def under(self, overrides: Overrides) -> QuietHours:
        """These hours as the owner wants them for the time being; a zone that this machine does not know is ignored."""
        zone = zone_or(overrides.zone, self.zone)
        return replace(self, zone=zone, forced_until=overrides.quiet_until, loud_until=overrides.loud_until)

    def until(self, now: datetime) -> datetime | None:
        """The end of the quiet that holds at *now*; None when it is not quiet.

        Windows that touch or overlap are one quiet; see FOLLOWED for one that never ends.
        """
        return _until(self, now)

    def end(self, instant: datetime) -> datetime | None:
        """The latest end of what makes it quiet at an instant."""
        ends = [end for start, end in self.spans(instant) if start <= instant < end]
        if self.forced_until is not None and instant < self.forced_until:
            ends.append(self.forced_until)
        return max(ends, default=None)

    def spans(self, instant: datetime) -> Iterator[tuple[datetime, datetime]]:
        """The windows around an instant."""
        if not self.windows:
            return
        today = local(instant, self.zone).date()
        for number in _DATES:
            day = today + timedelta(days=number)
            is_holiday = day in self.holidays
            for each in self.windows:
                if each.holidays if is_holiday else day.weekday() in each.days:
                    yield _span(each.window, day.toordinal(), self.zone)


# Many findings are decided at one moment, and with many windows this is slow.
@lru_cache(maxsize=64)
def _until(quiet: QuietHours, now: datetime) -> datetime | None:
    if quiet.loud_until is not None and now < quiet.loud_until:
        return None
    end, reached = None, quiet.end(now)
    while reached is not None:
        end = reached
        reached = quiet.end(end) if end - now < FOLLOWED else None
    return end


@lru_cache(maxsize=8192)  # so many windows on so many days as a quiet is followed
def _span(window: Window, day: int, zone: tzinfo) -> tuple[datetime, datetime]:
    """From the first passage of its start to the last of its end; the same instant twice when it lies in a gap."""
    end = window.end if window.start < window.end else window.end + _DAY
    midnight = datetime.fromordinal(day)
    first, *_ = passages(midnight + timedelta(minutes=window.start), zone)
    *_, last = passages(midnight + timedelta(minutes=end), zone)
    return first, last


def quiet_hold(finding: Finding, quiet: QuietHours, now: datetime) -> tuple[datetime | None, str]:
    """Until when a finding is held for the quiet's sake, or None; and why, which is empty when it is not quiet."""
    end = quiet.until(now)
    if end is None:
        return None, ""

    def at(instant: datetime) -> str:
        return shown(instant, now, quiet.zone)

    if finding.urgency is Urgency.CRITICAL:
        return None, f"it is critical, which breaks through quiet hours (until {at(end)})"
    useful, last_call = finding.useful_until, quiet.last_call
    if useful is None or useful > end:
        return end, f"quiet hours until {at(end)}"
    if last_call is None:
        # Held to the end all the same: it is then found to be expired, and the brief tells it as missed.
        lost = f"; it is of use only until {at(useful)}, and will be missed: last_call is never" if useful < end else ""
        return end, f"quiet hours until {at(end)}{lost}"
    # Not useful - last_call: a useful_until near the beginning of the calendar has nothing before it.
    if now + last_call >= useful:
        return None, f"last call: it is of use only until {at(useful)}, and quiet hours last until {at(end)}"
    last = useful - last_call
    ahead = show_duration(last_call)
    return last, f"quiet hours until {at(end)}; last call at {at(last)}, {ahead} before it is of no use any more"
