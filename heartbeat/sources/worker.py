"""The process that reads iCalendar bytes: they come from strangers, so it may be ended at any time, at no loss.

On stdin one line of JSON that says what is asked, then the bytes; on stdout the answer as JSON. See `expand_apart`,
which starts it. Whatever becomes of that caller, this process ends: with it, or by its own alarm.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import threading
from contextlib import suppress
from datetime import datetime
from typing import Any, BinaryIO
from zoneinfo import ZoneInfo

from heartbeat.sources.expansion import Span, expand
from heartbeat.sources.limit import TOO_LARGE
from heartbeat.sources.rows import to_row

_SHARE = 2 / 3
"""Of its time, after which no series is begun: when the time is over, all that was found is lost."""


def main() -> None:
    """Answer one question, and end."""
    question = json.loads(sys.stdin.buffer.readline())
    _bound(question["seconds"], question["memory"])
    try:
        contents = [_read(sys.stdin.buffer, size) for size in question["sizes"]]
        # The caller holds the pipe open for as long as it wants the answer.
        threading.Thread(target=_follow_the_caller, daemon=True).start()
        answer = json.dumps(_answer(contents, question))
    except MemoryError:
        os._exit(TOO_LARGE)
    sys.stdout.write(answer)
    sys.stdout.flush()
    os._exit(0)  # what is left to tidy is not worth the time


def _bound(seconds: int, memory: int) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(seconds)  # ends the process even inside of a library that never returns
    for limit in (resource.RLIMIT_AS, resource.RLIMIT_CORE):
        with suppress(ValueError, OSError):  # macOS has no limit on addresses
            resource.setrlimit(limit, (memory, memory) if limit == resource.RLIMIT_AS else (0, 0))


def _read(stream: BinaryIO, size: int) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        os._exit(1)  # the caller has ended
    return content


def _follow_the_caller() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


def _answer(contents: list[bytes], question: dict[str, Any]) -> dict[str, Any]:
    since, until = (datetime.fromisoformat(question[name]) for name in ("since", "until"))
    span = Span(
        since,
        until,
        ZoneInfo(question["home"]),
        tuple(question["owner"]),
        question["description"],
        frozenset(question["also"]),
    )
    found = expand(contents, span, question["seconds"] * _SHARE)
    return {
        "rows": [to_row(occurrence) for occurrence in found.occurrences],
        "events": found.events,
        "until": found.until.isoformat(),
        "whole": found.whole,
        "warnings": found.warnings,
        "cut": found.cut,
        "lost": found.lost,
        # Of one content nobody needs to be told.
        "places": found.places if len(contents) > 1 else {},
    }


if __name__ == "__main__":
    main()
