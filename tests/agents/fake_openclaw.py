"""OpenClaw 2026.9 as it was measured: one JSON object over many lines, what its agent may do in a file of its own."""

from __future__ import annotations

import json
import sys

from tests.agents.stage import JUNK, REPLY, WAIT, flood, hang, option_parser, started, words, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Any

    from tests.agents.fakes import ProgramFake
    from tests.conftest import Place

SAFE = '{"models": {"providers": {"mock": {"apiKey": "x"}}}, "tools": {"allow": ["read"]}}'


def fake(place: Place) -> AbstractContextManager[ProgramFake]:
    from tests.agents.fakes import program

    config = place.file("oc.json", SAFE)
    return program(place, "openclaw", f'command = ["openclaw", "agent", "exec", "--config", "{config}"]')


def main() -> None:
    how, argv = words()
    parser = option_parser("--json", message_file={}, timeout={"type": int}, cwd={}, config={}, model={})
    parser.add_argument("verbs", nargs=2, choices=["agent", "exec"])
    options = parser.parse_args(argv)
    if options.message_file != "-":
        sys.exit("no message")
    started(sys.stdin.buffer.read())
    match how:
        case "hang":
            hang()
        case "junk":
            write(JUNK)
        case "refuse":
            tell(ok=False, status="error", error={"message": "broken", "kind": "provider"})
            sys.exit(1)
        case "limit":
            tell(ok=False, status="error", error={"message": f"429, retry after {WAIT} s", "kind": "rate_limit"})
            sys.exit(1)
        case _:
            if how == "flood":
                flood()
            tell(ok=True, status="ok", final="" if how == "empty" else REPLY)


def tell(**more: Any) -> None:
    usage = {"input": 234, "cacheRead": 1000, "cacheWrite": 0, "output": 56, "total": 1290}
    print("[plugins] a log line")
    print(json.dumps({**more, "sessionId": "claw-1", "usage": usage, "costUsd": 0.0123}, indent=2))


if __name__ == "__main__":
    main()
