"""What a double of an agent does while it runs: standard library only, since it starts for every test."""

from __future__ import annotations

import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence
    from typing import Any, NoReturn

REPLY = " the reply \n"
WAIT = 7
"""The seconds it asks for when it is to be left alone."""
JUNK = (
    b"\xff\xfe\x00 a log line\n{\n"
    b'{"type": "result", "is_error": false\n'
    + b'{"a":' * 5000
    + b'\n{"n": '
    + b"9" * 5000
    + b"}\n[]\nnull\n"
    + b'{"type": "result", "is_error": "no", "result": ["x"], "usage": 7, "session_id": {}, "api_error_status": true}\n'
    b'{"type": "turn.completed", "usage": [1]}\n{"type": {}, "item": 3, "ok": "yes", "error": "x", "final": null}\n'
)


def started(prompt: bytes) -> None:
    """Keep what came, for the test."""
    cwd, wake_id = os.getcwd(), os.environ["HEARTBEAT_WAKE_ID"]
    kept = {"heard": prompt, "argv": json.dumps(sys.argv[2:]).encode(), "cwd": cwd.encode(), "id": wake_id.encode()}
    for name, content in {**kept, "started": b""}.items():
        with open(f"{os.environ['HEARTBEAT_HOME']}/{name}", "wb") as file:
            file.write(content)


def option_parser(*flags: str, **options: Any) -> ArgumentParser:
    """Knows these flags without and options with a value; any other ends it, as the real one does."""
    import argparse

    parser = argparse.ArgumentParser(allow_abbrev=False)
    for flag in flags:
        parser.add_argument(flag, action="store_true")
    for name, settings in options.items():
        parser.add_argument("--" + name.replace("_", "-"), **settings)
    return parser


def say(*events: Any) -> None:
    """One JSON value a line."""
    for event in events:
        print(json.dumps(event), flush=True)


def write(raw: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(raw)
    sys.stdout.buffer.flush()


def flood() -> None:
    """20 MB on one line."""
    write(b'{"type": "noise", "text": "')
    for _ in range(20):
        write(b"x" * 1_000_000)
    write(b'"}\n')


def hang() -> NoReturn:
    """As an agent whose tool runs in a session of its own."""
    if os.fork() == 0:
        os.setsid()
        os.execvp("sleep", ["sleep", "600"])
    while True:
        time.sleep(600)


def words() -> tuple[str, Sequence[str]]:
    """The behaviour, and the arguments that heartbeat gave."""
    return sys.argv[1], sys.argv[2:]
