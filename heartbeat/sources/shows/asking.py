"""Asking the service behind a provider: at its pace, within its quota and the run, and never on after a refusal.

Every try costs: the time of the run is shared by all artists, so a service that is down, refuses, or wants a long pause
is asked no more in this run, and all artists that remain fail with that one reason.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from time import monotonic, sleep
from typing import Any, NoReturn
from urllib.parse import quote, urlencode

from heartbeat.sources import SourceFailed
from heartbeat.sources.answers import FetchFailed, Response, TryAgain, retry_after
from heartbeat.sources.fetch import Request, host_of
from heartbeat.sources.shows.ground import Ground
from heartbeat.sources.shows.quota import Quota
from heartbeat.sources.shows.show import Outcome, Scan

TRIES = 3
LONGEST_PAUSE = 30.0
"""Seconds; a service that wants a longer one is asked again in another run."""
ANSWER_SECONDS = 20.0
LEAST_SECONDS = 0.5
"""With less left of the run no answer can be hoped for."""
MAX_BYTES = 16 * 1024 * 1024
FAILURES = 5
"""Artists in a row for which there was no usable answer; after them the service is down. Of those after the first
each has one try only: a service that is down costs little, and a few artists who always fail silence nobody."""
_REFUSED = (401, 403)
_TOO_MANY, _UNAVAILABLE, _SERVER_ERROR = 429, 503, 500
_SHORTEST_SECRET = 4


class NotAsked(SourceFailed):
    """The service was not asked about this artist, whose turn is still to come."""


def failed_scan(failed: SourceFailed) -> Scan:
    return Scan(Outcome.FAILED, message=str(failed), tried=not isinstance(failed, NotAsked))


class Asker:
    """Asks one service, for one provider, in one run."""

    def __init__(
        self,
        ground: Ground,
        *,
        pace: float,
        secret: str = "",
        quota: Quota | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """*pace*: seconds from one request to the next. *secret* is taken out of every answer that echoes it."""
        self._ground, self._pace, self._secret, self._quota = ground, pace, secret, quota
        self._headers = headers or {}
        self._off = ""
        self._failures = 0

    def ask(self, address: str, parameters: Mapping[str, str], holds: Callable[[Any], bool]) -> Any:
        """The JSON answered, if *holds* finds in it what was asked for.

        Raises SourceFailed, at once when the service is off for this run.
        """
        if self._off:
            raise NotAsked(self._off)
        request = Request(
            f"{address}?{urlencode(parameters)}",
            headers=self._headers,
            accepted=frozenset({200, _TOO_MANY}),  # the headers of a refusal tell until when
            max_bytes=MAX_BYTES,
            tries=1,  # each try counts, so they are made here
        )
        try:
            answer = self._read(self._answer(request).body, holds)
        except FetchFailed as failed:
            self._note(failed)
            raise
        self._failures = 0
        return answer

    def stop(self, why: str) -> NoReturn:
        """Nobody is asked any more in this run."""
        self._off = why
        raise SourceFailed(why)

    def _leave(self, why: str) -> NoReturn:
        """As `stop`, before this artist was asked about."""
        self._off = why
        raise NotAsked(why)

    def _answer(self, request: Request) -> Response:
        tries = 1 if self._failures else TRIES
        for attempt in range(tries):
            pause = 2.0**attempt
            last = attempt == tries - 1
            try:
                answer = self._once(request)
            except TryAgain as failed:
                if failed.status == _UNAVAILABLE:  # how MusicBrainz says: slow down
                    pause = self._allowed(failed.retry_after, pause, last=last, status=_UNAVAILABLE)
                elif last:
                    raise
            else:
                if answer.status != _TOO_MANY:
                    return answer
                asked = retry_after(answer.headers.get("retry-after", ""), self._ground.now)
                pause = self._allowed(asked, pause, last=last, status=_TOO_MANY)
            self._wait(pause)
        raise AssertionError  # the last try returns or raises

    def _once(self, request: Request) -> Response:
        """One try, when the pace allows it."""
        host = host_of(request.address)
        before = self._ground.asked.get(host)
        self._wait(0.0 if before is None else max(0.0, before + self._pace - monotonic()))
        if self._quota is not None:
            try:
                self._quota.take()
            except SourceFailed as spent:
                self._leave(str(spent))
        self._ground.asked[host] = monotonic()
        answer = self._ground.fetcher.fetch(request, min(ANSWER_SECONDS, self._ground.deadline - monotonic()))
        if self._quota is not None:
            self._quota.heed(answer.headers)
        return answer

    def _allowed(self, asked: float | None, otherwise: float, *, last: bool, status: int) -> float:
        """The pause before the next try, if it is worth waiting for."""
        pause = otherwise if asked is None else asked
        if last or pause > LONGEST_PAUSE:
            wanted = f" and wants a pause of {pause:.0f} s" if asked else ""
            self.stop(f"the service answers {status}, too many requests{wanted}; the rest is asked in the next run")
        return pause

    def _wait(self, seconds: float) -> None:
        if monotonic() + seconds + LEAST_SECONDS > self._ground.deadline:
            self._leave("the time of this run is used up; the rest is asked in the next run")
        if seconds:
            sleep(seconds)

    def _note(self, failed: FetchFailed) -> None:
        """What a failure means for those who come after."""
        if failed.status in _REFUSED:
            self.stop(f"the service answers {failed.status}, access is refused; check the key, or whether it was ended")
        if failed.status is None or failed.status >= _SERVER_ERROR:
            self._failures += 1
            if self._failures >= FAILURES:
                self._off = str(failed)

    def _read(self, body: bytes, holds: Callable[[Any], bool]) -> Any:
        try:
            answer = self._without_secret(json.loads(body))
        except (ValueError, RecursionError):
            what = "a web page" if b"<" in body[:200] else "something else" if body.strip() else "nothing"
            raise FetchFailed(f"cannot use the answer: it is {what}, not JSON; it may be over later") from None
        if not holds(answer):  # or an error that comes under status 200 would mean: no shows
            raise FetchFailed("cannot use the answer: what was asked for is not in it; it may be over later")
        return answer

    def _without_secret(self, answer: Any) -> Any:
        if len(self._secret) < _SHORTEST_SECRET:
            return answer
        # Decoded and written anew, so that no way of escaping hides it.
        text = json.dumps(answer, ensure_ascii=False)
        shown = {json.dumps(form, ensure_ascii=False)[1:-1] for form in (self._secret, quote(self._secret, safe=""))}
        if not any(form in text for form in shown):
            return answer
        for form in shown:
            text = text.replace(form, "-")
        return json.loads(text)
