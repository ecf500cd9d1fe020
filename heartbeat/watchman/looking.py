"""Looking at every target at the same time: one that hangs, or breaks the probe, costs only itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from time import monotonic

from heartbeat.probe import Health

SECONDS = 10.0
"""How long all of them together may take. The probe bounds its own waits; the kernel may not, as at a dead mount."""

Examine = Callable[[], Health]


class Looker:
    """Looks again and again; a look that hangs is not begun a second time."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._hanging: dict[str, threading.Thread] = {}

    def look(self, targets: Mapping[str, Examine]) -> dict[str, Health]:
        """The state of each; one that could not be told is `stalled`, for silence is no proof of life."""
        found: dict[str, Health] = {}
        ends_at = monotonic() + self._seconds
        threads = {name: self._begin(name, examine, found) for name, examine in targets.items()}
        for name, thread in threads.items():
            thread.join(max(0.0, ends_at - monotonic()))
            if thread.is_alive():
                self._hanging[name] = thread
        # One that answers from here on is too late for this round.
        seen = dict(found)
        return {name: seen.get(name) or _unknown(name, f"no answer within {self._seconds:g} s") for name in targets}

    def _begin(self, name: str, examine: Examine, found: dict[str, Health]) -> threading.Thread:
        hanging = self._hanging.pop(name, None)
        if hanging is not None and hanging.is_alive():
            return hanging
        # A daemon thread: what hangs in the kernel must not keep the process.
        thread = threading.Thread(target=_into, args=(name, examine, found), name=f"look:{name}", daemon=True)
        thread.start()
        return thread


def _into(name: str, examine: Examine, found: dict[str, Health]) -> None:
    try:
        found[name] = examine()
    except Exception as error:  # noqa: BLE001 - the others must be told of whatever one of them does
        found[name] = _unknown(name, f"{type(error).__name__}: {error}")


def _unknown(name: str, why: str) -> Health:
    problem = ("not_examined", f"cannot tell how {name} is: {why}; try `heartbeat health`")
    return Health("stalled", f"{name} could not be examined", target=name, problems=(problem,))
