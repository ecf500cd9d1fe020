"""The owner's own rules: mute, raise, lower, remind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any, Literal

from heartbeat.durations import show_duration
from heartbeat.model import Finding, Step, Urgency
from heartbeat.text import one_line

TIME_LIMIT = 0.05
"""Seconds for one search: titles and bodies come from anybody."""
_SHOWN = 60
_RANKS = tuple(Urgency)
_PAST = {"raise": "raised", "lower": "lowered"}


@dataclass(frozen=True, slots=True)
class OwnerRule:
    """One rule; what it leaves empty it does not look at, and all that it names must fit."""

    do: Literal["mute", "raise", "lower", "remind"]
    number: int = 1
    """Its place in the configuration, for people."""
    job: str = ""
    """A name, in which `*` stands for anything; so are kind and source."""
    kind: str = ""
    source: str = ""
    sender: str = ""
    """An address, or `@domain` for exactly that domain; compared with `sender` in the finding's data."""
    pattern: Any = None
    """Its `search` takes a text and a time limit; searched for in title and body."""
    until: datetime | None = None
    """It holds before that instant only."""
    to: Urgency | None = None
    """Of raise and lower: the urgency; None is one step."""
    after: timedelta | None = None
    """Of remind: how long after it was told."""

    def fits(self, job: str, finding: Finding, now: datetime) -> bool:
        """Whether all that it names is so. A search that takes too long has not found anything."""
        return (
            (self.until is None or now < self.until)
            and _is_named(self.job, job)
            and _is_named(self.kind, finding.kind)
            and _is_named(self.source, finding.source)
            and (not self.sender or _is_from(self.sender, finding.data))
            # Last, for it is slow.
            and (self.pattern is None or _is_found(self.pattern, finding))
        )

    def __str__(self) -> str:
        """For reasons: `rule 2 (kind mail, sender @x.example)`."""
        named = {"job": self.job, "kind": self.kind, "source": self.source, "sender": self.sender}
        words = [f"{name} {value}" for name, value in named.items() if value]
        if self.pattern is not None:
            words.append(f"pattern {self.pattern.pattern}")
        return f"rule {self.number} ({', '.join(one_line(word, _SHOWN) for word in words) or 'everything'})"


def warm(rules: tuple[OwnerRule, ...], job: str, findings: Iterable[Finding], now: datetime) -> None:
    """Search for every pattern that will be asked for, so that what is slow is known when it is.

    For the ledger is locked meanwhile; the patterns keep the outcome of slow searches.
    """
    searching = [rule for rule in rules if rule.pattern is not None]
    for finding in findings:
        for rule in searching:
            rule.fits(job, finding, now)


def muted(rules: tuple[OwnerRule, ...], job: str, finding: Finding, now: datetime) -> str | None:
    """Why the finding is not to be told, or None. However urgent it is: the owner said so."""
    rule = next(_fitting(rules, ("mute",), job, finding, now), None)
    return f"muted by {rule}" if rule else None


def weighed(
    rules: tuple[OwnerRule, ...], job: str, finding: Finding, now: datetime
) -> tuple[Finding, tuple[Step, ...]]:
    """The finding with the urgency that the owner gives it, and a step for each rule that changed it.

    In order, each going on from what those before it made. No raise lowers, and no lower raises.
    """
    steps = []
    for rule in _fitting(rules, ("raise", "lower"), job, finding, now):
        before, after = finding.urgency, _changed(rule, finding.urgency)
        if after is not before:
            finding = replace(finding, urgency=after)
            steps.append(Step(rule.do, after, f"{_PAST[rule.do]} from {before} to {after} by {rule}"))
    return finding, tuple(steps)


def reminder(
    rules: tuple[OwnerRule, ...], job: str, finding: Finding, told_at: datetime, now: datetime
) -> tuple[datetime, str] | None:
    """When a finding that was told and still holds is told again, and by which rule; None: never."""
    for rule in _fitting(rules, ("remind",), job, finding, now):
        if rule.after is not None:
            return told_at + rule.after, f"it still holds {show_duration(rule.after)} after it was told: {rule}"
    return None


def _fitting(
    rules: tuple[OwnerRule, ...], do: tuple[str, ...], job: str, finding: Finding, now: datetime
) -> Iterator[OwnerRule]:
    return (rule for rule in rules if rule.do in do and rule.fits(job, finding, now))


def _changed(rule: OwnerRule, urgency: Urgency) -> Urgency:
    rank = _RANKS.index(urgency)
    if rule.do == "raise":
        wanted = rank + 1 if rule.to is None else _RANKS.index(rule.to)
        return _RANKS[min(max(rank, wanted), len(_RANKS) - 1)]
    wanted = rank - 1 if rule.to is None else _RANKS.index(rule.to)
    return _RANKS[max(min(rank, wanted), 0)]


def _is_named(wanted: str, name: str) -> bool:
    if wanted in ("", name):
        return True
    # Only the star: a source may have a name such as "[old] mail".
    return "*" in wanted and fnmatchcase(name, re.sub(r"[?[]", r"[\g<0>]", wanted))


def _is_from(wanted: str, data: object) -> bool:
    sender = data.get("sender") if isinstance(data, dict) else None
    if not isinstance(sender, str):
        return False
    address = sender.lower()
    return (address[address.rfind("@") :] if wanted.startswith("@") else address) == wanted.lower()


def _is_found(pattern: Any, finding: Finding) -> bool:
    return any(_is_in(text, pattern) for text in (finding.title, finding.body))


def _is_in(text: str, pattern: Any) -> bool:
    try:
        return bool(pattern.search(text, timeout=TIME_LIMIT))
    except TimeoutError:
        return False
