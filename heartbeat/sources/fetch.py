"""Answers from http addresses, bounded in time and size, with nothing of the address in any message.

The address of a calendar is its password, and an API key stands in every address of its service: only the host is ever
named. Imports httpx and tenacity; import this module only when there is something to fetch.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic
from types import TracebackType
from typing import Self

import tenacity

from heartbeat.hosts import is_this_machine
from heartbeat.sources import SourceFailed
from heartbeat.sources.answers import FetchFailed, Response, TryAgain, take
from heartbeat.sources.clients import Clients, send
from heartbeat.sources.light import httpx

MAX_BYTES = 50 * 1024 * 1024
MAX_REDIRECTS = 5
TRIES = 3
_OK = frozenset({200})
_SCHEMES = {"webcal": "https", "webcals": "https", "http": "http", "https": "https"}
_SEE_OTHER = 303


@dataclass(frozen=True, slots=True)
class Request:
    """What to ask for."""

    address: str
    """http, https or webcal; may hold a user and a password."""
    method: str = "GET"
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Sent to the first origin alone: a redirect must not carry a token away."""
    credentials: tuple[str, str] | None = None
    """User and password (Basic, or Digest if asked for), for the first origin alone."""
    etag: str = ""
    last_modified: str = ""
    """Validators of what is known already; then the answer may be `unchanged`."""
    accepted: frozenset[int] = _OK
    """The statuses that are an answer."""
    max_bytes: int = MAX_BYTES
    tries: int = TRIES


class Fetcher:
    """Asks servers, with one set of connections; a context manager.

    *now* is for a Retry-After that names an instant; *ca_file* is trusted instead of the usual authorities.
    """

    def __init__(self, now: datetime, ca_file: str = "") -> None:
        for name in ("httpx", "httpcore"):
            logging.getLogger(name).setLevel(logging.WARNING)  # they log whole addresses
        self._now = now
        self._clients = Clients(ca_file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clients.close()

    def fetch(self, request: Request, seconds: float = 20.0) -> Response:
        """The answer to one request within *seconds*, whatever the server does; raises SourceFailed."""
        answer = self.fetch_all({"": request}, seconds)[""]
        if isinstance(answer, SourceFailed):
            raise answer
        return answer

    def fetch_all(self, requests: Mapping[str, Request], seconds: float = 20.0) -> dict[str, Response | SourceFailed]:
        """The answer to each request, side by side, within *seconds* in all, whatever the servers do."""
        deadline = monotonic() + seconds
        results: dict[str, Response | SourceFailed] = {}

        def work(name: str, errand: _Errand) -> None:
            try:
                results.setdefault(name, _fetch(errand))
            except SourceFailed as failed:
                results.setdefault(name, failed)
            except Exception as error:  # noqa: BLE001  # its text may hold the address
                results.setdefault(name, FetchFailed(f"cannot fetch: {type(error).__name__}; please report this"))

        # Threads, left behind at the deadline: nothing else bounds a look-up of a name or a drip of headers.
        threads = [
            threading.Thread(
                target=work, args=(name, _Errand(request, self._clients, self._now, deadline)), daemon=True
            )
            for name, request in requests.items()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, deadline - monotonic()))
        late = f"cannot fetch: no whole answer within {seconds:g} s; see whether the server is slow or down"
        return {name: results.setdefault(name, FetchFailed(late)) for name in requests}


@dataclass(frozen=True, slots=True)
class _Errand:
    """One request on its way."""

    request: Request
    clients: Clients
    now: datetime
    deadline: float

    @property
    def left(self) -> float:
        """Seconds that remain; never nothing, which httpx would take for no limit."""
        return max(self.deadline - monotonic(), 0.1)


def _fetch(errand: _Errand) -> Response:
    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(TryAgain),
        stop=tenacity.stop_after_attempt(errand.request.tries) | tenacity.stop_before_delay(errand.left),
        wait=_pause,
        reraise=True,
    )
    answer: Response = attempts(_follow, errand)
    return answer


_growing = tenacity.wait_exponential(multiplier=0.5, max=5) + tenacity.wait_random(0, 0.5)


def _pause(state: tenacity.RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, TryAgain) else None
    return _growing(state) if asked is None else asked


def _follow(errand: _Errand) -> Response:
    """Ask, and follow redirects: never from https to http, and with secrets for the first origin alone."""
    request = errand.request
    url, method, body = _url(request.address), request.method, request.body
    origin = _origin(url)
    credentials = request.credentials or ((url.username, url.password) if url.userinfo else None)
    _protect(url, request, credentials)
    for _ in range(MAX_REDIRECTS + 1):
        bare = url.copy_with(userinfo=b"")
        at_home = _origin(bare) == origin
        headers = {**_validators(request), **(request.headers if at_home else {})}
        client = errand.clients.of(bare.scheme)
        call = client.build_request(method, bare, content=body or None, headers=headers, timeout=errand.left)
        answer = _ask(errand, client, call, credentials if at_home else None)
        if isinstance(answer, Response):
            return answer
        status, target = answer
        if url.scheme == "https" and target.scheme != "https":
            raise FetchFailed("cannot fetch: it redirects to an unprotected address; ask its owner for the right one")
        url = target
        if status == _SEE_OTHER:
            method, body = "GET", b""
    raise FetchFailed(f"cannot fetch: more than {MAX_REDIRECTS} redirects; ask its owner for the right address")


def _protect(url: httpx.URL, request: Request, credentials: tuple[str, str] | None) -> None:
    """Refuse to show a password or a token to everybody on the way."""
    secret = credentials is not None or any(name.lower() == "authorization" for name in request.headers)
    if secret and url.scheme == "http" and not is_this_machine(url.host):
        raise FetchFailed("cannot send the password unprotected; write https://…")


def _ask(
    errand: _Errand, client: httpx.Client, call: httpx.Request, credentials: tuple[str, str] | None
) -> Response | tuple[int, httpx.URL]:
    """One request: the answer, or with which status it sends us where."""
    request = errand.request
    try:
        response = send(client, call, credentials)
        try:
            if response.has_redirect_location:
                return response.status_code, _url(str(call.url.join(response.headers["location"])))
            return take(response, request.accepted, request.max_bytes, errand.deadline, errand.now)
        finally:
            response.close()
    except httpx.TimeoutException:
        raise FetchFailed("cannot fetch: the server is too slow; see whether it is down") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        # Its text holds the address, so only its kind is told.
        why = "its certificate is not trusted" if "CERTIFICATE_VERIFY" in str(error) else type(error).__name__
        raise TryAgain(f"cannot fetch: {why}; see whether the server and the network are up") from None


def _validators(request: Request) -> dict[str, str]:
    pairs = {"If-None-Match": request.etag, "If-Modified-Since": request.last_modified}
    return {name: value for name, value in pairs.items() if value}


def host_of(address: str) -> str:
    """The host of a usable address; raises SourceFailed for any other."""
    return _url(address).host


def _url(address: str) -> httpx.URL:
    try:
        url = httpx.URL(address.strip())
        scheme = _SCHEMES.get(url.scheme, "")
        if scheme and url.host:
            return url.copy_with(scheme=scheme)
    except (httpx.InvalidURL, ValueError):
        pass
    raise FetchFailed("cannot use the address; write it like https://host/path, with http, https or webcal")


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
