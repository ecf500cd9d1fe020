"""Runs inside a box: takes commands from stdin, one JSON line each, and answers each with one JSON line."""

from __future__ import annotations

import json
import subprocess
import sys


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            done = subprocess.run(
                asked["argv"],
                input=asked["stdin"],
                capture_output=True,
                text=True,
                errors="replace",
                timeout=asked["seconds"],
                cwd="/",
                check=False,
            )
            answer = (done.returncode, done.stdout, done.stderr)
        except subprocess.TimeoutExpired as error:
            answer = (124, _text(error.stdout), f"{_text(error.stderr)}\nit took over {asked['seconds']} s")
        except OSError as error:
            answer = (127, "", str(error))
        print(json.dumps(answer), flush=True)


def _text(raw: bytes | str | None) -> str:
    return raw.decode(errors="replace") if isinstance(raw, bytes) else raw or ""


main()
