"""What an agent complains of, as an error that says whether and when to try again."""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from heartbeat.agents._program import Ran
from heartbeat.errors import AgentError, AgentOnHold
from heartbeat.model import Usage
from heartbeat.text import one_line
from heartbeat.zones import is_zone

LOGIN_PAUSE = 900.0
"""Seconds until an agent whose key was refused is tried again: the owner may mend it, asking often does not."""

_SHOWN, _LOOKED_AT = 300, 2000  # characters
_LONGEST_PAUSE = timedelta(days=8).total_seconds()  # the longest known quotas are weekly
_LIMITS = frozenset({402, 429, 529})
_LOGINS = frozenset({401, 403})
_PASSING = frozenset({408, 409, 425})
_CLIENT, _SERVER, _LAST = 400, 500, 599

_LIMIT = re.compile(
    r"rate.?limit|too many requests|(?:usage|session|weekly|spending) limit|hit your .{0,30}limit|quota|overloaded"
    r"|high demand|credit balance|insufficient (?:funds|credit)",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"not logged in|please (?:run )?/?login|invalid.{0,12}api.?key|unauthori[sz]ed|authentication.(?:error|failed)"
    r"|incorrect api key|no api key",
    re.IGNORECASE,
)
_STATUS = re.compile(r"(?:status|http|code|error)\D{0,12}\b([45][0-9]{2})\b", re.IGNORECASE)
_EPOCH = re.compile(r"\|([0-9]{10}|[0-9]{13})\b")
_RETRY_AFTER = re.compile(r"retry[-_ ]?after[\"']?\s*[:=]?\s*([0-9]{1,7}(?:\.[0-9]+)?)", re.IGNORECASE)
_IN = re.compile(r"(?:again|resets?|retry|retrying) in ((?:[0-9.]+ ?[a-z]+[ ,]*(?:and )?){1,5})", re.IGNORECASE)
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(ms|[wdhms])", re.IGNORECASE)
_UNITS = {"w": 604_800.0, "d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_AT = re.compile(
    r"(?:resets?|again)(?: at)? ([0-9]{1,2})(?::([0-5][0-9]))? ?([ap]m)?\b(?: \(([\w/+-]+)\))?", re.IGNORECASE
)
_NOON = 12


def failure(
    agent: str,
    said: str,
    ran: Ran,
    *,
    remedy: str,
    status: object = None,
    usage: Usage | None = None,
) -> AgentError:
    """The error of an agent that *said* why it did not do its work; *remedy* tells how its login is mended.

    When it said nothing, how it ended counts, and what it printed is shown: that may be a stranger's text, so that
    nothing is read into it.
    """
    now, zone = ran.execution.ended_at, ran.zone
    shown = said or (f"{ran.ended}; it printed: {ran.printed}" if ran.printed else ran.ended)
    said = (said or ran.ended)[:_LOOKED_AT]
    code = _status(status) or _status_in(said)
    what = one_line(shown, _SHOWN)
    if code in _LOGINS or (code not in _LIMITS and _LOGIN.search(said)):
        message = f"cannot wake the agent {agent!r}: its key or login was refused: {what}; {remedy}"
        return AgentError(message, retryable=True, retry_after=LOGIN_PAUSE, usage=usage)
    if code in _LIMITS or _LIMIT.search(said):
        message = f"cannot wake the agent {agent!r} for a while: {what}; it is tried again later"
        return AgentOnHold(message, seconds=pause_in(said, now, zone), usage=usage)
    passing = code is None or code >= _SERVER or code in _PASSING
    more = "" if passing else "; mend that, then `heartbeat wakes retry`"
    return AgentError(f"cannot wake the agent {agent!r}: {what}{more}", retryable=passing, usage=usage)


def pause_in(said: str, now: datetime, zone: str) -> float | None:
    """The seconds an agent asks to be left alone for; None when it names none. *zone* is that of its clock."""
    if found := _EPOCH.search(said):
        stamp = int(found[1])
        seconds = stamp / (1000 if len(found[1]) > len("1733000000") else 1) - now.timestamp()
    elif found := _RETRY_AFTER.search(said):
        seconds = float(found[1])
    elif (found := _IN.search(said)) and (parts := _PART.findall(found[1])):
        seconds = sum(float(number) * _UNITS[unit.lower()] for number, unit in parts)
    elif found := _AT.search(said):
        return _until(found, now, zone)
    else:
        return None
    return min(max(seconds, 1.0), _LONGEST_PAUSE)


def _until(found: re.Match[str], now: datetime, zone: str) -> float | None:
    """Seconds until a time of day that is named, such as `3pm (Europe/Berlin)`."""
    hour, minute, half, place = int(found[1]), int(found[2] or 0), (found[3] or "").lower(), found[4]
    if hour > (_NOON if half else 2 * _NOON - 1) or not (half or found[2]):
        return None
    if half:
        hour = hour % _NOON + (_NOON if half == "pm" else 0)
    there = now.astimezone(ZoneInfo(place if place and is_zone(place) else zone))
    instant = datetime.combine(there.date(), time(hour, minute), there.tzinfo)
    if instant <= there:
        instant = datetime.combine(there.date() + timedelta(days=1), time(hour, minute), there.tzinfo)
    return max(instant.timestamp() - now.timestamp(), 1.0)


def _status(given: object) -> int | None:
    return given if isinstance(given, int) and _CLIENT <= given <= _LAST else None


def _status_in(said: str) -> int | None:
    found = _STATUS.search(said)
    return int(found[1]) if found else None
