"""Pings to a dead man's switch, in the manner of healthchecks.io: it tells the owner when they do not come.

The address is a password: it is read when it is needed, and never named.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from heartbeat.beat import House
from heartbeat.config.secret import Secret
from heartbeat.errors import HeartbeatError
from heartbeat.job import Job
from heartbeat.job.vault import Vault
from heartbeat.pingline import Line, Ping, Word
from heartbeat.troubles import Troubles

if TYPE_CHECKING:
    from heartbeat.sources.fetch import Fetcher

_SECONDS, _TRIES = 10.0, 2
"""For one ping, all its tries together."""
_LAST_WAIT, _LAST_BREATH = 1.0, 0.3
"""Seconds at the end: for what still waits, and then for the program that keeps an address."""
_LARGEST = 1024 * 1024
_ANY_SUCCESS = frozenset(range(200, 300))
_NOT_KNOWN = b"(not found)"
"""What healthchecks.io answers, with status 200, when it knows no such check."""


class Pings:
    """Sends pings from threads of its own; whoever asks for one never waits, and never hears of a failure."""

    def __init__(self, house: Callable[[], House], troubles: Troubles) -> None:
        self._house = house
        self._cut_short = threading.Event()
        self._beat_at = float("-inf")
        # Apart: no server of a job's pings may silence the daemon.
        self._own = Line("pings", _send, house, troubles)
        self._jobs = Line("job-pings", _send, house, troubles, threads=8, waiting=2, pauses=(60.0, 300.0))

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
            self._jobs.put(self._ping(f"ping:{job.name}", job.ping, word, dict(job.env)))

    def stop(self) -> None:
        """Send what waits, but within 1.3 s."""
        lines, ends_at = (self._own, self._jobs), monotonic() + _LAST_WAIT
        for line in lines:
            line.finish()
        for line in lines:
            line.join(ends_at)
        self._cut_short.set()
        for line in lines:
            line.cut()
        for line in lines:
            line.join(ends_at + _LAST_BREATH)

    def _of_daemon(self, word: Word) -> None:
        secret = self._house().config.settings.ping.url
        if secret is not None:
            self._own.put(self._ping("ping", secret, word, {}))

    def _ping(self, place: str, secret: Secret, word: Word, env: dict[str, str]) -> Ping:
        house = self._house()
        path, credentials = house.config.settings.search_path(env), house.config.settings.service.credentials
        vault = Vault(house.home.config, house.environ, path, stop=self._cut_short, credentials=credentials)
        return Ping(place, secret, vault, word)


def _send(ping: Ping, address: str, fetcher: Fetcher) -> None:
    from heartbeat.sources import SourceFailed
    from heartbeat.sources.fetch import Request

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
