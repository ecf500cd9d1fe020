"""What every verb shares: where the installation is, how facts are printed, how errors end."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from heartbeat.clock import from_text, local, utc_now
from heartbeat.errors import HeartbeatError, Invalid, LedgerError, NotFound
from heartbeat.model import Verdict
from heartbeat.paths import Home, find_home
from heartbeat.text import one_line

if TYPE_CHECKING:
    from heartbeat.job import Config
    from heartbeat.stores.sqlite import SqliteLedger

_WIDE = 1000  # what a program reads is never cut
_INSTANT = re.compile(r"\b[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:[.][0-9]+)?Z")


@dataclass(frozen=True, slots=True)
class Shell:
    """One call of the command."""

    home: Home
    as_json: bool
    command: str = ""
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def config(self) -> Config:
        """The whole configuration, valid; raises ConfigError with every problem."""
        from heartbeat.job import load

        return load(self.home, self.environ)

    def ledger(self) -> SqliteLedger:
        """The ledger for writing, made if there is none."""
        from heartbeat.stores.sqlite import open_ledger

        return open_ledger(self.home.ledger_file)

    def ledger_to_read(self) -> SqliteLedger:
        """The ledger as it is; an empty one in memory when nothing was ever recorded."""
        from heartbeat.stores.memory import open_memory
        from heartbeat.stores.sqlite import open_existing

        try:
            return open_existing(self.home.ledger_file)
        except NotFound:
            return open_memory()

    def zone(self) -> ZoneInfo:
        """The owner's zone, also when the rest of the configuration has problems."""
        from heartbeat.config import load_settings
        from heartbeat.errors import ConfigError

        try:
            return ZoneInfo(load_settings(self.home).owner.zone)
        except ConfigError:
            return ZoneInfo("UTC")

    def here(self) -> ZoneInfo:
        """The zone where the owner is now, for what people read; also when the ledger cannot be read: then at home."""
        from heartbeat.stores.sqlite import open_existing
        from heartbeat.zones import zone_or

        home, away = self.zone(), ""
        with contextlib.suppress(NotFound, LedgerError), open_existing(self.home.ledger_file) as ledger:
            away = ledger.overrides(utc_now()).zone
        zone = zone_or(away, home)
        return zone if isinstance(zone, ZoneInfo) else home

    def show(self, data: Mapping[str, Any], text: Callable[[], str], zone: ZoneInfo | None = None) -> None:
        """Print facts: the envelope with --json, else what *text* makes of them.

        *zone* is that of the times in the text: it is named when the owner is not at home.
        """
        print(envelope(self.command, data) if self.as_json else text())
        if zone is not None and not self.as_json and zone.key != self.zone().key:
            print(f"times are in {zone.key}")


_current: list[Shell] = []


def shell(command: str = "") -> Shell:
    """The shell of this call, with the verb's name in it."""
    from dataclasses import replace

    return replace(_current[-1], command=command)


def enter(folder: str | None, *, as_json: bool) -> Shell:
    """Start a call."""
    _current.append(Shell(find_home(folder, os.environ), as_json))
    return _current[-1]


def envelope(command: str, data: Mapping[str, Any] | None, error: Mapping[str, str] | None = None) -> str:
    """The one JSON line of `--json`: exactly five fields."""
    fields = {"schema": "heartbeat/v1", "ok": error is None, "command": command, "data": data, "error": error}
    return json.dumps(fields, default=plain_value)


def guarded(action: Callable[[], int | None], command: str, *, as_json: bool) -> int:
    """Do it, and turn whatever it raises into a message and an exit status."""
    _prepare_stdout()
    try:
        return _flushed(_attempt(action, command, as_json=as_json))
    except BrokenPipeError:
        # The reader went away (`heartbeat runs | head`): nothing is wrong, and nothing more can be said.
        cut_off()
        return 0


def _prepare_stdout() -> None:
    if sys.stdout is None:  # closed by whoever started us
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until the end
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A title with letters that the terminal's encoding lacks must not end the call.
        sys.stdout.reconfigure(errors="backslashreplace")


def _attempt(action: Callable[[], int | None], command: str, *, as_json: bool) -> int:
    try:
        return action() or 0
    except KeyboardInterrupt:
        return 130
    except HeartbeatError as error:
        return fail(error.code, str(error), error.exit_code, command, as_json=as_json)
    except BrokenPipeError:
        raise
    except Exception as error:
        if os.environ.get("HEARTBEAT_DEBUG"):
            raise
        message = f"{type(error).__name__}: {error}; set HEARTBEAT_DEBUG=1 to see where"
        return fail("internal_error", message, 1, command, as_json=as_json)


def _flushed(status: int) -> int:
    """Write out what was printed, while a failure can still be told."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        cut_off()
        print(f"heartbeat: cannot write to standard output: {error.strerror}; make room there", file=sys.stderr)
        return 1
    return status


def cut_off() -> None:
    """Let what is still to be written go nowhere: Python would complain of it at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fail(code: str, message: str, status: int, command: str, *, as_json: bool) -> int:
    """Say what went wrong: as an envelope with --json, else on stderr."""
    if as_json:
        with contextlib.suppress(OSError):  # a full stdout may be what went wrong
            print(envelope(command, None, {"code": code, "message": message}), flush=True)
    else:
        from heartbeat.text import plain

        print(f"heartbeat: {plain(message)}", file=sys.stderr)
    return status


def plain_value(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"cannot write {type(value).__name__} as JSON")


def verdict_fields(verdict: Verdict | None, code: str, reason: str, hint: str) -> dict[str, Any]:
    """A verdict for programs: `reason` is the code of a fault, or what the script itself gave as its reason."""
    is_fault = verdict is not None and verdict.is_fault
    return {"verdict": verdict, "reason": code if is_fault else reason, "message": reason, "hint": hint}


def instant(text: str, option: str) -> datetime:
    """An instant given on the command line; raises Invalid."""
    try:
        return from_text(text)
    except ValueError as error:
        raise Invalid(f"{option}: {error}") from error


def when(at: datetime | None, zone: ZoneInfo) -> str:
    """An instant for people, in the owner's zone; with its offset in an hour that the clock shows twice."""
    if at is None:
        return "-"
    shown = local(at, zone)
    is_repeated = shown.replace(fold=0).utcoffset() != shown.replace(fold=1).utcoffset()
    return shown.strftime("%Y-%m-%d %H:%M:%S" + ("%z" if is_repeated else ""))


def localized(reason: str, zone: ZoneInfo) -> str:
    """A reason that heartbeat wrote, with its instants on the clock of a zone."""

    def shown(found: re.Match[str]) -> str:
        try:
            return local(from_text(found.group()), zone).isoformat(timespec="seconds")
        except ValueError:  # no date of the calendar
            return found.group()

    return _INSTANT.sub(shown, reason)


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], empty: str) -> str:
    """Aligned columns, cut to the terminal if there is one; *empty* when there is no row."""
    if not rows:
        return empty
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, header_style="")
    for header, *cells in zip(headers, *rows, strict=True):
        # Only the last column gives way to a narrow terminal: an id that is cut is of no use.
        whole = None if header == headers[-1] else max(map(len, cells))
        grid.add_column(header, no_wrap=True, overflow="ellipsis", min_width=whole)
    for row in rows:
        # As Text: brackets in a stranger's title are no markup.
        grid.add_row(*(Text(one_line(cell, 100)) for cell in row))
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDE
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(grid)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())
