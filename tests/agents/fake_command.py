"""A program of the owner's."""

from __future__ import annotations

import sys

from tests.agents.stage import JUNK, REPLY, WAIT, flood, hang, started, words, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from tests.agents.fakes import Fake
    from tests.conftest import Place


def fake(place: Place) -> AbstractContextManager[Fake]:
    from tests.agents.fakes import program

    return program(place, "command", 'command = ["command"]')


def main() -> None:
    how, _ = words()
    started(sys.stdin.buffer.read())
    match how:
        case "hang":
            hang()
        case "refuse":
            sys.exit("broken")
        case "limit":
            print(f"busy\nRetry-After: {WAIT}", file=sys.stderr)
            sys.exit(75)
        case "junk":
            write(JUNK)
        case "flood":
            print(REPLY, end="")
            flood()
        case "accept":
            print(REPLY)


if __name__ == "__main__":
    main()
