"""What a server answered, taken in within a size and a time, and what its refusal means.

Imports httpx; import this module, like `fetch`, only when there is something to fetch.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import monotonic

from heartbeat.sources import SourceFailed
from heartbeat.sources.light import httpx

_CHUNK = 64 * 1024
_PERMANENT = {
    400: "it does not understand the request; check the address",
    401: "it wants other credentials; check user and password, or the address",
    403: "access is refused; check user and password, or the address",
    404: "nothing is there; check the address",
    410: "it is gone; check the address",
}
_LONGEST_WAIT = 7 * 86_400.0


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer. Status 304 means: what the validators of the request stand for is still current."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""

    @property
    def unchanged(self) -> bool:
        return self.status == httpx.codes.NOT_MODIFIED


class FetchFailed(SourceFailed):
    """No usable answer. *status* is that of the server, None when it gave none."""

    def __init__(self, message: str, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after
        """Seconds to wait before the next try, as the server asked."""


class TryAgain(FetchFailed):
    """A failure that may be over in a moment."""


def take(
    response: httpx.Response, accepted: frozenset[int], max_bytes: int, deadline: float, now: datetime
) -> Response:
    """The answer with its body; raises FetchFailed, with TryAgain where another try may help."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    if response.status_code == httpx.codes.NOT_MODIFIED:
        return Response(response.status_code, headers=headers)
    if response.status_code not in accepted:
        raise _refusal(response.status_code, headers.get("retry-after", ""), now)
    return Response(response.status_code, b"".join(_bounded(response, max_bytes, deadline)), headers)


def _refusal(code: int, asked: str, now: datetime) -> FetchFailed:
    if code == httpx.codes.TOO_MANY_REQUESTS or code >= httpx.codes.INTERNAL_SERVER_ERROR:
        message = f"cannot fetch: the server answers {code}; it may be over later"
        return TryAgain(message, code, retry_after(asked, now))
    why = _PERMANENT.get(code, "this is no answer to use; check the address")
    return FetchFailed(f"cannot fetch: the server answers {code}, {why}", code)


def retry_after(asked: str, now: datetime) -> float | None:
    """The seconds a Retry-After field stands for (RFC 9110, section 10.2.3), at most a week."""
    if asked.isascii() and asked.isdigit():
        return min(float(asked[:9]), _LONGEST_WAIT)
    try:
        until = parsedate_to_datetime(asked)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    aware = until if until.tzinfo else until.replace(tzinfo=UTC)
    return min(max((aware - now).total_seconds(), 0.0), _LONGEST_WAIT)


def _bounded(response: httpx.Response, max_bytes: int, deadline: float) -> Iterator[bytes]:
    """The decoded body in pieces, as long as size and time allow."""
    unpack = _unpacker(response.headers.get("content-encoding", "identity").strip().lower())
    size = 0
    for raw in response.iter_raw(_CHUNK):
        piece = unpack(raw, max_bytes + 1 - size)
        size += len(piece)
        if size > max_bytes:
            raise FetchFailed(f"cannot fetch: the answer is over {max_bytes >> 20} MiB; ask for less, or split it")
        if monotonic() > deadline:
            raise FetchFailed("cannot fetch: the server is too slow; see whether it is down")
        yield piece


def _unpacker(encoding: str) -> Callable[[bytes, int], bytes]:
    if encoding in ("", "identity"):
        return lambda raw, _most: raw
    if encoding not in ("gzip", "x-gzip", "deflate"):
        raise FetchFailed("cannot fetch: the answer is packed in a way nobody asked for; check the address")
    inflate = zlib.decompressobj(wbits=47)

    def unpack(raw: bytes, most: int) -> bytes:
        try:
            return inflate.decompress(raw, most)
        except zlib.error:
            raise FetchFailed("cannot fetch: the answer is packed wrongly; it may be over later") from None

    return unpack
