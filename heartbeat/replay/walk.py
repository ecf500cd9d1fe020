"""Run by run through the history: what is decided anew, what stays as it was, and what differs in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from heartbeat.decide import Rules
from heartbeat.decide.owner import reminder
from heartbeat.model import Action, Change, Decision, Run, WhenAbsent
from heartbeat.replay.count import Count
from heartbeat.replay.outcome import Difference, End, Fate, Replay
from heartbeat.replay.reported import as_reported
from heartbeat.replay.was import Recorded, happened
from heartbeat.replay.would import Item, World

History = Iterable[tuple[Run, list[tuple[str | None, Decision]]]]
"""Ended runs in the order in which they ended, with what was decided of their findings."""

WARM_UP = timedelta(days=1)
"""History from so long before the start makes the replay begin with a budget that is used as it would be."""

_STAYS = frozenset({"baseline", "fault", "quiet", "retract", "absent", "duplicate"})
"""What the run, or what the ledger knew, decided: the owner's rules were not asked."""


_UNSURE = "the job's options changed"
"""So begins why a finding is forgotten that need not be gone."""


def replay(
    history: History, rules_of: Callable[[str], Rules | None], start: datetime, end: datetime, recorded: Recorded
) -> Replay:
    """Decide anew what was decided from *start* to *end*; a job without rules does not run."""
    walk = _Walk(rules_of, start, end, recorded)
    first_run_at, runs = None, 0
    for run, decided in history:
        at = run.ended_at or run.started_at
        if at > end:
            break
        if at >= start:
            first_run_at, runs = first_run_at or at, runs + 1
        walk.follow(run, decided, at)
    return walk.result(first_run_at, runs)


class _Walk:
    def __init__(
        self, rules_of: Callable[[str], Rules | None], start: datetime, end: datetime, recorded: Recorded
    ) -> None:
        self._start, self._end, self._recorded = start, end, recorded
        self._rules: dict[str, Rules | None] = {}
        self._find_rules = rules_of
        self._world = World(self._rules_of, self._settle)
        self._was, self._would = Count(start, end), Count(start, end)
        self._findings = self._unknown = 0
        self._differences: list[Difference] = []
        self._waiting: list[Difference] = []
        self._strange: set[str] = set()

    def follow(self, run: Run, decided: list[tuple[str | None, Decision]], at: datetime) -> None:
        at = self._world.go_on(at)
        for finding_id, decision in decided:
            self._decide(run, finding_id, decision, at)

    def result(self, first_run_at: datetime | None, runs: int) -> Replay:
        self._world.go_on(self._end)
        self._world.finish()
        return Replay(
            start=self._start,
            end=self._end,
            first_run_at=first_run_at,
            runs=runs,
            findings=self._findings,
            differences=tuple(sorted(self._differences, key=lambda each: each.at)),
            waiting=tuple(self._waiting),
            was=self._was.totals(),
            would=self._would.totals(),
            unknown=self._unknown,
            strange_jobs=tuple(sorted(self._strange)),
        )

    def _decide(self, run: Run, finding_id: str | None, decision: Decision, at: datetime) -> None:
        key = decision.finding.key
        was = happened(run, finding_id, decision, self._end, self._recorded)
        finding = as_reported(decision.finding, decision.trace)
        item = Item(at, run.job, finding_id or "", finding, decision.change, run.id, was)
        if decision.change is Change.FORGOTTEN:
            self._forget(item, decision)
        elif decision.change is Change.WITHDRAWAL:
            self._withdraw(item)
        elif decision.rule == "returned":
            self._come_back(item)
        elif decision.rule in _STAYS:
            self._stay(item)
        elif finding_id is None or was.end is End.UNKNOWN:
            # Only its key and title are left: what the rules would say of it cannot be known.
            self._settle(item, replace(was, end=End.UNKNOWN))
        elif self._known_rules(run.job) is None:
            self._strange.add(run.job)
            self._settle(item, Fate(End.DROPPED, at, "job", "its job does not run under these rules"))
        elif decision.change is Change.SAME:
            self._tell_again(item, decision)
        elif (
            decision.change is Change.RETRACTION
            and self._world.keeps(run.job, key)
            and not self._world.owner_knows(run.job, key)
        ):
            self._world.take_back(run.job, key)
            self._settle(item, Fate(End.NOTHING, at, "retract", "it is taken back before anybody was told"))
        else:
            self._world.tell(item)

    def _stay(self, item: Item) -> None:
        """As it was; and what it replaces is not told any more."""
        if item.change in (Change.NEW, Change.UPDATE, Change.RETRACTION):
            self._world.overtake(item.job, item.finding.key, item.change)
            self._world.comes_back(item.job, item.finding.key)
        if item.change is Change.RETRACTION:
            self._world.let_go(item.job, item.finding.key)
        self._settle(item, item.was)

    def _forget(self, item: Item, decision: Decision) -> None:
        """The key stands for nothing any more: what is held is left to the brief if it ended, else withdrawn."""
        finding, job = item.finding, item.job
        if decision.reason.startswith(_UNSURE) or self._recorded.finding(item.finding_id) is None:
            self._world.let_go(job, finding.key)
            return
        is_over = finding.useful_until is not None and finding.useful_until < item.at
        if is_over or finding.when_absent is WhenAbsent.FORGET or decision.action is Action.BRIEF:
            self._world.take_back(job, finding.key, End.BRIEF)
            self._world.let_go(job, finding.key)
        else:
            self._withdraw(replace(item, was=replace(item.was, end=End.NOTHING)))

    def _come_back(self, item: Item) -> None:
        """What was called off is back, and nobody had been told; here it may have been told."""
        was_called_off = self._world.was_called_off(item.job, item.finding.key)
        self._world.comes_back(item.job, item.finding.key)
        if was_called_off and self._known_rules(item.job) is not None:
            self._world.tell(replace(item, change=Change.NEW))

    def _withdraw(self, item: Item) -> None:
        """What nobody had been told was taken back; here it may have been told."""
        has_rules = self._known_rules(item.job) is not None
        if has_rules and self._world.owner_knows(item.job, item.finding.key):
            self._world.tell(replace(item, change=Change.RETRACTION, finding=replace(item.finding, retract=True)))
        else:
            self._world.take_back(item.job, item.finding.key)

    def _tell_again(self, item: Item, decision: Decision) -> None:
        """What was left to the brief or muted, and is told after all; or a reminder of what was told."""
        told_at = self._world.told.get(item.finding_id)
        if decision.rule != "remind":
            if told_at is None and not self._world.keeps(item.job, item.finding.key):
                self._world.tell(item)
            else:
                self._settle(item, Fate(End.NOTHING, item.at, "duplicate", "it was told already, or is held"))
            return
        if self._world.keeps(item.job, item.finding.key):
            self._settle(item, Fate(End.NOTHING, item.at, "duplicate", "it is held, so there is nothing to remind of"))
            return
        rules = self._rules_of(item.job)
        due = reminder(rules.owner, item.job, item.finding, told_at or item.at, item.at)
        if due is None or (told_at is not None and due[0] > item.at):
            self._settle(item, Fate(End.NOTHING, item.at, "duplicate", "no rule reminds of it now"))
        else:
            self._world.tell(item, reminder=due[1])

    def _settle(self, item: Item, would: Fate) -> None:
        """A fate is certain. What was over before the start is not told of."""
        if max(item.at, item.was.at, would.at) < self._start:
            return
        self._findings += 1
        self._unknown += End.UNKNOWN in (item.was.end, would.end)
        self._was.add(item.was)
        self._would.add(would)
        difference = Difference(item.at, item.job, item.finding_id, item.finding, item.was, would)
        if would.differs(item.was):
            self._differences.append(difference)
        if would.end is End.HELD:
            self._waiting.append(difference)

    def _known_rules(self, job: str) -> Rules | None:
        if job not in self._rules:
            self._rules[job] = self._find_rules(job)
        return self._rules[job]

    def _rules_of(self, job: str) -> Rules:
        rules = self._known_rules(job)
        assert rules is not None, "a job without rules has nothing held"
        return rules
