"""Reads calendars side by side: each in a thread of its own, within one limit, and one that fails costs only itself."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from time import monotonic
from typing import TYPE_CHECKING

from heartbeat.sources import SourceFailed
from heartbeat.sources.calendars import Kind
from heartbeat.sources.calendars.asking import Asking, Ics, Listed, Unchanged
from heartbeat.sources.entries import Entry
from heartbeat.sources.kept import Cupboard, Memory
from heartbeat.sources.rows import START, UID, to_row
from heartbeat.sources.trust import Reading, Seen, believe, is_refused, known, refuse, told_of, waits

if TYPE_CHECKING:  # most runs find nothing new to read
    from heartbeat.sources.apart import Answer

ASK_SECONDS = 25.0
"""For what a calendar is asked over the network, or of another program."""
ALL_SECONDS = 50.0
"""For all calendars together, expansion included."""
BEFORE, AFTER = timedelta(days=1), timedelta(days=7)
"""How much more than the lookahead is read, so that what does not change is read once a week."""


@dataclass(frozen=True, slots=True)
class Reader:
    """What all calendars of one run are asked."""

    kinds: Mapping[str, Kind]
    cupboard: Cupboard
    now: datetime
    lookahead: timedelta
    home: tzinfo
    owner: tuple[str, ...] = ()
    started: float = field(default_factory=monotonic)

    def read_all(self, wanted: Sequence[tuple[Entry, bool]]) -> list[Seen]:
        """What each calendar shows, in order; with each entry goes whether its descriptions are wanted."""
        seen: dict[int, Seen] = {}

        def work(number: int, entry: Entry, ask: Asking) -> None:
            try:
                seen.setdefault(number, self._read(entry, ask))
            except Exception as error:  # noqa: BLE001  # its text may hold a secret, or what a stranger wrote
                failed = SourceFailed(f"cannot read the calendar: {type(error).__name__}; please report this")
                seen.setdefault(number, self._shown(entry, ask, failed))

        # Threads, left behind at the end of the time: not everything that a calendar is asked by can be interrupted.
        asks = [self._ask(description) for _, description in wanted]
        threads = [
            threading.Thread(target=work, args=(number, entry, asks[number]), daemon=True)
            for number, (entry, _) in enumerate(wanted)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, self.started + ALL_SECONDS + 1 - monotonic()))
        late = SourceFailed("cannot read the calendar: it takes too long; see whether its server is slow or down")
        for number, (entry, _) in enumerate(wanted):
            if number not in seen:
                seen.setdefault(number, self._shown(entry, asks[number], late))
        return [seen[number] for number in range(len(wanted))]

    def _ask(self, description: bool) -> Asking:
        return Asking(
            now=self.now,
            since=self.now - BEFORE,
            until=self.now + self.lookahead + AFTER,
            home=self.home,
            owner=self.owner,
            description=description,
            deadline=self.started + ALL_SECONDS,
        )

    def _shown(self, entry: Entry, ask: Asking, failed: SourceFailed) -> Seen:
        """What is shown when there is no time to keep anything."""
        return believe(self.cupboard.load(entry, ask), failed, ask, self.lookahead)[1]

    def _read(self, entry: Entry, ask: Asking) -> Seen:
        if entry.fault:
            return Seen(None, entry.fault)
        before = self.cupboard.load(entry, ask)
        if waits(before, self.now):
            assert before.not_before is not None
            again = before.not_before.astimezone(self.home)
            waiting = SourceFailed(f"cannot fetch: its server wants no question before {again:%H:%M}")
            return believe(before, waiting, ask, self.lookahead)[1]
        also = told_of(before, self.now, self.lookahead)
        asked = replace(ask, known=known(before, ask, self.now + self.lookahead), also=also)
        memory, outcome = self._outcome(entry, asked, before)
        after, seen = believe(memory, outcome, ask, self.lookahead)
        return seen if self._keep(entry, ask, before, after) else replace(seen, first_at=None)

    def _outcome(self, entry: Entry, ask: Asking, memory: Memory) -> tuple[Memory, Reading | Unchanged | SourceFailed]:
        try:
            asked = replace(ask, deadline=min(ask.deadline, monotonic() + ASK_SECONDS))
            content = self.kinds[entry.kind].read(entry, asked)
        except SourceFailed as failed:
            return memory, failed
        if isinstance(content, Unchanged) and not ask.known:
            return memory, SourceFailed("cannot use the answer: it says unchanged to a first question; report this")
        if isinstance(content, Ics):
            return self._expanded(content, ask, memory)
        return memory, _listed(content, ask) if isinstance(content, Listed) else content

    def _expanded(self, content: Ics, ask: Asking, memory: Memory) -> tuple[Memory, Reading | SourceFailed]:
        from heartbeat.sources import apart  # imported here: most runs find nothing new to read

        if is_refused(memory, content.fingerprint, self.now):
            return memory, SourceFailed("cannot read the calendar: it was too hard to read; split it")
        try:
            found = apart.expand_apart(content.contents, ask)
        except apart.TooMuch as failed:
            return refuse(memory, content.fingerprint, self.now), failed
        except SourceFailed as failed:
            return memory, failed
        return memory, Reading(
            found.rows,
            found.events,
            found.until,
            whole=not found.cut and (bool(content.missing) or not content.faults),
            warnings=(*content.faults, *found.warnings),
            fingerprint=content.fingerprint,
            lost=found.lost,
            files=_files(content.names, found),
            missing=content.missing,
        )

    def _keep(self, entry: Entry, ask: Asking, before: Memory, after: Memory) -> bool:
        """Write only what has changed: most runs change no more than the time of the copy."""
        if before.copy and after.copy and after == replace(before, copy=replace(before.copy, current_at=self.now)):
            self.cupboard.confirm(entry, after.copy)
            return True
        return after == before or self.cupboard.store(entry, ask, after)


def _files(names: Sequence[str], found: Answer) -> dict[str, list[str]]:
    """In which files of a folder each UID was found."""
    if len(names) == 1:
        return {row[UID]: list(names) for row in found.rows}
    return {uid: [names[number] for number in numbers] for uid, numbers in found.places.items()} if names else {}


def _listed(content: Listed, ask: Asking) -> Reading:
    inside = [one for one in content.occurrences if ask.since <= one.start <= ask.until]
    rows = sorted(map(to_row, inside), key=lambda row: float(row[START]))
    return Reading(rows, len(rows), ask.until, content.whole, content.warnings, content.fingerprint)
