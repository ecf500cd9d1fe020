"""What was held is decided again by time alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from heartbeat.decide.line import Case, Rules, after, look
from heartbeat.model import Change, Decision, LedgerFinding, Past, Verdict


def decide_again(
    held: Sequence[LedgerFinding], past: Past, rules_of: Callable[[str], Rules], now: datetime
) -> tuple[Decision, ...]:
    """One decision for each held finding, in order, under the rules of its job; its script is not asked again."""
    decisions = []
    for item in held:
        case = Case(item.finding, Verdict.WAKE, rules_of(item.job), past, now)
        # It is kept with the urgency that the owner gave it: weighed once more, it would move another step.
        decision = look(case, Change.SAME, None)
        decisions.append(decision)
        past = after(past, decision, now)
    return tuple(decisions)
