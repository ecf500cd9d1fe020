"""What a run would have reported if it were still true: pure, and only as far as the run really looked."""

from __future__ import annotations

from collections.abc import Iterator

from heartbeat.model import Judgement, Known, View, WhenAbsent


def absent(judgement: Judgement, view: View) -> Iterator[Known]:
    """What is known of the job and was not reported, though its scope was looked at whole or its source answered.

    A finding of no scope, from no source that the gate names, is absent when all sources answered.
    """
    if judgement.gate is None or judgement.verdict.is_fault:
        return
    reported = {finding.key for finding in judgement.gate.findings}
    answered: dict[str, bool] = {}
    for source in judgement.gate.sources:
        answered[source.name] = answered.get(source.name, True) and source.ok
    scopes, all_answered = frozenset(judgement.gate.scopes), all(answered.values())
    for key, known in view.known.items():
        finding = known.finding
        looked = finding.scope in scopes if finding.scope else answered.get(finding.source, all_answered)
        # One whose retraction waits is called off already.
        if key not in reported and looked and not known.retracting:
            yield known


def may_come_back(known: Known) -> bool:
    """Whether one more absence does not mean anything yet."""
    return known.finding.when_absent is not WhenAbsent.KEEP and known.missed + 1 < known.finding.absences


def missed_once_more(judgement: Judgement, view: View) -> tuple[str, ...]:
    """The ids of those whose absence is counted, and means nothing yet."""
    return tuple(known.finding_id for known in absent(judgement, view) if may_come_back(known))
