"""Asks the sources of one job whether they can be read, in a process of its own: in the environment of the script.

Started by its path. The question is JSON on standard input: the script, the seconds, the folder of what the script
remembers, which is only read. The answer is a list of `[name, kind, fault]` on standard output, the fault empty for a
source that can be read. Nothing of what the sources hold is told.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

from heartbeat import tick
from heartbeat.sources import SourceFailed
from heartbeat.sources.entries import Entry, read_entries

_AHEAD = timedelta(days=1)
_LATE = "cannot read it: no whole answer in {seconds:g} s; see whether its server or its disk is slow"

Check = Callable[[Entry], str]


def main() -> None:
    question = json.load(sys.stdin)
    now, seconds = datetime.now(UTC), float(question["seconds"])
    make = {"calendar_lookahead": _calendars, "vip_mail": _mails, "artist_scan": _shows}[question["script"]]
    entries, check = make(tick.options(), now, seconds, question["cache"])
    found = {entry.name: [entry.name, entry.kind, _LATE.format(seconds=seconds)] for entry in entries}

    def work(entry: Entry) -> None:
        found[entry.name][2] = entry.fault or _outcome(check, entry)

    threads = [threading.Thread(target=work, args=(entry,), daemon=True) for entry in entries]
    for thread in threads:
        thread.start()
    deadline = monotonic() + seconds + 0.3  # a source that keeps its limit itself says better what was slow
    for thread in threads:
        thread.join(max(0.0, deadline - monotonic()))
    sys.stdout.write(json.dumps([list(each) for each in found.values()]))
    sys.stdout.flush()
    os._exit(0)  # what still hangs would keep a pipe open


def _outcome(check: Check, entry: Entry) -> str:
    try:
        return check(entry)
    except SourceFailed as failed:
        return str(failed)
    except TimeoutError:
        return "cannot read it: no whole answer in time; see whether its server or its disk is slow"
    except Exception as error:  # noqa: BLE001 - its text may hold a secret
        return f"cannot read it: {type(error).__name__}; please report this"


def _calendars(options: dict[str, Any], now: datetime, seconds: float, _cache: str) -> tuple[list[Entry], Check]:
    from heartbeat.sources.calendars import find_kinds
    from heartbeat.sources.calendars.asking import Asking

    kinds = find_kinds()
    own = ("all_day", "tentative", "free", "declined", "min_attendees", "description")
    settings = {name: (*kind.SETTINGS, *own) for name, kind in kinds.items()}
    entries = read_entries(options.get("sources", []), settings, [name for name in kinds if kinds[name].IS_PATH])
    ask = Asking(now, now, now + _AHEAD, tick.zone(), tick.owner_emails(), deadline=monotonic() + seconds)

    def check(entry: Entry) -> str:
        return "; ".join(getattr(kinds[entry.kind].read(entry, ask), "faults", ()))

    return entries, check


def _mails(options: dict[str, Any], now: datetime, seconds: float, cache: str) -> tuple[list[Entry], Check]:
    from heartbeat.sources.mail.ask import Ask
    from heartbeat.sources.mail.read import KINDS, PATHS

    entries = read_entries(options.get("sources", []), KINDS, PATHS)
    ask = Ask(now, now, monotonic() + seconds)

    def check(entry: Entry) -> str:
        if entry.kind == "imap":
            _spare(entry, now, cache)
        return str(importlib.import_module(f"heartbeat.sources.mail.{entry.kind}").read(entry, ask).fault)

    return entries, check


def _spare(entry: Entry, now: datetime, cache: str) -> None:
    """Raise SourceFailed where the script waits after a refused login: another try might lock the account."""
    from heartbeat.sources.mail.imap_login import account_of
    from heartbeat.sources.mail.refusals import Refusals

    account = account_of(entry)
    mark = ("imap", account.host, str(account.port), account.user)
    until = Refusals(cache, mark, account.password or account.token).waits_until(now)
    if until is not None:
        raise SourceFailed(
            f"cannot log in to {account.host}: user or password was refused; mend them, others are tried at once"
        )


def _shows(options: dict[str, Any], now: datetime, seconds: float, _cache: str) -> tuple[list[Entry], Check]:
    from heartbeat.sources.fetch import Fetcher
    from heartbeat.sources.shows.artists import read_followed
    from heartbeat.sources.shows.ground import Ground
    from heartbeat.sources.shows.scan import entries_of, find_kinds, provider_of
    from heartbeat.sources.shows.show import Outcome

    kinds = find_kinds()
    entries = entries_of(options.get("sources", []), kinds)
    followed = read_followed(options.get("artists", []), options.get("artists_from", []))
    contact = next(iter(tick.owner_emails()), "")

    def check(entry: Entry) -> str:
        ground = Ground(now, tick.zone(), None, monotonic() + seconds, Fetcher(now), contact)
        provider = provider_of(entry, kinds, ground)
        if not followed.artists:
            return "; ".join(followed.faults) or "nobody is asked for: no artist is followed; add them to artists"
        scan = provider.scan(followed.artists[0])
        return scan.message if scan.outcome is Outcome.FAILED else ""

    return entries, check


if __name__ == "__main__":
    main()
