"""The unread mails of every source, side by side, each bounded in time and none able to fail for another."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from time import monotonic

from heartbeat.sources import SourceFailed
from heartbeat.sources.entries import Entry
from heartbeat.sources.mail.ask import Ask
from heartbeat.sources.mail.message import Unread

SECONDS = 25.0
"""For each source; they run at the same time."""
_GRACE = 2.0
"""A source that keeps its limit itself says better what was slow."""

KINDS: Mapping[str, Collection[str]] = {
    "imap": ("user", "password", "token", "folders", "starttls", "ca_file"),
    "maildir": ("folders",),
    "notmuch": ("query",),
    "gmail": ("query", "config", "program"),
    "jmap": ("user", "password", "token", "folders", "ca_file"),
}
"""The kinds of sources with their settings; each is a module of this folder."""
PATHS = ("maildir", "notmuch")


def read_mail(
    entries: Sequence[Entry], since: datetime, now: datetime, cache: str | None, seconds: float = SECONDS
) -> Iterator[tuple[Entry, Unread]]:
    """Each source with what is unread in it and arrived since then, in their order. Raises nothing.

    May hold mails that are a little older; a mail that is in a source twice is given twice.
    """
    deadline = monotonic() + seconds
    ask = Ask(since, now, deadline, cache)
    results: dict[str, Unread] = {}

    def work(entry: Entry) -> None:
        results.setdefault(entry.name, _read(entry, ask))

    # Threads, left behind at the deadline: nothing else bounds the look-up of a name, or a disk that hangs.
    threads = [threading.Thread(target=work, args=(entry,), daemon=True) for entry in entries]
    for thread in threads:
        thread.start()
    for entry, thread in zip(entries, threads, strict=True):
        thread.join(max(0.0, deadline + _GRACE - monotonic()))
        late = Unread((), f"cannot read it: not done in {seconds:g} s; see whether its server or its disk is slow")
        yield entry, results.setdefault(entry.name, late)


def _read(entry: Entry, ask: Ask) -> Unread:
    if entry.fault:
        return Unread((), entry.fault)
    try:
        # Only what is needed: the modules of IMAP cost a tick of a Maildir more than its reading.
        unread: Unread = import_module(f"heartbeat.sources.mail.{entry.kind}").read(entry, ask)
    except SourceFailed as failed:
        return Unread((), str(failed))
    except TimeoutError:
        return Unread((), "cannot read it: no whole answer in time; see whether its server or its disk is slow")
    except Exception as error:  # noqa: BLE001  # its text may hold a secret
        return Unread((), f"cannot read it: {type(error).__name__}; please report this")
    return unread
