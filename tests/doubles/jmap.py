"""A JMAP server with one account: session, mailboxes and mails as a test says (RFC 8620, RFC 8621)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CORE, MAIL = "urn:ietf:params:jmap:core", "urn:ietf:params:jmap:mail"
TOKEN = "canary-jmap-token"


@dataclass
class Jmap:
    """What the server holds; `raw` instead answers every call of the API, `moved` is where the session really is."""

    port: int = 0
    mailboxes: list[dict[str, Any]] = field(
        default_factory=lambda: [{"id": "m1", "name": "Inbox", "parentId": None, "role": "inbox"}]
    )
    mails: list[dict[str, Any]] = field(default_factory=list)
    page: int = 500
    raw: bytes | None = None
    session: dict[str, Any] = field(default_factory=dict)
    calls: list[list[Any]] = field(default_factory=list)
    authorized: list[str] = field(default_factory=list)
    token: str = f"Bearer {TOKEN}"

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer(self, name: str, given: Mapping[str, Any], before: Mapping[str, Any]) -> Mapping[str, Any]:
        if name == "Mailbox/get":
            return {"list": self.mailboxes}
        if name == "Email/query":
            asked = given["filter"]
            found = [
                mail["id"]
                for mail in self.mails
                if mail["mailbox"] == asked["inMailbox"]
                and asked["notKeyword"] not in mail.get("keywords", ())
                and mail["receivedAt"] >= asked["after"]
            ]
            return {"ids": found[given["position"] :][: min(given["limit"], self.page)], "position": given["position"]}
        ids = before[given["#ids"]["resultOf"]]["ids"]
        return {"list": [self._shown(mail, given["properties"]) for mail in self.mails if mail["id"] in ids]}

    @staticmethod
    def _shown(mail: Mapping[str, Any], properties: list[str]) -> dict[str, Any]:
        shown: dict[str, Any] = {"id": mail["id"]}
        for name in properties:
            if name.startswith("header:"):
                wanted = name.split(":")[1].lower()
                shown[name] = [value for field_name, value in mail["headers"] if field_name.lower() == wanted]
            else:
                shown[name] = mail[name]
        return shown


class _Handler(BaseHTTPRequestHandler):
    held: Jmap

    def do_GET(self) -> None:
        if self.path == "/.well-known/jmap":
            self._say(302, b"", {"Location": "/session"})
        elif self._may_enter():
            session = {
                "apiUrl": "/api",
                "capabilities": {CORE: {"maxObjectsInGet": self.held.page}, MAIL: {}},
                "primaryAccounts": {MAIL: "a1"},
                **self.held.session,
            }
            self._say(200, json.dumps(session).encode())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self._may_enter():
            self._say(200, self.held.raw if self.held.raw is not None else self._answers(json.loads(body)))

    def _answers(self, asked: Mapping[str, Any]) -> bytes:
        results: dict[str, Any] = {}
        responses = []
        for name, given, place in asked["methodCalls"]:
            self.held.calls.append([name, given])
            results[place] = self.held.answer(name, given, results)
            responses.append([name, results[place], place])
        return json.dumps({"methodResponses": responses, "sessionState": "s"}).encode()

    def _may_enter(self) -> bool:
        shown = self.headers.get("Authorization", "")
        self.held.authorized.append(shown)
        if shown != self.held.token:
            self._say(401, b"")
        return shown == self.held.token

    def _say(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@contextmanager
def jmap_double() -> Iterator[Jmap]:
    held = Jmap()
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"held": held})) as server:
        held.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield held
        server.shutdown()
        thread.join()
