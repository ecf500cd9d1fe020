"""The connections that requests share, and how they show who asks."""

from __future__ import annotations

import ssl
import threading

import heartbeat
from heartbeat.sources import SourceFailed
from heartbeat.sources.light import httpx


class Clients:
    """A client a scheme, made when it is first needed: to load the authorities costs more than an answer of 304."""

    def __init__(self, ca_file: str) -> None:
        self._trust = _trust(ca_file) if ca_file else None
        self._made: dict[str, httpx.Client] = {}
        self._lock = threading.Lock()

    def of(self, scheme: str) -> httpx.Client:
        with self._lock:
            if scheme not in self._made:
                # Without TLS nobody needs to be trusted.
                trust = (self._trust or True) if scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                self._made[scheme] = httpx.Client(headers=_headers(), verify=trust)
            return self._made[scheme]

    def close(self) -> None:
        with self._lock:
            for client in self._made.values():
                client.close()


def send(client: httpx.Client, call: httpx.Request, credentials: tuple[str, str] | None) -> httpx.Response:
    """Basic first, for nearly all want it; Digest where the server asks for it."""
    response = client.send(call, stream=True, auth=credentials or httpx.USE_CLIENT_DEFAULT)
    if credentials is None or response.status_code != httpx.codes.UNAUTHORIZED:
        return response
    flow = httpx.DigestAuth(*credentials).auth_flow(call)
    next(flow)
    try:
        answer = flow.send(response)
    except StopIteration:  # no such challenge
        return response
    response.close()
    return client.send(answer, stream=True, auth=None)


def _headers() -> dict[str, str]:
    # Packed answers can be bombs, so none is asked for.
    return {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": f"heartbeat/{heartbeat.__version__}"}


def _trust(ca_file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ValueError):
        raise SourceFailed("cannot use ca_file: it holds no certificates; name a PEM file that can be read") from None
