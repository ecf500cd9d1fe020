"""Answers from http addresses, bounded in time and size, with nothing of the address in any message.

The address of a calendar is its password: only the host is ever named. Imports httpx and tenacity; import this module
only when there is something to fetch.
"""

from __future__ import annotations

import logging
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from time import monotonic

import httpx
import tenacity

import heartbeat
from heartbeat.sources import SourceFailed
from heartbeat.sources.cache import Answer

MAX_BYTES = 20 * 1024 * 1024
MAX_REDIRECTS = 5
TRIES = 3
_CHUNK = 64 * 1024
_PERMANENT = {401: "it wants other credentials", 403: "access is refused", 404: "nothing is there", 410: "it is gone"}
_SCHEMES = {"webcal": "https", "webcals": "https", "http": "http", "https": "https"}


@dataclass(frozen=True, slots=True)
class Request:
    """What to fetch, and what is known of it."""

    address: str
    known: Answer | None = None


@dataclass(frozen=True, slots=True)
class _Errand:
    """One request on its way."""

    request: Request
    client: httpx.Client
    now: datetime
    deadline: float

    @property
    def left(self) -> float:
        """Seconds that remain; never nothing, which httpx would take for no limit."""
        return max(self.deadline - monotonic(), 0.1)


class _TryAgain(SourceFailed):
    """A failure that may be over in a moment."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


def host_of(address: str) -> str:
    """The host of a usable address; raises SourceFailed for any other."""
    return _url(address).host


def fetch_all(
    requests: Mapping[str, Request], now: datetime, seconds: float = 20.0
) -> dict[str, Answer | SourceFailed]:
    """The answer to each request, side by side, within *seconds* in all, whatever the servers do.

    An unchanged answer is the known one with *now* as its `current_at`.
    """
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)  # they log whole addresses
    deadline = monotonic() + seconds
    results: dict[str, Answer | SourceFailed] = {}

    def work(name: str, errand: _Errand) -> None:
        try:
            results.setdefault(name, _fetch(errand))
        except SourceFailed as failed:
            results.setdefault(name, failed)
        except Exception as error:  # noqa: BLE001  # its text may hold the address
            results.setdefault(name, SourceFailed(f"cannot fetch: {type(error).__name__}; please report this"))

    client = httpx.Client(headers=_headers())
    # Threads, left behind at the deadline: nothing else bounds a look-up of a name or a drip of headers.
    threads = [
        threading.Thread(target=work, args=(name, _Errand(request, client, now, deadline)), daemon=True)
        for name, request in requests.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, deadline - monotonic()))
    client.close()
    late = SourceFailed(f"cannot fetch: no whole answer within {seconds:g} s; see whether the server is slow or down")
    return {name: results.setdefault(name, late) for name in requests}


def _headers() -> dict[str, str]:
    # Packed answers can be bombs, so none is asked for.
    agent = f"heartbeat/{heartbeat.__version__}"
    return {"Accept": "text/calendar, */*;q=0.5", "Accept-Encoding": "identity", "User-Agent": agent}


def _fetch(errand: _Errand) -> Answer:
    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(_TryAgain),
        stop=tenacity.stop_after_attempt(TRIES) | tenacity.stop_before_delay(errand.left),
        wait=_pause,
        reraise=True,
    )
    answer: Answer = attempts(_follow, errand)
    return answer


_growing = tenacity.wait_exponential(multiplier=0.5, max=5) + tenacity.wait_random(0, 0.5)


def _pause(state: tenacity.RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, _TryAgain) else None
    return _growing(state) if asked is None else asked


def _follow(errand: _Errand) -> Answer:
    """Ask, and follow redirects: never from https to http, and with credentials for the first host alone."""
    url = _url(errand.request.address)
    origin = _origin(url)
    auth = (url.username, url.password) if url.userinfo else None
    for _ in range(MAX_REDIRECTS + 1):
        bare = url.copy_with(userinfo=b"")
        answer = _ask(errand, bare, auth if _origin(bare) == origin else None)
        if isinstance(answer, Answer):
            return answer
        if url.scheme == "https" and answer.scheme != "https":
            raise SourceFailed("cannot fetch: it redirects to an unprotected address; ask its owner for the right one")
        url = answer
    raise SourceFailed(f"cannot fetch: more than {MAX_REDIRECTS} redirects; ask its owner for the right address")


def _ask(errand: _Errand, url: httpx.URL, auth: tuple[str, str] | None) -> Answer | httpx.URL:
    """One request: the answer, or where to go instead."""
    headers = _validators(errand.request.known)
    credentials = auth or httpx.USE_CLIENT_DEFAULT
    try:
        with errand.client.stream("GET", url, headers=headers, auth=credentials, timeout=errand.left) as response:
            if response.has_redirect_location:
                return _url(str(url.join(response.headers["location"])))
            return _answer(response, errand)
    except httpx.TimeoutException:
        raise SourceFailed("cannot fetch: the server is too slow; see whether it is down") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        # Its text holds the address, so only its kind is told.
        why = "its certificate is not trusted" if "CERTIFICATE_VERIFY" in str(error) else type(error).__name__
        raise _TryAgain(f"cannot fetch: {why}; see whether the server and the network are up") from None


def _answer(response: httpx.Response, errand: _Errand) -> Answer:
    known = errand.request.known
    if response.status_code == httpx.codes.NOT_MODIFIED and known is not None:
        return Answer(known.body, known.etag, known.last_modified, errand.now)
    _check_status(response)
    body = b"".join(_bounded(response, errand.deadline))
    etag, last_modified = (response.headers.get(name, "") for name in ("etag", "last-modified"))
    return Answer(body, etag, last_modified, errand.now)


def _validators(known: Answer | None) -> dict[str, str]:
    pairs = {"If-None-Match": known.etag, "If-Modified-Since": known.last_modified} if known else {}
    return {name: value for name, value in pairs.items() if value}


def _check_status(response: httpx.Response) -> None:
    code = response.status_code
    if code == httpx.codes.OK:
        return
    if code == httpx.codes.TOO_MANY_REQUESTS or code >= httpx.codes.INTERNAL_SERVER_ERROR:
        asked = response.headers.get("retry-after", "")
        after = float(asked) if asked.isascii() and asked.isdigit() else None
        raise _TryAgain(f"cannot fetch: the server answers {code}; it may be over later", after)
    why = _PERMANENT.get(code, "this is no calendar")
    raise SourceFailed(f"cannot fetch: the server answers {code}, {why}; check the address")


def _bounded(response: httpx.Response, deadline: float) -> Iterator[bytes]:
    """The decoded body in pieces, as long as size and time allow."""
    unpack = _unpacker(response.headers.get("content-encoding", "identity").strip().lower())
    size = 0
    for raw in response.iter_raw(_CHUNK):
        piece = unpack(raw, MAX_BYTES + 1 - size)
        size += len(piece)
        if size > MAX_BYTES:
            raise SourceFailed(f"cannot fetch: the answer is over {MAX_BYTES >> 20} MiB; use a smaller calendar")
        if monotonic() > deadline:
            raise SourceFailed("cannot fetch: the server is too slow; see whether it is down")
        yield piece


def _unpacker(encoding: str) -> Callable[[bytes, int], bytes]:
    if encoding in ("", "identity"):
        return lambda raw, _most: raw
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise SourceFailed("cannot fetch: the answer is packed in a way nobody asked for; check the address")
    inflate = zlib.decompressobj(wbits=47)

    def unpack(raw: bytes, most: int) -> bytes:
        try:
            return inflate.decompress(raw, most)
        except zlib.error:
            raise SourceFailed("cannot fetch: the answer is packed wrongly; it may be over later") from None

    return unpack


def _url(address: str) -> httpx.URL:
    try:
        url = httpx.URL(address.strip())
        scheme = _SCHEMES.get(url.scheme, "")
        if scheme and url.host:
            return url.copy_with(scheme=scheme)
    except (httpx.InvalidURL, ValueError):
        pass
    raise SourceFailed("cannot use the address; write it like https://host/path, with http, https or webcal")


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
