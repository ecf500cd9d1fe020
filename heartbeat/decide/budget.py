"""What the owner is ready to bear a day: interruptions, money, tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta, tzinfo
from math import fsum

from heartbeat.clock import local
from heartbeat.durations import show_duration
from heartbeat.model import Past
from heartbeat.schedule.wall import passages

_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
_LATER = _DAY
"""What a limit of 0 never allows is decided again after so long: the limit may be another by then."""

_Over = tuple[datetime, str]


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits; None is none."""

    min_gap: timedelta = timedelta(minutes=2)
    """Between one interruption and the next."""
    per_hour: int | None = 6
    """In any 60 minutes."""
    per_day: int | None = 40
    """In any 24 hours."""
    critical_per_hour: int | None = 12
    """Of the critical, which count apart."""
    usd_per_day: float | None = None
    """Of the owner's calendar day; so are tokens."""
    tokens_per_day: int | None = None


def over_interruptions(budget: Budget, past: Past, now: datetime, *, critical: bool) -> tuple[datetime, str] | None:
    """When one more is within the limits, and which limit it would break now; None when it breaks none.

    Of several the limit that lasts longest is named. What is dated after *now*, by a clock that was wrong, counts for
    nothing. The critical and the others do not count for each other, and min_gap is not for the critical.
    """
    # Sorted, for a clock that was set back leaves them out of order.
    times = sorted(each.at for each in past.interruptions if each.critical == critical and each.at <= now)
    # Each limit, once it allows one more, goes on to do so: the latest of these instants suits them all.
    return max(_broken(budget, times, now, critical=critical), key=lambda over: over[0], default=None)


def _broken(budget: Budget, times: Sequence[datetime], now: datetime, *, critical: bool) -> Iterator[_Over]:
    if critical:
        limits = [
            ("critical_per_hour", budget.critical_per_hour, _HOUR, "critical interruptions in the last 60 minutes")
        ]
    else:
        limits = [
            ("per_hour", budget.per_hour, _HOUR, "interruptions in the last 60 minutes"),
            ("per_day", budget.per_day, _DAY, "interruptions in the last 24 hours"),
        ]
        if times and now < times[-1] + budget.min_gap:
            ago = show_duration(now - times[-1])
            yield (
                times[-1] + budget.min_gap,
                f"min_gap is {show_duration(budget.min_gap)}: the latest interruption was {ago} ago",
            )
    for name, limit, span, what in limits:
        if limit == 0:
            yield now + _LATER, f"{name} is 0: nobody is ever interrupted"
        elif limit is not None and len(times) >= limit and now < times[-limit] + span:
            count = sum(now < at + span for at in times)
            there = f"there were {count} {what}" if count > 1 else f"there was 1 {what.replace('ruptions', 'ruption')}"
            yield times[-limit] + span, f"{name} is {limit}: {there}"


def over_spending(budget: Budget, past: Past, zone: tzinfo, now: datetime) -> tuple[datetime, str] | None:
    """When the agent may be paid again, and what is used up; None when nothing is.

    That is where the next calendar day of the zone begins. What is dated later today counts: it was paid.
    """
    today = local(now, zone).date()
    spent = [each for each in past.spending if local(each.at, zone).date() == today]
    usd, tokens = fsum(each.usd for each in spent), sum(each.tokens for each in spent)
    used = []
    if budget.usd_per_day is not None and usd >= budget.usd_per_day:
        used.append(f"usd_per_day is {budget.usd_per_day:g}: {usd:.2f} USD were spent today")
    if budget.tokens_per_day is not None and tokens >= budget.tokens_per_day:
        used.append(f"tokens_per_day is {budget.tokens_per_day}: {tokens} were used today")
    return (_next_day(now, zone), "; ".join(used)) if used else None


def _next_day(now: datetime, zone: tzinfo) -> datetime:
    midnight = datetime.combine(local(now, zone).date() + _DAY, time())
    # Some zones skip midnight, and where the clock is set back over it, it comes again.
    return next(instant for instant in passages(midnight, zone) if instant > now)
