"""The two rounds of the daemon's couriers: one calls the agent, which may take long, the other does all the rest."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from heartbeat.beat import House
from heartbeat.briefing import issue_due, tell_incidents
from heartbeat.courier import Courier
from heartbeat.lock import KernelLock
from heartbeat.model import Overrides
from heartbeat.outbox import decide_held, deliver_due
from heartbeat.ports import Ledger
from heartbeat.post import Post
from heartbeat.process import is_alive, owner
from heartbeat.slots import CLOCK_STEP
from heartbeat.troubles import Troubles


class Delivery:
    """What is held, wakes, messages and briefs, each when its time has come."""

    def __init__(
        self,
        house: Callable[[], House],
        troubles: Troubles,
        fatal: Callable[[BaseException], None],
        is_safe: Callable[[], bool] = lambda: False,
    ) -> None:
        self._house = house
        self._is_safe = is_safe  # then nobody is woken: what is due waits in the outbox
        self._lock = KernelLock(house().home.agent_lock_file)
        self._looked_at = house().clock()
        self._overrides = Overrides()
        self._looks_again = True
        self.next_at: datetime | None = None
        self._agent = Courier("outbox", self._call_agent, house, troubles, fatal)
        self._owner = Courier("post", self._tell_owner, house, troubles, fatal)
        self._post = Post(self._owner.ring, troubles, fatal)

    def start(self) -> None:
        self._agent.start()
        self._owner.start()

    def ring(self) -> None:
        """It is time to look whether something is due."""
        self._owner.ring()
        self._agent.ring()

    def advance(self, now: datetime) -> None:
        """Ring when something is due that is no run: a held finding, an attempt, a message."""
        if self.next_at is not None and self.next_at <= now:
            self.next_at = None  # the couriers are at it
            self.ring()

    def look_ahead(self, ledger: Ledger, now: datetime) -> None:
        due = ledger.next_due(now)
        # What is overdue waits for its courier, not for the loop.
        self.next_at = due if due is not None and due > now else None

    def look_again(self) -> None:
        """The rules may be others now: what is held is decided again, what was deferred is looked at."""
        self._looks_again = True
        self.ring()

    def join(self) -> None:
        """Wait for the end of all; the house's `stop` is set."""
        self._owner.join()
        self._post.join()
        self._agent.join()

    def _call_agent(self, house: House) -> None:
        # Another heartbeat process (`heartbeat tick`) may be calling the agent: the next beat rings again.
        if self._is_safe():
            return
        if house.ledger.due_wakes(house.clock(), to_owner=False) and self._lock.acquire(owner(), patience=0.0):
            try:
                deliver_due(self._house, to_owner=False)
            finally:
                self._lock.release()
            self._owner.ring()

    def _tell_owner(self, house: House) -> None:
        now = house.clock()
        if self._looked_at - now > CLOCK_STEP:
            # The instants of their next attempts were reckoned under a clock that was wrong.
            house.ledger.release_wakes(is_alive, now)
            self._looks_again = True
        everything = self._has_changed(house, now)
        if everything:
            house.ledger.undefer_wakes(now)
        released = decide_held(house, everything=everything)
        if issue_due(house) or released or everything:
            self._agent.ring()
        if not self._is_safe():
            deliver_due(self._house, to_owner=True)
        tell_incidents(house)
        self._post.round(house)

    def _has_changed(self, house: House, now: datetime) -> bool:
        """Whether what was decided before may be decided otherwise now."""
        overrides = house.ledger.overrides(now)
        changed = self._looks_again or overrides != self._overrides
        # In this order: were the ledger out of reach, the next round would have to look again.
        self._overrides, self._looked_at, self._looks_again = overrides, now, False
        return changed
