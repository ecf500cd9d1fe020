"""A finding as its script reported it: what is kept has the urgency that the owner's rules gave it then."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from heartbeat.model import Finding, Step, Urgency

_WEIGHED = re.compile(rf"(?:raised|lowered) from ({'|'.join(Urgency)}) to ")


def as_reported(finding: Finding, trace: Sequence[Step]) -> Finding:
    """Take back what the first step that weighed it says."""
    for step in trace:
        if step.rule in ("raise", "lower") and (found := _WEIGHED.match(step.reason)):
            return replace(finding, urgency=Urgency(found[1]))
    return finding
