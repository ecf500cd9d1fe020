"""For tick scripts in Python: what heartbeat tells a script, and the gate it expects back.

    from heartbeat import tick

    def main() -> None:
        free = ...
        tick.finish([{"key": "disk", "title": f"{free} GB left"}] if free < 5 else [])

    if __name__ == "__main__":
        tick.run(main)

Standard library only, and little of it: a script that runs each minute pays for every import.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, tzinfo
from typing import Any, NoReturn

from heartbeat import clock

_HEADER = re.compile(r"(?m)^# /// script[ \t]*\n(?P<lines>(?:#(?: .*)?\n)+?)# ///[ \t]*$")


def now() -> datetime:
    """The instant to take as now, in UTC; the clock's when the script is run by hand."""
    text = os.environ.get("HEARTBEAT_NOW")
    if not text:
        return clock.utc_now()
    try:
        return clock.from_text(text)
    except ValueError:
        raise _invalid(f"cannot read HEARTBEAT_NOW {text!r}; write it like 2026-06-10T08:00:00Z") from None


def zone() -> tzinfo:
    """The owner's time zone, else the host's."""
    from zoneinfo import ZoneInfo  # imported here: few scripts ask

    name = os.environ.get("HEARTBEAT_ZONE") or _host_zone()
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, LookupError):
        raise _invalid(f"cannot use HEARTBEAT_ZONE {name!r}; write an IANA name such as Europe/Berlin") from None


def owner_emails() -> tuple[str, ...]:
    """The owner's mail addresses, in lower case."""
    return tuple(word.lower() for word in re.split(r"[\s,]+", os.environ.get("HEARTBEAT_OWNER_EMAILS", "")) if word)


def options(script: str | None = None) -> dict[str, Any]:
    """The job's options; those not given come from the header of the file *script*."""
    text = os.environ.get("HEARTBEAT_OPTIONS") or "{}"
    try:
        given = json.loads(text)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        # The value is not quoted: options may hold a secret.
        raise _invalid("cannot read HEARTBEAT_OPTIONS: it must be one JSON object")
    return {**(_header_options(script) if script else {}), **given}


def cache_dir() -> str | None:
    """The folder for what may be deleted at any time; None when the script is run by hand."""
    return os.environ.get("HEARTBEAT_CACHE_DIR") or None


def finish(
    findings: Iterable[Mapping[str, Any]] = (),
    *,
    sources: Iterable[Mapping[str, Any]] = (),
    scopes: Iterable[str] = (),
    reason: str = "",
    wake: bool | None = None,
    data: Any = None,
) -> None:
    """Print the gate, which must be the last thing the script prints.

    It asks for the agent if there is a finding, unless *wake* says otherwise. Instants in *findings* may be aware
    datetimes.
    """
    found = list(findings)
    gate: dict[str, Any] = {"wakeAgent": bool(found) if wake is None else wake}
    told = {"reason": reason, "findings": found, "sources": list(sources), "scopes": list(scopes), "data": data}
    gate |= {name: value for name, value in told.items() if value not in ("", [], None)}
    if token := os.environ.get("HEARTBEAT_TOKEN"):
        gate["token"] = token
    sys.stdout.write(_one_ascii_line(gate) + "\n")
    sys.stdout.flush()


def run(main: Callable[[], None]) -> NoReturn:
    """Run *main* and exit: with 0, or with 1 and one line on stderr.

    An unexpected error is told by its type and place only: its text may hold what a stranger wrote, or a secret.
    """
    try:
        main()
    except Exception as error:  # noqa: BLE001  # a traceback would print the data it stumbled over
        from heartbeat.errors import HeartbeatError  # imported here: it brings dataclasses

        text = str(error) if isinstance(error, HeartbeatError) else _place(error)
        sys.stderr.write(" ".join(text.split()) + "\n")
        sys.exit(1)
    sys.exit(0)


def _one_ascii_line(gate: dict[str, Any]) -> str:
    line = json.dumps(gate, allow_nan=False, default=_instant)
    if "\\ud" in line:
        # A lone surrogate, such as a file name can hold, would make the gate invalid.
        whole = json.dumps(gate, ensure_ascii=False, default=_instant).encode("utf-8", "replace")
        line = json.dumps(json.loads(whole))
    return line


def _instant(value: object) -> str:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.isoformat().replace("+00:00", "Z")
    raise _invalid(f"cannot print a {type(value).__name__} in the gate; use JSON values and aware datetimes")


def _place(error: Exception) -> str:
    """Where it went wrong: the line of the script, and the line it led to. Without the message, which may hold data."""
    trace, places = error.__traceback__, []
    while trace is not None:
        places.append((os.path.basename(trace.tb_frame.f_code.co_filename), trace.tb_lineno))
        trace = trace.tb_next
    own = [place for place in places if place[0] == os.path.basename(sys.argv[0])][-1:]
    trail = ", ".join(f"{file} line {line}" for file, line in dict.fromkeys([*own, *places[-1:]]))
    return f"cannot finish: {type(error).__name__} in {trail}"


def _host_zone() -> str:
    name = os.environ.get("TZ", "").lstrip(":") or os.path.realpath("/etc/localtime").partition("/zoneinfo/")[2]
    return name or "UTC"


def _header_options(script: str) -> dict[str, Any]:
    import tomllib  # imported here: only scripts with options need it

    with open(script, encoding="utf-8") as file:
        header = _HEADER.search(file.read())
    if header is None:
        return {}
    table = tomllib.loads("".join(line[2:] or "\n" for line in header["lines"].splitlines(keepends=True)))
    defaults = table.get("tool", {}).get("heartbeat", {}).get("options", {})
    return dict(defaults)


def _invalid(message: str) -> Exception:
    from heartbeat.errors import Invalid  # imported here: it brings dataclasses

    return Invalid(message)
