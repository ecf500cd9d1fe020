"""One round of the watch: look, remember, tell, remember who was told."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from heartbeat.clock import to_text
from heartbeat.model import Message, MessageKind, MessageState, Urgency
from heartbeat.ports import Channel
from heartbeat.probe import Health
from heartbeat.transitions import RED, Memory, due, held_until, is_news, look, with_told
from heartbeat.watchman.looking import Examine, Looker
from heartbeat.watchman.notebook import Notebook
from heartbeat.watchman.sending import send_all
from heartbeat.watchman.wording import Manner, Matter, words
from heartbeat.watchman.wording import untold as untold_of

_HOUR, _TOLD_UNKEPT = 3600, 300
"""Seconds; with a memory that nothing keeps, all is told in the first of each hour only, or it would be each round."""


@dataclass(frozen=True, slots=True)
class Ways:
    """How the owner is told, and of what."""

    channels: Mapping[str, Channel] = field(default_factory=dict)
    """Those that take such messages."""
    manner: Manner = field(default_factory=Manner)
    on: tuple[str, ...] = RED
    quiet_until: Callable[[datetime], datetime | None] = lambda _: None
    """Until when nothing is to be told; None: now is well."""


@dataclass(frozen=True, slots=True)
class Told:
    """A message that was tried; `error` is empty when the channel took it."""

    target: str
    channel: str
    title: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a round saw and did; `held_until` is the end of the quiet that something waits for."""

    healths: Mapping[str, Health]
    news: Mapping[str, str] = field(default_factory=dict)
    """The title of what settled in this round, by target."""
    told: tuple[Told, ...] = ()
    held_until: datetime | None = None
    untold: Mapping[str, str] = field(default_factory=dict)
    """Why nobody is told of what was seen, by target, where it is not settled."""
    held: Mapping[str, datetime] = field(default_factory=dict)
    """Until when a target that is red and comes and goes is not called up, however it looks."""
    notes: tuple[str, ...] = ()
    """What went wrong with the watch itself."""


class Watchman:
    """Makes rounds with what one notebook remembers."""

    def __init__(self, notebook: Notebook, looker: Looker) -> None:
        self._notebook = notebook
        self._looker = looker

    def make_round(self, targets: Mapping[str, Examine], ways: Ways, clock: Callable[[], datetime]) -> Outcome:
        """Look at each of the *targets* once, and tell what settled."""
        self._notebook.notes.clear()
        with self._notebook.locked() as is_alone:
            if is_alone:
                return self._round(targets, ways, clock)
        note = "another watch is at it: this one looks only, and tells nobody"
        return Outcome(self._looker.look(targets), notes=(note,))

    def _round(self, targets: Mapping[str, Examine], ways: Ways, clock: Callable[[], datetime]) -> Outcome:
        healths, now = self._looker.look(targets), clock()
        seconds = now.timestamp()
        before = self._notebook.read()
        after = dict(before)
        for name, health in healths.items():
            after[name] = look(before.get(name), health.state, seconds, since=health.since, on=ways.on)
        # Before anybody is told: what cannot be remembered would be told again and again.
        is_kept = self._notebook.write(after, seconds)
        matters = {name: Matter(name, after[name], health) for name, health in healths.items()}
        told, quiet_until = self._tell(matters, ways, now, is_kept=is_kept)
        for each in told:
            if not each.error:
                after[each.target] = with_told(after[each.target], each.channel)
        if told:
            self._notebook.write(after, seconds)
        news = {
            name: words(matters[name], now, ways.manner)[0]
            for name in healths
            if is_news(before.get(name), after[name])
        }
        self._notebook.log([_entry(name, title, after[name], now) for name, title in news.items()])
        untold = {name: untold_of(each, before.get(name), now, ways.manner.zone) for name, each in matters.items()}
        return Outcome(
            healths,
            news,
            told,
            quiet_until,
            {name: why for name, why in untold.items() if why},
            held({name: after[name] for name in healths}, now),
            tuple(self._notebook.notes),
        )

    def _tell(
        self, matters: Mapping[str, Matter], ways: Ways, now: datetime, *, is_kept: bool
    ) -> tuple[tuple[Told, ...], datetime | None]:
        """Tell every channel what it does not know yet; or until when that is held."""
        waiting = [(each, channel) for each in matters.values() for channel in due(each.memory, ways.channels)]
        if not waiting:
            return (), None
        if not is_kept and now.timestamp() % _HOUR >= _TOLD_UNKEPT:
            self._notebook.notes.append("cannot remember who was told of what: told only at the full hour")
            return (), None
        quiet_until = ways.quiet_until(now)
        if quiet_until is not None:
            return (), quiet_until
        messages = [(each.name, _message(each, channel, ways, now)) for each, channel in waiting]
        errors = send_all(ways.channels, [message for _, message in messages])
        told = [Told(name, message.channel, message.title, errors[message.id]) for name, message in messages]
        return tuple(told), None


def held(memories: Mapping[str, Memory], now: datetime) -> dict[str, datetime]:
    """Until when each of those that come and go is not called up."""
    found = {name: held_until(memory, now.timestamp()) for name, memory in memories.items()}
    return {name: datetime.fromtimestamp(until, UTC) for name, until in found.items() if until is not None}


def take_note(notebook: Notebook, name: str, channels: Iterable[str], now: datetime) -> None:
    """The *channels* have just been told by somebody else that a target is down: no watch tells them again.

    Does nothing where no watch has ever looked at it.
    """
    if name not in notebook.read():
        return  # before the lock, which would make a folder where there was none
    with notebook.locked() as is_alone:
        memories = notebook.read() if is_alone else {}
        if name in memories:
            memory = look(memories[name], "down", now.timestamp(), sure=True)
            for channel in channels:
                memory = with_told(memory, channel)
            notebook.write({**memories, name: memory}, now.timestamp())


def _message(matter: Matter, channel: str, ways: Ways, now: datetime) -> Message:
    title, body = words(matter, now, ways.manner)
    memory = matter.memory
    # The same when it is tried again: a channel that knows it already does not show it twice.
    identity = hashlib.sha256(f"{matter.name}\0{memory.colour}\0{memory.since}\0{channel}".encode()).hexdigest()
    return Message(
        f"watch_{identity[:18]}",
        MessageKind.INCIDENT,
        channel,
        MessageState.SENDING,
        title,
        body,
        created_at=now,
        urgency=Urgency.CRITICAL if memory.colour == "red" else Urgency.NORMAL,
    )


def _entry(name: str, title: str, memory: Memory, now: datetime) -> dict[str, Any]:
    return {
        "at": to_text(now),
        "target": name,
        "to": memory.colour,
        "state": memory.state,
        "since": to_text(datetime.fromtimestamp(memory.since, UTC)),
        "title": title,
        "told": sorted(channel for channel, colour in memory.told.items() if colour == memory.colour),
    }
