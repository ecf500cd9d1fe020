"""Codex 0.171 as it was measured: failures are free text, the answer is also in a file."""

from __future__ import annotations

import sys

from tests.agents.stage import JUNK, REPLY, WAIT, flood, hang, option_parser, say, started, words, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from tests.agents.fakes import ProgramFake
    from tests.conftest import Place


def fake(place: Place) -> AbstractContextManager[ProgramFake]:
    from tests.agents.fakes import program

    return program(place, "codex", "prices = [1.25, 10.0]")


def main() -> None:
    how, argv = words()
    parser = option_parser(
        *("--json", "--ephemeral", "--ignore-user-config", "--ignore-rules", "--skip-git-repo-check"),
        disable={"action": "append", "default": []},
    )
    parser.add_argument("verb", choices=["exec"])
    parser.add_argument("-s", choices=["read-only", "workspace-write"])
    parser.add_argument("-c", action="append", default=[])
    for name in ("-C", "-m", "-o"):
        parser.add_argument(name)
    parser.add_argument("prompt", choices=["-"])
    options = parser.parse_args(argv)
    started(sys.stdin.buffer.read())
    say({"type": "thread.started", "thread_id": "thread-1"}, {"type": "turn.started"})
    match how:
        case "hang":
            hang()
        case "junk":
            write(JUNK)
        case "refuse":
            say({"type": "error", "message": "broken"}, {"type": "turn.failed", "error": {"message": "broken"}})
            sys.exit(1)
        case "limit":
            said = f"exceeded retry limit: Rate limit reached for gpt-5. Please try again in {WAIT}.0s."
            say(
                {"type": "error", "message": "Reconnecting... 1/5"}, {"type": "turn.failed", "error": {"message": said}}
            )
            sys.exit(1)
        case _:
            text = "" if how == "empty" else REPLY
            if how == "flood":
                flood()
            say({"type": "error", "message": "Reconnecting... 1/5"})
            say({"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": text}})
            usage = {"input_tokens": 1234, "cached_input_tokens": 1000, "output_tokens": 56}
            say({"type": "turn.completed", "usage": usage})
            with open(options.o, "w", encoding="utf-8") as file:
                file.write(text)


if __name__ == "__main__":
    main()
