"""What the owner is sent about an incident, and when again: it began, it goes on, it is over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import count
from zoneinfo import ZoneInfo

from heartbeat.clock import local
from heartbeat.model import Incident
from heartbeat.text import one_line

_AGAIN = (timedelta(hours=1), timedelta(hours=4), timedelta(hours=12))
"""So long after it began it is said again; from then on once a day."""
_DAY = timedelta(days=1)
_APART = timedelta(minutes=30)
"""One that was told late, as the quiet ended, is not told again at once."""
_LONGEST, _LONGEST_LINE, _MOST = 500, 240, 20


def notice(incident: Incident, now: datetime, zone: ZoneInfo) -> tuple[str, str, datetime | None]:
    """Title and body of the message that is due *now*, and when the next one is; None: nothing more is to be said."""
    subject, cause = one_line(incident.subject, 120), one_line(incident.message, _LONGEST) or "no cause is known"
    since = f"since {_moment(incident.opened_at, now, zone)}"
    if incident.resolved_at is not None:
        lasted = lasting(incident.resolved_at - incident.opened_at)
        over = f"over since {_moment(incident.resolved_at, now, zone)}, after {lasted}"
        return f"heartbeat: {subject} is well again", f"{over}: {cause}", None
    tell_at = incident.opened_at + next(offset for offset in _offsets() if incident.opened_at + offset > now + _APART)
    if not incident.told:
        return f"heartbeat: {subject} is failing", f"{since}: {cause}", tell_at
    lasts = lasting(now - incident.opened_at)
    return f"heartbeat: {subject} is still failing", f"for {lasts}, {since}: {cause}", tell_at


def together(incidents: Sequence[Incident], now: datetime, zone: ZoneInfo) -> tuple[str, str]:
    """Title and body of one message about several: what is new first, what is over last."""
    over = sum(incident.resolved_at is not None for incident in incidents)
    counts = {"failing": len(incidents) - over, "well again": over}
    title = ", ".join(
        f"{count:,} {'thing is' if count == 1 else 'things are'} {how}" for how, count in counts.items() if count
    )
    ordered = sorted(incidents, key=lambda incident: (incident.resolved_at is not None, incident.told > 0))
    lines = [_line(incident, now, zone) for incident in ordered[:_MOST]]
    if len(ordered) > _MOST:
        lines.append(f"and {len(ordered) - _MOST:,} more: heartbeat incidents")
    return f"heartbeat: {title}", "\n".join(lines)


def _line(incident: Incident, now: datetime, zone: ZoneInfo) -> str:
    title, body, _ = notice(incident, now, zone)
    return one_line(f"{title.removeprefix('heartbeat: ')}, {body}", _LONGEST_LINE)


def lasting(duration: timedelta) -> str:
    """About how long, for people: `12 min`, `5 h`, `3 days`."""
    minutes = max(int(duration.total_seconds()), 0) // 60
    if minutes < 60:  # noqa: PLR2004
        return f"{minutes} min" if minutes else "less than a minute"
    hours = minutes // 60
    return f"{hours} h" if hours < 48 else f"{hours // 24} days"  # noqa: PLR2004


def _offsets() -> Iterator[timedelta]:
    yield from _AGAIN
    yield from (days * _DAY for days in count(1))


def _moment(at: datetime, now: datetime, zone: ZoneInfo) -> str:
    shown = local(at, zone)
    return f"{shown:%H:%M}" if shown.date() == local(now, zone).date() else f"{shown:%a %d %b %H:%M}"
