"""The states of a target, look after look -> what is settled, and who has still to be told of it. Pure.

A target is red or green. A colour settles when it was seen in two rounds one after the other; what restarts between two
rounds now and then is no news, and what is red again and again is red. Each channel is told of a settled colour once,
and never twice of the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Colour = Literal["green", "red"]

RED = ("down", "flapping", "stalled")
"""The states that alarm, unless the owner says otherwise."""
ROUNDS = 2
"""A colour that is seen so often in a row settles."""
APART = 5.0
"""Seconds; what is seen sooner after the last round is the same round, made by another watch."""
RESTLESS, CALM = 4, 3600.0
"""With so many changes, or so many times red, in the last so many seconds it comes and goes: it is not green."""
_TOLERANCE = 60.0
"""Seconds by which the last sign of life may lie before the last round that saw it alive."""
_AT_ONCE = ("flapping",)
"""It has been seen more than once: the state itself says so."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What a watch knows of one target; instants are seconds since 1970."""

    colour: Colour
    """The one that is settled."""
    since: float
    state: str
    """The latest state of that colour."""
    seen_at: float = 0.0
    """When a round saw it last."""
    before: float = 0.0
    """Since when the other colour had held before; 0: it is the first."""
    was: str = ""
    """The latest state of the colour before."""
    rounds: int = 0
    """In so many rounds, up to the last one, the other colour was seen."""
    began: float = 0.0
    """When the first of them was made."""
    looked_at: float = 0.0
    """When the last of them was made."""
    changes: tuple[float, ...] = ()
    """When a colour settled, or ended that had lasted and was not called: the latest instants."""
    glimpses: tuple[float, ...] = ()
    """When a round saw red after one that did not: the latest instants."""
    told: Mapping[str, Colour] = field(default_factory=dict)
    """What each channel was told last; one that was told nothing takes it for green."""


def colour_of(state: str, on: Collection[str] = RED) -> Colour:
    """Red for the states in *on*."""
    return "red" if state in on else "green"


def look(
    memory: Memory | None,
    state: str,
    now: float,
    *,
    since: float | None = None,
    on: Collection[str] = RED,
    sure: bool = False,
) -> Memory:
    """What is known after a round in which the target was in *state*, as it says *since* then.

    What is seen for the first time ever settles at once: a watch that is set up where all is down says so. So does red
    that is *sure*, as when the supervisor has given it up, and the RESTLESS'th glimpse of red within CALM.
    """
    colour = colour_of(state, on)
    if memory is None:
        seen = (now,) if colour == "red" else ()
        return Memory(colour, _between(0, since, now) or now, state, now, changes=seen, glimpses=seen)
    memory = replace(memory, glimpses=_glimpses(memory, colour, now))
    if colour == memory.colour:
        # What was seen for a moment was told to nobody, and must not keep what lasts from being told.
        changes = _with(memory.changes, now) if memory.rounds >= ROUNDS else memory.changes
        return replace(memory, state=state, seen_at=now, rounds=0, began=0.0, looked_at=0.0, changes=changes)
    comes_and_goes = colour == "red" and _are_many(memory.glimpses, now)
    is_sure = colour == "red" and (sure or state in _AT_ONCE or comes_and_goes)
    if memory.rounds and 0 <= now - memory.looked_at < APART and not is_sure:
        return memory
    rounds = memory.rounds + 1
    began = min(memory.began, now) if memory.rounds else now
    has_lasted = rounds >= ROUNDS and (colour == "red" or held_until(memory, now) is None)
    if not (is_sure or has_lasted):
        return replace(memory, rounds=rounds, began=began, looked_at=now)
    # A dead process may say nothing but when it began. Of a loop of restarts some were seen up.
    earliest = 0 if state in _AT_ONCE else memory.seen_at - _TOLERANCE
    return Memory(
        colour,
        (_between(earliest, since, now) if colour == "red" else None) or began,
        state,
        now,
        before=memory.since,
        was=memory.state,
        changes=_with(memory.changes, now),
        # A whole hour has to be better: the next one that is due anyhow must not be news each time.
        glimpses=(now,) * RESTLESS if comes_and_goes else memory.glimpses,
        told=memory.told,
    )


def held_until(memory: Memory, now: float) -> float | None:
    """Until when a red target is not called green, however it looks; None: two rounds are enough."""
    if memory.colour != "red":
        return None
    many = [instants for instants in (memory.changes, memory.glimpses) if _are_many(instants, now)]
    return max((min(instants) + CALM for instants in many), default=None)


def came_and_went(memory: Memory) -> bool:
    """Whether red was seen again and again, rather than all the time, since it settled (or while it last had)."""
    began = memory.since if memory.colour == "red" else memory.before
    return sum(at >= began for at in memory.glimpses) > 1


def is_news(before: Memory | None, after: Memory) -> bool:
    """Whether a colour has settled that the owner wants to hear of: not that all was well from the beginning."""
    return after.colour == "red" if before is None else after.colour != before.colour


def due(memory: Memory, channels: Iterable[str]) -> tuple[str, ...]:
    """The channels that have still to be told of the settled colour; none while the target just looked otherwise."""
    if memory.rounds:
        return ()
    return tuple(name for name in channels if memory.told.get(name, "green") != memory.colour)


def with_told(memory: Memory, channel: str) -> Memory:
    """The channel has been told of the settled colour."""
    return replace(memory, told={**memory.told, channel: memory.colour})


def _with(changes: tuple[float, ...], now: float) -> tuple[float, ...]:
    return (*changes, now)[-RESTLESS:]


def _glimpses(memory: Memory, colour: Colour, now: float) -> tuple[float, ...]:
    """Those that are remembered, and this round if it saw red anew; an instant in the future is of a wrong clock."""
    past = tuple(at for at in memory.glimpses if at <= now)
    is_new = colour == "red" and (memory.colour == "red") == bool(memory.rounds)
    return _with(past, now) if is_new and not (past and now - past[-1] < APART) else past


def _are_many(instants: tuple[float, ...], now: float) -> bool:
    # An instant in the future is of a clock that was wrong.
    return sum(1 for at in instants if 0 <= now - at < CALM) >= RESTLESS


def _between(earliest: float, since: float | None, now: float) -> float | None:
    return since if since is not None and max(0, earliest) < since <= now else None
