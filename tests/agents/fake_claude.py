"""Claude Code 2.1 as it was measured: API errors keep the subtype `success`, SIGINT ends with 0 and no output."""

from __future__ import annotations

import os
import sys
import time

from tests.agents.stage import JUNK, REPLY, WAIT, flood, hang, option_parser, say, started, words, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Any

    from tests.agents.fakes import ProgramFake
    from tests.conftest import Place


def fake(place: Place) -> AbstractContextManager[ProgramFake]:
    from tests.agents.fakes import program

    return program(place, "claude")


def main() -> None:
    how, argv = words()
    parser = option_parser(
        *("-p", "--verbose", "--restricted", "--strict-mcp-config"),
        output_format={"choices": ["json", "stream-json"], "required": True},
        tools={},
        allowedTools={},
        permission_prompts={"choices": ["none"]},
        max_turns={"type": int},
        max_budget_usd={"type": float},
        session_id={"required": True},
        model={},
    )
    options = parser.parse_args(argv)
    if options.output_format == "stream-json" and not options.verbose:
        sys.exit("Error: When using --print, --output-format=stream-json requires --verbose")
    session = options.session_id
    try:
        os.mkdir(session)
    except FileExistsError:
        sys.exit(f"Error: Session ID {session} is already in use.")
    started(sys.stdin.buffer.read())
    if how != "sigint":
        play(how, session)


def play(how: str, session: str) -> None:
    say({"type": "system", "subtype": "init", "session_id": session})
    match how:
        case "hang":
            hang()
        case "junk":
            write(JUNK)
        case "accept":
            say({"type": "assistant", "message": {"content": [{"type": "text", "text": REPLY}]}})
            write(b"a log line in between\n")
            say(result(session, result=REPLY))
        case "flood":
            flood()
            say(result(session, result=REPLY))
        case "empty":
            say(result(session, result=""))
        case "refuse":
            say(result(session, is_error=True, api_error_status=500, result="API Error: 500 broken"))
            sys.exit(1)
        case "limit":
            reached = f"Claude AI usage limit reached|{int(time.time()) + WAIT}"
            say(result(session, is_error=True, api_error_status=429, result=reached))
            sys.exit(1)


def result(session: str, **more: Any) -> dict[str, Any]:
    usage = {
        "input_tokens": 234,
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 0,
        "output_tokens": 56,
    }
    said = {"type": "result", "subtype": "success", "is_error": False, "session_id": session, "num_turns": 1}
    return {**said, "usage": usage, "total_cost_usd": 0.0123, "permission_denials": [], **more}


if __name__ == "__main__":
    main()
