"""What the owner reads about a target that went down, and that it is up again. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from heartbeat.clock import from_text, shown
from heartbeat.notices import lasting
from heartbeat.probe import Health
from heartbeat.text import one_line
from heartbeat.transitions import APART, RESTLESS, ROUNDS, Memory, came_and_went, held_until

OWN = "heartbeat"
"""The name of heartbeat itself among the targets."""
_MOST, _LONGEST = 20, 500
_INSTANT = re.compile(r"\b(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?) ?(Z|[+-]\d{4}\b)")
"""As the probe writes them: in UTC, or by the machine's clock on the wall."""
_OWN_REMEDIES = {
    "down": ("start", "logs", "doctor"),
    "flapping": ("logs", "status", "doctor"),
    "stalled": ("restart", "logs", "doctor"),
}
_WITHOUT_SERVICE = {
    "down": ("install", "run --detach", "doctor"),
    "flapping": ("health", "doctor"),
    "stalled": ("stop", "doctor"),
}
"""What `start`, `restart` and `logs` cannot do where no supervisor keeps it."""
_DOES = {
    "start": "starts it",
    "restart": "starts it anew",
    "install": "makes it a service, and starts it",
    "run --detach": "starts it without a supervisor",
    "stop": "ends it; start it again as you did before",
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


@dataclass(frozen=True, slots=True)
class Manner:
    """Where its owner is, and how this installation is kept and called."""

    zone: tzinfo = UTC
    call: Callable[[str], str] = "heartbeat {}".format
    """A verb -> what is typed at a terminal for it."""
    address: Callable[[str], str] = str
    """A text with the commands of ours in it -> with each as it is called for this installation."""
    is_service: bool = True
    """Whether a supervisor keeps heartbeat itself."""


def words(matter: Matter, now: datetime, manner: Manner) -> tuple[str, str]:
    """Title and body."""
    return _red(matter, now, manner) if matter.memory.colour == "red" else _green(matter, now, manner.zone)


def _red(matter: Matter, now: datetime, manner: Manner) -> tuple[str, str]:
    name, health, began = matter.name, matter.health, _instant(matter.memory.since)
    since = shown(began, now, manner.zone)
    lines = [f"{_sentence(health.summary)} since {since}, for {lasting(now - began)}."]
    if health.problems:
        told = [f"- {said(name, message, now, manner)} ({code})" for code, message in health.problems[:_MOST]]
        more = len(health.problems) - _MOST
        lines += ["", "Why:", *told, *([f"- and {more} more"] if more > 0 else [])]
    lines += ["", "What to do:"]
    if was_asked(health):
        lines.append("- nothing, if that was meant")
    lines += [f"- {words}" for words in _remedies(name, health.state, manner)]
    held = held_until(matter.memory, now.timestamp())
    if held is not None:
        lines += ["", f"It comes and goes: it is not called up again before {shown(_instant(held), now, manner.zone)}."]
    how = "comes and goes: it is" if came_and_went(matter.memory) else "is"
    return f"{name} {how} {health.word} since {since}", "\n".join(lines)


def said(name: str, message: str, now: datetime, manner: Manner) -> str:
    """What the probe says of a target, with its instants where the owner is and the commands of this installation."""

    def there(found: re.Match[str]) -> str:
        try:
            return shown(from_text(found[1] + found[2]), now, manner.zone)
        except ValueError:  # no day of the calendar
            return found[0]

    if name == OWN:
        message = manner.address(message)
    return _INSTANT.sub(there, one_line(message, _LONGEST))


def was_asked(health: Health) -> bool:
    """Whether it is down because its owner stopped it."""
    return any(code == "ended_stopped" and "heartbeat stop" in message for code, message in health.problems)


def untold(matter: Matter, before: Memory | None, now: datetime, zone: tzinfo) -> str:
    """Why nobody is told of the colour that a round has just seen; empty when it is settled."""
    memory = matter.memory
    if not memory.rounds:
        return ""
    how = f"it looks {'well' if memory.colour == 'red' else 'not well'}"
    held = held_until(memory, now.timestamp())
    if held is not None and memory.rounds >= ROUNDS:
        since, until = shown(_instant(memory.began), now, zone), shown(_instant(held), now, zone)
        return f"{how} since {since}; it came and went {RESTLESS} times within an hour, so not called up before {until}"
    seen = f"{how} in {memory.rounds} of {ROUNDS} rounds, so nobody is told yet"
    same = f"; this one came within {APART:g} s of the last, and counts as the same"
    return seen + (same if memory == before else "")


def _green(matter: Matter, now: datetime, zone: tzinfo) -> tuple[str, str]:
    name, memory, health = matter.name, matter.memory, matter.health
    began, ended = _instant(memory.before), _instant(memory.since)
    after, was = lasting(ended - began), memory.was or "down"
    how = "came and went" if came_and_went(memory) else f"was {was}"
    body = f"It {how} from {shown(began, now, zone)} to {shown(ended, now, zone)}. Now: {_sentence(health.summary)}."
    if health.state == "absent":
        return f"{name} is not installed any more; it was {was} for {after}", body
    return f"{name} is up again after {after}", body


def history(entry: Mapping[str, object], now: datetime, zone: tzinfo) -> str:
    """One line of the log of transitions; its instants are texts of `clock.to_text`."""
    at = datetime.fromisoformat(str(entry["at"]))
    return f"{shown(at, now, zone)}  {one_line(str(entry.get('title', '')), _LONGEST)}"


def _remedies(name: str, state: str, manner: Manner) -> list[str]:
    if name != OWN:
        return [f"`{manner.call(f'health {name}')}` {_DOES['health']}"]
    verbs = (_OWN_REMEDIES if manner.is_service else _WITHOUT_SERVICE).get(state, ("health",))
    return [f"`{manner.call(verb)}` {_DOES[verb]}" for verb in verbs]


def _sentence(summary: str) -> str:
    return one_line(summary, _LONGEST).removesuffix(".")


def _instant(seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta()
