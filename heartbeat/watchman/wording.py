"""What the owner reads about a target that went down, and that it is up again. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from heartbeat.clock import shown
from heartbeat.notices import lasting
from heartbeat.probe import Health
from heartbeat.text import one_line
from heartbeat.transitions import Memory

OWN = "heartbeat"
"""The name of heartbeat itself among the targets."""
_MOST, _LONGEST = 20, 500
_OWN_REMEDIES = {
    "down": ("{command} start", "{command} logs", "{command} doctor"),
    "flapping": ("{command} logs", "{command} status", "{command} doctor"),
    "stalled": ("{command} restart", "{command} logs", "{command} doctor"),
}
_DOES = {
    "start": "starts it",
    "restart": "starts it anew",
    "logs": "shows what it said last",
    "status": "shows what the supervisor counted",
    "doctor": "looks for what is wrong on this machine",
    "health": "shows how it is now",
}


@dataclass(frozen=True, slots=True)
class Matter:
    """What there is to tell of a target."""

    name: str
    memory: Memory
    health: Health


def words(matter: Matter, now: datetime, zone: tzinfo, command: str) -> tuple[str, str]:
    """Title and body; *command* is how this installation is called."""
    return _red(matter, now, zone, command) if matter.memory.colour == "red" else _green(matter, now, zone)


def _red(matter: Matter, now: datetime, zone: tzinfo, command: str) -> tuple[str, str]:
    name, health, began = matter.name, matter.health, _instant(matter.memory.since)
    since = shown(began, now, zone)
    lines = [f"{_sentence(health.summary)} since {since}, for {lasting(now - began)}."]
    if health.problems:
        told = [f"- {one_line(message, _LONGEST)} ({code})" for code, message in health.problems[:_MOST]]
        more = len(health.problems) - _MOST
        lines += ["", "Why:", *told, *([f"- and {more} more"] if more > 0 else [])]
    lines += ["", "What to do:", *(f"- {words}" for words in _remedies(name, health.state, command))]
    return f"{name} is {health.state} since {since}", "\n".join(lines)


def _green(matter: Matter, now: datetime, zone: tzinfo) -> tuple[str, str]:
    name, memory, health = matter.name, matter.memory, matter.health
    began, ended = _instant(memory.before), _instant(memory.since)
    after, was = lasting(ended - began), memory.was or "down"
    body = (
        f"It was {was} from {shown(began, now, zone)} to {shown(ended, now, zone)}. Now: {_sentence(health.summary)}."
    )
    if health.state == "absent":
        return f"{name} is not installed any more; it was {was} for {after}", body
    return f"{name} is up again after {after}", body


def history(entry: Mapping[str, object], now: datetime, zone: tzinfo) -> str:
    """One line of the log of transitions; its instants are texts of `clock.to_text`."""
    at = datetime.fromisoformat(str(entry["at"]))
    return f"{shown(at, now, zone)}  {one_line(str(entry.get('title', '')), _LONGEST)}"


def _remedies(name: str, state: str, command: str) -> list[str]:
    calls = _OWN_REMEDIES.get(state, ("{command} health",)) if name == OWN else (f"{{command}} health {name}",)
    return [f"`{call.format(command=command)}` {_DOES[call.split()[1]]}" for call in calls]


def _sentence(summary: str) -> str:
    return one_line(summary, _LONGEST).removesuffix(".")


def _instant(seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta()
