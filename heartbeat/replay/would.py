"""What would have become of the findings: a world with rules of its own, in which time goes on from run to run.

Every agent takes each wake at once and for nothing, so what lies back there are interruptions alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from heapq import heappop, heappush
from itertools import count

from heartbeat.decide.again import decide_again
from heartbeat.decide.line import Case, Rules, after, apply
from heartbeat.model import OWNER, Action, Change, Decision, Finding, LedgerFinding, Past, State, Verdict
from heartbeat.replay.outcome import End, Fate

_DAY = timedelta(days=1)
_ENDS = {Action.BRIEF: End.BRIEF, Action.DROP: End.DROPPED, Action.DUPLICATE: End.NOTHING}


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to tell, as it was reported."""

    at: datetime
    job: str
    finding_id: str
    finding: Finding
    change: Change
    run_id: str
    was: Fate


@dataclass(frozen=True, slots=True)
class _Held:
    item: Item
    row: LedgerFinding
    fate: Fate


class World:
    """Tells *settle* the fate of each item as soon as it is certain."""

    def __init__(self, rules_of: Callable[[str], Rules], settle: Callable[[Item, Fate], None]) -> None:
        self._rules_of, self._settle = rules_of, settle
        self._now: datetime | None = None
        self._past = Past()
        self._held: dict[int, _Held] = {}
        self._due: list[tuple[datetime, int]] = []
        self._waiting: dict[tuple[str, str], int] = {}
        """What is held and is what a key of a job stands for."""
        self._retracting: dict[tuple[str, str], int] = {}
        """The retraction that is held, of what a key stands for still."""
        self._versions: dict[tuple[str, str], str | None] = {}
        """The version that was told last of what a key stands for; None when another came after it and was not."""
        self._called_off: set[tuple[str, str]] = set()
        """Of what was told that it is called off; what a brief is to tell may come back before."""
        self._numbers = count()
        self.told: dict[str, datetime] = {}
        """When each finding was told, by its id."""

    def go_on(self, until: datetime) -> datetime:
        """Decide again what comes due up to then, each at its instant; returns where time stands."""
        while self._due and self._due[0][0] <= until:
            now = self._due[0][0]
            numbers = []
            while self._due and self._due[0][0] <= now:
                numbers.append(heappop(self._due)[1])
            self._decide_again([number for number in sorted(numbers) if number in self._held], now)
        return self._move_to(until)

    def tell(self, item: Item, reminder: str = "") -> None:
        """Decide an item at the present instant; *reminder* is why it is told once more."""
        now, key = self._move_to(item.at), (item.job, item.finding.key)
        if item.change is not Change.RETRACTION and self.comes_back(*key):
            if self._versions.get(key) == item.finding.version:
                reason = "it is back before anybody was told that it was called off"
                self._settle(item, Fate(End.NOTHING, now, "returned", reason))
                return
        elif item.change is Change.RETRACTION:
            self._called_off.discard(key)
        if not reminder:
            item = replace(item, change=self._change(item))
            self.overtake(*key, item.change)
        case = Case(item.finding, Verdict.WAKE, self._rules_of(item.job), self._past, now)
        decision = apply(case, item.change, None)
        if reminder and decision.action is not Action.WAKE:
            self._settle(item, Fate(End.NOTHING, now, decision.rule, f"no reminder now: {decision.reason}"))
            return
        rule, reason = ("remind", reminder) if reminder else (decision.rule, decision.reason)
        self._past = after(self._past, decision, now)
        if decision.action is Action.HOLD:
            fate = Fate(End.HELD, now, rule, reason, was_held=True)
            number = next(self._numbers)
            self._held[number] = _Held(item, _row(item, decision), fate)
            (self._retracting if item.change is Change.RETRACTION else self._waiting)[key] = number
            self._wait(number, decision, now)
        else:
            self._end(item, decision, Fate(End.WAKE, now, rule, reason), now)

    def keeps(self, job: str, key: str) -> bool:
        """Whether something is held under the key."""
        return (job, key) in self._waiting

    def owner_knows(self, job: str, key: str) -> bool:
        """Whether any version of what the key stands for was told."""
        number = self._waiting.get((job, key))
        return (job, key) in self._versions or (number is not None and self._held[number].item.change is Change.UPDATE)

    def take_back(self, job: str, key: str, end: End = End.WITHDRAWN) -> None:
        """What is held under the key is not told any more, or only by the brief."""
        self._end_hold(self._waiting.pop((job, key), None), end)

    def overtake(self, job: str, key: str, change: Change) -> None:
        """Something else is to be told under the key."""
        if (job, key) in self._versions and (change is not Change.RETRACTION or self.keeps(job, key)):
            self._versions[job, key] = None
        self.take_back(job, key)

    def comes_back(self, job: str, key: str) -> bool:
        """Whether its retraction is held, which then is not told any more."""
        number = self._retracting.pop((job, key), None)
        self._end_hold(number, End.WITHDRAWN)
        self._called_off.discard((job, key))
        return number is not None

    def was_called_off(self, job: str, key: str) -> bool:
        """Whether anybody was told that it is."""
        return (job, key) in self._called_off

    def let_go(self, job: str, key: str) -> None:
        """The key stands for nothing any more; what is held is still told."""
        self._waiting.pop((job, key), None)
        self._versions.pop((job, key), None)

    def finish(self) -> None:
        """What is held now stays so."""
        for held in self._held.values():
            self._settle(held.item, held.fate)

    def _change(self, item: Item) -> Change:
        """What it is here, where the version before it may have been told or not."""
        if item.change not in (Change.NEW, Change.UPDATE):
            return item.change
        if self.owner_knows(item.job, item.finding.key):
            return Change.UPDATE
        return Change.NEW if self.keeps(item.job, item.finding.key) else item.change

    def _end_hold(self, number: int | None, end: End) -> None:
        if number is not None:
            held = self._held.pop(number)
            assert self._now is not None
            self._settle(held.item, replace(held.fate, end=end, at=self._now))

    def _move_to(self, instant: datetime) -> datetime:
        """Time never goes back: a clock that was set would bring the interruptions out of order."""
        if self._now is not None and instant <= self._now:
            return self._now
        self._now = instant
        recent = self._past.interruptions
        if recent and recent[0].at <= instant - _DAY:
            recent = tuple(each for each in recent if each.at > instant - _DAY)
        # What came due before has its wake, which the agent took at once.
        self._past = replace(self._past, interruptions=recent, joinable=frozenset())
        return instant

    def _decide_again(self, numbers: list[int], now: datetime) -> None:
        now = self._move_to(now)
        all_held = [self._held[number] for number in numbers]
        decisions = decide_again([held.row for held in all_held], self._past, self._rules_of, now)
        for number, held, decision in zip(numbers, all_held, decisions, strict=True):
            self._past = after(self._past, decision, now)
            if decision.action is Action.HOLD:
                self._wait(number, decision, now)
                continue
            del self._held[number]
            key = (held.item.job, held.item.finding.key)
            for places in (self._waiting, self._retracting):
                if places.get(key) == number:
                    del places[key]
            self._end(held.item, decision, held.fate, now)

    def _wait(self, number: int, decision: Decision, now: datetime) -> None:
        if decision.until is not None:
            # One that ends at once would be decided for ever.
            heappush(self._due, (max(decision.until, now + timedelta(seconds=1)), number))

    def _end(self, item: Item, decision: Decision, fate: Fate, now: datetime) -> None:
        key, is_retraction = (item.job, item.finding.key), item.change is Change.RETRACTION
        if is_retraction and decision.action in (Action.WAKE, Action.BRIEF):
            self._versions.pop(key, None)
        if decision.action is not Action.WAKE:
            self._settle(item, replace(fate, end=_ENDS[decision.action], at=now))
            return
        self.told[item.finding_id] = now
        if is_retraction:
            self._called_off.add(key)
        else:
            self._versions[key] = item.finding.version
        target = decision.target
        end = End.NOTICE if target.agent == OWNER else End.WAKE
        self._settle(item, replace(fate, end=end, at=now, call=f"{now.isoformat()} {target}"))


def _row(item: Item, decision: Decision) -> LedgerFinding:
    """The item as the ledger would keep it."""
    return LedgerFinding(
        id=item.finding_id,
        job=item.job,
        finding=decision.finding,
        change=item.change,
        state=State.HELD,
        rule=decision.rule,
        reason=decision.reason,
        current=True,
        first_seen_at=item.at,
        last_seen_at=item.at,
        run_id=item.run_id,
        held_until=decision.until,
    )
