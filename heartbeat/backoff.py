"""How long to wait before trying again: longer after each failure, and never all at the same moment."""

from __future__ import annotations

from datetime import timedelta

import tenacity

_WAIT = tenacity.wait_exponential(multiplier=15, max=1800) + tenacity.wait_random(0, 15)
"""Seconds: 15, 30, 60, … half an hour, and up to 15 more so that many do not come at once."""
_LONGEST = timedelta(days=1)


def delay(failures: int, retry_after: float | None) -> timedelta:
    """Until the next attempt after so many failures; at least the seconds the other side asked for, within a day."""
    state = tenacity.RetryCallState(retry_object=tenacity.Retrying(), fn=None, args=(), kwargs={})
    state.attempt_number = max(failures, 1)
    # What the other side asks for stands last: were it NaN, max would keep the first.
    return timedelta(seconds=min(max(_WAIT(state), retry_after or 0.0), _LONGEST.total_seconds()))
