"""Hermes 0.19 as it was measured: exit status 0 with an error for an answer; only its usage file tells."""

from __future__ import annotations

import json
import re
import sys

from tests.agents.stage import JUNK, REPLY, WAIT, flood, hang, option_parser, started, words, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Any

    from tests.agents.fakes import ProgramFake
    from tests.conftest import Place


def fake(place: Place) -> AbstractContextManager[ProgramFake]:
    from tests.agents.fakes import program

    return program(place, "hermes", longest=128 * 1024 - 1)


def main() -> None:
    how, argv = words()
    parser = option_parser("--ignore-rules", usage_file={})
    parser.add_argument("-z", required=True)
    parser.add_argument("-t")
    parser.add_argument("-m")
    options = parser.parse_args(argv)
    prompt = options.z.encode()
    if found := re.search(r"Read the whole file (\S+)", options.z):
        with open(found[1], "rb") as file:
            prompt = file.read()
    started(prompt)
    match how:
        case "hang":
            hang()
        case "junk":
            write(JUNK)
            keep(options.usage_file, JUNK)
        case "refuse":
            print("API call failed after 3 retries: broken")
            keep(options.usage_file, report(failed=True, completed=False))
        case "limit":
            print(f"API call failed after 3 retries: Error code: 429 - {{'error': {{'retry_after': {WAIT}}}}}")
            keep(options.usage_file, report(failed=True, completed=False))
        case "killed":
            print("half an ans")
        case _:
            if how == "flood":
                print(REPLY, end="")
                flood()
            print("" if how == "empty" else REPLY, end="")
            keep(options.usage_file, report())
    sys.exit(0)


def keep(file: str, content: bytes) -> None:
    with open(file, "wb") as opened:
        opened.write(content)


def report(**more: Any) -> bytes:
    said = {"session_id": "hermes-1", "model": "m", "input_tokens": 234, "cache_read_tokens": 1000}
    numbers = {"output_tokens": 56, "estimated_cost_usd": 0.0123, "failed": False, "completed": True}
    return json.dumps({**said, **numbers, **more}).encode()


if __name__ == "__main__":
    main()
