"""A stand-in for the servers of three LLM APIs, for tests of real agents that must not leave this machine.

Speaks, streaming and not: chat completions and responses as OpenAI has them, and messages as Anthropic has them. The
first parts of a path say how it behaves, so an agent chooses that by its base address alone:

    /ok              answers "PONG"
    /err/401         that status, with a body in the provider's own form
    /err/429/30      the same, with "Retry-After: 30"
    /hang            takes the request and never answers
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

KEY = "fake-key-0000"
TEXT = "PONG"
TOKENS_IN, TOKENS_OUT, TOKENS_CACHED = 1234, 56, 1000
_APIS = {"/chat/completions": "chat", "/responses": "responses", "/messages": "messages"}
_KINDS = {401: "authentication_error", 429: "rate_limit_error"}
_MODEL = {
    "id": "mock-model",
    "object": "model",
    "type": "model",
    "created": 0,
    "created_at": "2026-01-01T00:00:00Z",
    "display_name": "mock-model",
    "owned_by": "mock",
    "context_length": 200_000,
}


@dataclass(frozen=True)
class Asked:
    """One request for the model."""

    api: str
    scenario: str
    has_key: bool
    text: str = field(repr=False)
    """Its body."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: MockLlm

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._send(200, {})

    def do_GET(self) -> None:
        is_list = self.path.split("?")[0].rstrip("/").endswith("/models")
        self._send(200, {"object": "list", "data": [_MODEL], "has_more": False} if is_list else _MODEL)

    def do_POST(self) -> None:
        raw = self._body().decode(errors="replace")
        path = self.path.split("?")[0].rstrip("/")
        scenario, *arguments = [part for part in path.split("/") if part]
        api = next((name for ending, name in _APIS.items() if path.endswith(ending)), "")
        if not api:
            self._send(200 if path.endswith("/count_tokens") else 404, {"input_tokens": TOKENS_IN})
            return
        key = self.headers.get("x-api-key") or self.headers.get("Authorization", "").removeprefix("Bearer ")
        self.server.asked.append(Asked(api, scenario, key == KEY, raw))
        self.server.arrived.set()
        if scenario == "hang":
            self.server.over.wait()
            self.close_connection = True
        elif scenario == "err":
            self._fail(api, *[int(part) for part in arguments[:2] if part.isdigit()])
        else:
            body = json.loads(raw)
            events = {"chat": _chat, "responses": _responses, "messages": _messages}[api](body.get("stream", False))
            self._stream(events) if body.get("stream") else self._send(200, events[0])

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _fail(self, api: str, status: int, retry_after: int | None = None) -> None:
        kind = _KINDS.get(status, "api_error")
        error = {"type": kind, "message": f"mock {status} {kind}"}
        told = {"type": "error", "error": error} if api == "messages" else {"error": {**error, "code": kind}}
        self._send(status, told, {} if retry_after is None else {"Retry-After": str(retry_after)})

    def _send(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)

    def _stream(self, events: list[dict[str, Any]]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in events:
            name = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
        if "object" in events[0]:
            self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True


class MockLlm(ThreadingHTTPServer):
    """Answers on the loopback until it is over."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[Asked] = []
        self.arrived = threading.Event()
        self.over = threading.Event()

    def handle_error(self, *_: object) -> None:
        """An agent that hangs up is part of these tests."""

    def base(self, scenario: str) -> str:
        """The address under which it behaves so."""
        return f"http://127.0.0.1:{self.server_port}/{scenario}"

    @contextmanager
    def running(self) -> Iterator[Self]:
        thread = threading.Thread(target=self.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield self
        finally:
            self.over.set()
            with suppress(OSError):
                self.shutdown()
            self.server_close()
            thread.join()


def _chat(stream: bool) -> list[dict[str, Any]]:
    base = {"id": "chatcmpl-1", "created": 0, "model": "mock-model"}
    usage = {
        "prompt_tokens": TOKENS_IN,
        "completion_tokens": TOKENS_OUT,
        "total_tokens": TOKENS_IN + TOKENS_OUT,
        "prompt_tokens_details": {"cached_tokens": TOKENS_CACHED},
    }
    message = {"role": "assistant", "content": TEXT}
    if not stream:
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return [{**base, "object": "chat.completion", "choices": [choice], "usage": usage}]
    deltas: list[tuple[dict[str, str], str | None]] = [(message, None), ({}, "stop")]
    chunk = {**base, "object": "chat.completion.chunk"}
    told = [{**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": end}]} for delta, end in deltas]
    return [*told, {**chunk, "choices": [], "usage": usage}]


def _responses(stream: bool) -> list[dict[str, Any]]:
    usage = {
        "input_tokens": TOKENS_IN,
        "input_tokens_details": {"cached_tokens": TOKENS_CACHED},
        "output_tokens": TOKENS_OUT,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": TOKENS_IN + TOKENS_OUT,
    }
    part = {"type": "output_text", "text": TEXT, "annotations": []}
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    base = {"id": "resp_1", "object": "response", "created_at": 0, "model": "mock-model", "error": None}
    done = {**base, "status": "completed", "output": [item], "usage": usage}
    if not stream:
        return [done]
    begun = {**base, "status": "in_progress", "output": [], "usage": None}
    at = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    return [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {"type": "response.content_part.added", **at, "part": {**part, "text": ""}},
        {"type": "response.output_text.delta", **at, "delta": TEXT},
        {"type": "response.output_text.done", **at, "text": TEXT},
        {"type": "response.content_part.done", **at, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": done},
    ]


def _messages(stream: bool) -> list[dict[str, Any]]:
    read = {"input_tokens": TOKENS_IN - TOKENS_CACHED, "cache_read_input_tokens": TOKENS_CACHED}
    usage = {**read, "cache_creation_input_tokens": 0, "output_tokens": TOKENS_OUT}
    base = {"id": "msg_1", "type": "message", "role": "assistant", "model": "mock-model", "stop_sequence": None}
    if not stream:
        return [{**base, "content": [{"type": "text", "text": TEXT}], "stop_reason": "end_turn", "usage": usage}]
    begun: dict[str, Any] = {**base, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    return [
        {"type": "message_start", "message": begun},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": TEXT}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": TOKENS_OUT}},
        {"type": "message_stop"},
    ]
