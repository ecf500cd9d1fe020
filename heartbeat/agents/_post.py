"""One POST to whoever is woken: bounded in time and size, cut short when heartbeat stops, and never sent elsewhere.

Imports httpx; import this module only when there is something to send.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import socket
import ssl
import threading
from collections.abc import Mapping
from datetime import timedelta
from time import monotonic
from typing import Any

import httpx

import heartbeat
from heartbeat.agents._errand import Answer, Errand
from heartbeat.durations import show_duration
from heartbeat.errors import AgentError
from heartbeat.hosts import is_this_machine

MAX_BYTES = 8 * 1024 * 1024
"""Of an answer."""
_LOOK = 0.1
"""Seconds between two looks whether heartbeat is stopping."""


def post(errand: Errand, limit: timedelta, deadline: float, stop: threading.Event) -> Answer:
    """The answer to one POST, of whatever status; raises AgentError when there is none.

    *deadline* is on the monotonic clock; *limit* is the length of the whole call, for the message.
    """
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)  # they log whole addresses
    line = _Line(errand, deadline)
    # In a thread: nothing else bounds a look-up of a name, or a server that sends a byte now and then.
    threading.Thread(target=line.work, name="agent-http", daemon=True).start()
    try:
        while True:
            try:
                outcome = line.outcome.get(timeout=min(_LOOK, max(deadline - monotonic(), 0.0)))
            except queue.Empty:
                _refuse_to_wait(errand, limit, deadline, stop)
                continue
            if isinstance(outcome, Answer):
                return outcome
            # Cut off by the deadline, a read fails in its own way.
            _refuse_to_wait(errand, limit, deadline, stop)
            raise outcome
    finally:
        line.cut()


def _refuse_to_wait(errand: Errand, limit: timedelta, deadline: float, stop: threading.Event) -> None:
    if stop.is_set():
        raise AgentError("cannot wait for the agent: heartbeat was stopping", retryable=True)
    if monotonic() >= deadline:
        took = f"it took longer than {show_duration(limit)}"
        raise AgentError(
            f"cannot wake the agent at {errand.host}: {took}; see whether it is slow or down", retryable=True
        )


class _Line:
    """The connection of one errand, which another thread may cut at any point."""

    def __init__(self, errand: Errand, deadline: float) -> None:
        self.outcome: queue.SimpleQueue[Answer | AgentError] = queue.SimpleQueue()
        self._errand = errand
        self._deadline = deadline
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_cut = False

    def work(self) -> None:
        host = self._errand.host
        try:
            self.outcome.put(self._ask())
        except AgentError as error:
            self.outcome.put(error)
        except Exception as error:  # noqa: BLE001 - its text may hold the address, so only its kind is told
            why = "its certificate is not trusted" if "CERTIFICATE_VERIFY" in str(error) else type(error).__name__
            message = f"cannot wake the agent at {host}: {why}; see whether it and the network are up"
            self.outcome.put(AgentError(message, retryable=True))

    def cut(self) -> None:
        """End whatever it waits for, and let nothing more be sent."""
        with self._lock:
            self._is_cut = True
            if self._socket is not None:
                # Not a close, which a read going on would not notice; not TLS's own, which the reader still uses.
                with contextlib.suppress(OSError):  # closed already
                    socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def _ask(self) -> Answer:
        url = httpx.URL(self._errand.url)
        local = is_this_machine(url.host)
        # Without TLS nobody needs to be trusted, and to load the authorities takes time.
        trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if url.scheme == "http" else True
        # What is for this machine must not pass a proxy elsewhere.
        with httpx.Client(verify=trust, trust_env=not local, follow_redirects=False) as client:
            headers = {
                "Content-Type": "application/json",
                "Accept": "application/json",
                "Accept-Encoding": "identity",  # packed answers can be bombs
                "User-Agent": f"heartbeat/{heartbeat.__version__}",
                **self._errand.headers,
            }
            request = client.build_request(
                "POST",
                url,
                content=self._errand.body,
                headers=headers,
                # A little longer, so that the deadline itself is what ends it.
                timeout=max(self._deadline - monotonic(), 0.0) + 1.0,
                extensions={"trace": self._watch},
            )
            response = client.send(request, stream=True)
            try:
                named = {name.lower(): value for name, value in response.headers.items()}
                return Answer(response.status_code, named, self._body(response))
            finally:
                response.close()

    def _watch(self, event: str, info: Mapping[str, Any]) -> None:
        """Called by httpx at each of its steps."""
        with self._lock:
            if event.endswith(("connect_tcp.complete", "start_tls.complete")):
                self._socket = info["return_value"].get_extra_info("socket")
            # A name that was found at last must not lead to a wake that nobody waits for any more.
            if self._is_cut and event.endswith(".started"):
                raise ConnectionAbortedError

    def _body(self, response: httpx.Response) -> bytes:
        host = self._errand.host
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            message = f"cannot use the answer of {host}: it came packed, which nobody asked for; correct it"
            raise AgentError(message, retryable=True)
        body = bytearray()
        for piece in response.iter_raw():
            body += piece
            if len(body) > MAX_BYTES:
                message = f"cannot use the answer of {host}: it is over {MAX_BYTES >> 20} MiB; let it say less"
                raise AgentError(message, retryable=True)
        return bytes(body)
