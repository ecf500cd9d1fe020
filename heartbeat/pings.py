"""Pings to a dead man's switch, in the manner of healthchecks.io: it tells the owner when they do not come.

The address is a password: it is read when it is needed, and never named.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit, urlunsplit

from heartbeat.beat import House
from heartbeat.config.secret import Secret
from heartbeat.errors import HeartbeatError
from heartbeat.job import Job
from heartbeat.job.vault import Vault
from heartbeat.troubles import Troubles

if TYPE_CHECKING:
    from heartbeat.sources.fetch import Fetcher

Word = Literal["start", "ok", "fail"]

_MOST_WAITING = 100
_SECONDS, _TRIES = 10.0, 2
"""For one ping, all its tries together."""
_LAST_WAIT, _LAST_BREATH = 1.5, 0.5
"""Seconds at the end: for what still waits, and then for the program that keeps an address."""
_LARGEST = 1024 * 1024
_ANY_SUCCESS = frozenset(range(200, 300))
_NOT_KNOWN = b"(not found)"
"""What healthchecks.io answers, with status 200, when it knows no such check."""


@dataclass(frozen=True, slots=True)
class _Ping:
    """One that waits to be sent."""

    place: str
    """What is in trouble when it fails."""
    secret: Secret
    vault: Vault
    word: Word


class Pings:
    """Sends pings from a thread of its own; whoever asks for one never waits, and never hears of a failure."""

    def __init__(self, house: Callable[[], House], troubles: Troubles) -> None:
        self._house = house
        self._troubles = troubles
        self._waiting: deque[_Ping] = deque(maxlen=_MOST_WAITING)  # the oldest is dropped
        self._changed = threading.Condition()
        self._is_over = False
        self._cut_short = threading.Event()
        self._beat_at = float("-inf")
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """The daemon starts."""
        self._of_daemon("start")

    def beat(self, now: float) -> None:
        """The daemon's loop came round, *now* in seconds that only grow: ping if it is time again."""
        if now - self._beat_at >= self._house().config.settings.ping.every.total_seconds():
            self._beat_at = now
            self._of_daemon("ok")

    def fail(self) -> None:
        """The daemon ends because it cannot go on."""
        self._of_daemon("fail")

    def job(self, job: Job, word: Word) -> None:
        """A run of the job began, ended well, or ended with a fault."""
        if job.ping is not None:
            self._put(f"ping:{job.name}", job.ping, word, dict(job.env))

    def stop(self) -> None:
        """Send what waits, but within 2 s."""
        with self._changed:
            self._is_over = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(_LAST_WAIT)
            self._cut_short.set()
            self._thread.join(_LAST_BREATH)

    def _of_daemon(self, word: Word) -> None:
        secret = self._house().config.settings.ping.url
        if secret is not None:
            self._put("ping", secret, word, {})

    def _put(self, place: str, secret: Secret, word: Word, env: dict[str, str]) -> None:
        house = self._house()
        search_path = house.config.settings.search_path(env)
        vault = Vault(house.home.config, house.environ, search_path, stop=self._cut_short)
        with self._changed:
            self._waiting.append(_Ping(place, secret, vault, word))
            self._changed.notify()
            if self._thread is None and not self._is_over:
                # A daemon thread: a server that does not answer must not keep the process.
                self._thread = threading.Thread(target=self._work, name="pings", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        # Here, as httpx takes long to import, and most homes need none.
        from heartbeat.sources.fetch import Fetcher

        with Fetcher(self._house().clock()) as fetcher:
            while (ping := self._next()) is not None:
                try:
                    _send(ping, fetcher)
                    self._troubles.over(ping.place)
                except HeartbeatError as error:
                    self._troubles.report(ping.place, error)
                except Exception as error:  # noqa: BLE001 - the thread must live; the text may hold the address
                    self._troubles.report(ping.place, HeartbeatError(f"cannot ping: {type(error).__name__}"))

    def _next(self) -> _Ping | None:
        """Wait for a ping; None when there is none, and will be none."""
        with self._changed:
            while not self._waiting and not self._is_over:
                self._changed.wait()
            return self._waiting.popleft() if self._waiting and not self._cut_short.is_set() else None


def _send(ping: _Ping, fetcher: Fetcher) -> None:
    from heartbeat.sources import SourceFailed
    from heartbeat.sources.fetch import Request

    address = ping.vault.read([ping.secret])[ping.secret]
    if isinstance(address, ValueError):
        raise HeartbeatError(str(address))
    try:
        request = Request(address_of(address, ping.word), accepted=_ANY_SUCCESS, max_bytes=_LARGEST, tries=_TRIES)
        answer = fetcher.fetch(request, _SECONDS)
    except SourceFailed as error:
        raise HeartbeatError(str(error).replace("cannot fetch", "cannot ping", 1)) from None
    if _NOT_KNOWN in answer.body[:100]:
        raise HeartbeatError("cannot ping: the service knows no such check; correct the address")


def address_of(address: str, word: Word) -> str:
    """The address that says *word* of a check."""
    if word == "ok":
        return address
    parts = urlsplit(address.strip())
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{word}"))
