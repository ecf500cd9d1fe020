"""What ties the daemon to whoever started it: signals, the supervisor, and the file for its last words."""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from heartbeat.cli.shell import Shell
from heartbeat.clock import utc_now
from heartbeat.deadman import DeadMan
from heartbeat.life import Life
from heartbeat.log import warn
from heartbeat.marker import read_intent
from heartbeat.notify import Notifier
from heartbeat.signals import Heard, Signals
from heartbeat.ties import Ties

_LAST_WORDS = 2000


@contextmanager
def tie(call: Shell, life: Life, signals: Signals) -> Iterator[Ties]:
    """Everything that a daemon is tied by."""

    def stopping(heard: Heard) -> None:
        now = utc_now().timestamp()
        # Read, and left: the next start takes it, and is told by it that it was asked for.
        word, by = read_intent(call.home.intent_file, now)
        asked = f"{by}; " if by and word in ("stop", "restart") else ""
        life.end(now, "stopped", f"{asked}{heard}", heard.sender)

    why = f"{life.why} by {life.by}" if life.by else life.why
    is_unwatched = call.environ.get("HEARTBEAT_SUPERVISOR") == "launchd"
    if is_unwatched:
        _take_last_words(call)
    try:
        dump = open(call.home.crash_file, "w", encoding="utf-8", opener=_private)  # noqa: SIM115 - open until the end
    except OSError as error:
        # Without it a crash is told less well; that is no reason not to run.
        warn("no_crash_file", error=error)
        yield Ties(signals.listen, stopping, Notifier(call.environ), why, life.flapping)
        return
    with dump:
        faulthandler.enable(dump)
        try:
            dead_man = DeadMan(dump) if is_unwatched else None
            yield Ties(signals.listen, stopping, Notifier(call.environ), why, life.flapping, dead_man)
        finally:
            faulthandler.disable()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK, 0o600)  # a pipe in its place must not block


def _take_last_words(call: Shell) -> None:
    """Into the log with what the last life wrote to launchd's own file, which launchd never empties."""
    file = call.home.state / "launchd.err"
    with suppress(OSError):
        words = file.read_bytes()[-_LAST_WORDS:].decode(errors="replace").strip()
        if words:
            warn("last_words", text=words)
        with file.open("r+b") as opened:
            opened.truncate(0)
