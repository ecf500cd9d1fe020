"""Pings that wait: in order for each place, a few threads for all, and patience with servers that hang."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from heartbeat.beat import House
from heartbeat.config.secret import Secret
from heartbeat.errors import HeartbeatError
from heartbeat.job.vault import Vault
from heartbeat.troubles import Troubles

if TYPE_CHECKING:
    from heartbeat.sources.fetch import Fetcher

Word = Literal["start", "ok", "fail"]

_SLOW = 3.0
"""Seconds after which a ping that fails has kept a thread from the others for long."""
_TRIAL = 15.0
"""Seconds for which the others wait for one ping to a server that hung before; longer than any ping takes."""


@dataclass(frozen=True, slots=True)
class Ping:
    """One that is to be sent."""

    place: str
    """What is in trouble when it fails."""
    secret: Secret
    vault: Vault
    word: Word


Send = Callable[[Ping, str, "Fetcher"], None]
"""Sends a ping to an address; raises HeartbeatError."""


@dataclass(slots=True)
class _Pause:
    """A server that hung."""

    since: float
    until: float
    failures: int = 1


class Line:
    """Sends pings one at a time for each place, the latest *waiting* of each, from up to so many *threads*.

    A server that hangs is left alone for the *pauses*, the last one again and again; then one ping tries it.
    """

    def __init__(
        self,
        name: str,
        send: Send,
        house: Callable[[], House],
        troubles: Troubles,
        *,
        threads: int = 1,
        waiting: int = 8,
        pauses: tuple[float, ...] = (),
    ) -> None:
        self._name, self._send, self._house, self._troubles = name, send, house, troubles
        self._most_threads, self._most_waiting, self._pause_lengths = threads, waiting, pauses
        self._changed = threading.Condition()
        self._waiting: dict[str, deque[Ping]] = {}  # in the order of their turns
        self._busy: set[str] = set()
        self._not_before: dict[str, float] = {}
        self._pauses: dict[str, _Pause] = {}
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._is_over = self._is_cut = False

    def put(self, ping: Ping) -> None:
        """Let it be sent when its turn has come; never waits."""
        with self._changed:
            waiting = self._waiting.setdefault(ping.place, deque())
            waiting.append(ping)
            left_out = waiting.popleft() if len(waiting) > self._most_waiting else None
            self._changed.notify()
            if len(self._waiting) > self._idle and len(self._threads) < self._most_threads and not self._is_over:
                # A daemon thread: a server that does not answer must not keep the process.
                thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._threads.append(thread)
                thread.start()
        if left_out is not None:
            self._troubles.report(ping.place, _left_out(left_out))

    def finish(self) -> None:
        """End when nothing is left that can be sent at once."""
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def cut(self) -> None:
        """End without what still waits, which is told."""
        with self._changed:
            self._is_cut = True
            left = sum(map(len, self._waiting.values()))
            self._waiting.clear()
            self._changed.notify_all()
        if left:
            self._troubles.report(self._name, HeartbeatError(f"cannot ping any more: {left} waited at the end"))

    def join(self, ends_at: float) -> None:
        """Wait for its threads until then, on the monotonic clock."""
        for thread in list(self._threads):
            thread.join(max(0.0, ends_at - monotonic()))

    def _work(self) -> None:
        # Here, as httpx takes long to import, and most homes need none.
        from heartbeat.sources.fetch import Fetcher

        with Fetcher(self._house().clock()) as fetcher:
            while (ping := self._next()) is not None:
                try:
                    if self._try(ping, fetcher):
                        self._troubles.over(ping.place)
                except HeartbeatError as error:
                    self._troubles.report(ping.place, error)
                except Exception as error:  # noqa: BLE001 - the thread must live; the text may hold the address
                    self._troubles.report(ping.place, HeartbeatError(f"cannot ping: {type(error).__name__}"))
                finally:
                    with self._changed:
                        self._busy.discard(ping.place)
                        self._changed.notify()

    def _next(self) -> Ping | None:
        """Wait for a ping; None when there is none, and will be none."""
        with self._changed:
            while not self._is_cut:
                now = monotonic()
                free = [place for place in self._waiting if place not in self._busy]
                ready = next((place for place in free if self._not_before.get(place, now) <= now), None)
                if ready is not None:
                    return self._take(ready)
                if self._is_over:
                    return None
                first = min((self._not_before[place] for place in free), default=None)
                self._idle += 1
                self._changed.wait(None if first is None else first - now)
                self._idle -= 1
            return None

    def _take(self, place: str) -> Ping:
        self._not_before.pop(place, None)
        waiting = self._waiting.pop(place)
        ping = waiting.popleft()
        if waiting:
            self._waiting[place] = waiting  # behind all others
        self._busy.add(place)
        return ping

    def _try(self, ping: Ping, fetcher: Fetcher) -> bool:
        """Whether it was sent; not when its server is left alone just now: then it waits."""
        address = ping.vault.read([ping.secret])[ping.secret]
        if isinstance(address, ValueError):
            raise HeartbeatError(str(address))
        server, began = _server(address), monotonic()
        if not self._may_ask(server, ping, began):
            return False
        try:
            self._send(ping, address, fetcher)
        except HeartbeatError:
            if monotonic() - began >= _SLOW:
                self._leave_alone(server, began)
            else:
                self._is_well(server)
            raise
        self._is_well(server)
        return True

    def _may_ask(self, server: str, ping: Ping, now: float) -> bool:
        with self._changed:
            pause = self._pauses.get(server)
            if pause is None:
                return True
            if pause.until <= now:
                pause.until = now + _TRIAL
                return True
            self._not_before[ping.place] = pause.until
            waiting = self._waiting.setdefault(ping.place, deque())
            if len(waiting) < self._most_waiting:
                waiting.appendleft(ping)
                return False
        raise _left_out(ping)

    def _leave_alone(self, server: str, began: float) -> None:
        with self._changed:
            now, pause = monotonic(), self._pauses.get(server)
            if not self._pause_lengths or (pause is not None and began < pause.since):
                return  # it was on its way when another found out
            failures = pause.failures + 1 if pause else 1
            length = self._pause_lengths[min(failures, len(self._pause_lengths)) - 1]
            self._pauses[server] = _Pause(now, now + length, failures)

    def _is_well(self, server: str) -> None:
        with self._changed:
            if self._pauses.pop(server, None) is not None:
                self._not_before.clear()  # whoever waits for another server finds out again
                self._changed.notify_all()


def _left_out(ping: Ping) -> HeartbeatError:
    why = f"cannot ping in time: an older {ping.word!r} was left out; see whether the server is slow"
    return HeartbeatError(why)


def _server(address: str) -> str:
    """What hangs together."""
    try:
        return urlsplit(address.strip()).netloc.rpartition("@")[2].lower()
    except ValueError:
        return ""
