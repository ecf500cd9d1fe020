"""What is known of a calendar from earlier runs, in the cache folder: it may be deleted at any time.

One file a calendar, mode 0600, named by a digest: its address is a secret, and so is what is in it.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import heartbeat
from heartbeat.sources.calendars.asking import Asking
from heartbeat.sources.entries import Entry
from heartbeat.sources.rows import FORMAT, Row

_INSTANTS = ("first_at", "not_before", "refused_at", "shown_at")
_SECRETS = frozenset({"password", "token"})


@dataclass(frozen=True, slots=True)
class Copy:
    """The last reading."""

    fingerprint: str
    since: datetime
    until: datetime
    rows: list[Row]
    """By their start."""
    events: int
    """How many events the calendar held in all."""
    whole: bool
    """If not, some of the calendar could not be read, and nobody knows what."""
    warnings: tuple[str, ...]
    current_at: datetime
    """When this was last known to be what the calendar holds."""
    filled: list[Row] = field(default_factory=list)
    """What a reading that is not whole lacks, from the one before."""
    filled_at: datetime | None = None
    """When that was current."""
    moved: list[tuple[str, str, float]] = field(default_factory=list)
    """UID and slot of what was about to begin and moved away, and until when, in seconds since 1970, that is news."""
    lost: list[str] = field(default_factory=list)
    """UIDs of which this reading knows nothing, or not all."""
    files: dict[str, list[str]] = field(default_factory=dict)
    """In which files of a folder each UID was found."""
    slots: list[tuple[str, str, str]] = field(default_factory=list)
    """UID, slot, and the slot under which it was told of before its series was changed."""


@dataclass(frozen=True, slots=True)
class Memory:
    """All that is known of one calendar."""

    first_at: datetime | None = None
    """When it was first read."""
    not_before: datetime | None = None
    """Its server wants no question earlier."""
    doubts: int = 0
    """How often in a row it said that all of its many events are gone."""
    refused: str = ""
    """The fingerprint of what could not be read within the limits, and need not be tried again soon."""
    refused_at: datetime | None = None
    shown_at: datetime | None = None
    """When the copy last stood in for the calendar."""
    ahead: tuple[float, float] = (0.0, 0.0)
    """Starts that were told of before the clock was set back, in seconds since 1970."""
    copy: Copy | None = None


class Cupboard:
    """Keeps memories; without a folder it keeps nothing, and a failing disk costs no more than that.

    *ignored* are the settings on which a reading does not depend.
    """

    def __init__(self, folder: str | None, ignored: frozenset[str] = frozenset()) -> None:
        self._folder = os.path.join(folder, "calendars") if folder else None
        self._ignored = ignored | _SECRETS

    def load(self, entry: Entry, ask: Asking) -> Memory:
        """What is known of the calendar; its copy only if it answers the same question."""
        try:
            with open(self._path(entry), "rb") as file:
                current_at = datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC)
                record = _checked(file.read())
            copy = (
                _copy(record["copy"], current_at) if record["copy"] and record["question"] == _question(ask) else None
            )
            instants = {name: _instant(record[name]) for name in _INSTANTS}
            first, last = map(float, record["ahead"])
            doubts, refused = int(record["doubts"]), str(record["refused"])
            return Memory(**instants, doubts=doubts, refused=refused, ahead=(first, last), copy=copy)
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return Memory()

    def store(self, entry: Entry, ask: Asking, memory: Memory) -> bool:
        """Replace what is known as a whole; whether that was possible."""
        copy = memory.copy
        record = {
            "question": _question(ask),
            **{name: _text(getattr(memory, name)) for name in _INSTANTS},
            "doubts": memory.doubts,
            "refused": memory.refused,
            "ahead": memory.ahead,
            "copy": _record(copy) if copy else None,
        }
        try:
            path = self._path(entry)
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            new = f"{path}.{os.getpid()}-{threading.get_ident()}"  # one calendar may stand in the list twice
        except (OSError, ValueError):
            return False
        try:
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
                file.write(_sealed(record))
            _date(new, copy)
            os.replace(new, path)
        except (OSError, ValueError):
            with suppress(OSError):
                os.unlink(new)  # on a full disk half of it would take the room of the next one
            return False
        return True

    def confirm(self, entry: Entry, copy: Copy) -> None:
        """Note only that the copy is as current as it says."""
        with suppress(OSError, ValueError):
            _date(self._path(entry), copy)

    def _path(self, entry: Entry) -> str:
        if self._folder is None:
            raise FileNotFoundError
        settings = {name: value for name, value in entry.settings.items() if name not in self._ignored}
        identity = json.dumps([entry.kind, entry.place, settings], sort_keys=True, default=str)
        return os.path.join(self._folder, sha256(identity.encode("utf-8", "replace")).hexdigest()[:32])


def _question(ask: Asking) -> str:
    """What a reading depends on beside the calendar itself, so that another owner or program reads anew."""
    facts = (FORMAT, heartbeat.__version__, str(ask.home), ask.owner, ask.description)
    return sha256(repr(facts).encode("utf-8", "replace")).hexdigest()


def _sealed(record: Mapping[str, Any]) -> bytes:
    """*record* as a line below its digest, for what a failing disk left of it must not be believed."""
    text = json.dumps(record).encode()
    return sha256(text).hexdigest().encode() + b"\n" + text


def _checked(content: bytes) -> Any:
    digest, _, text = content.partition(b"\n")
    if sha256(text).hexdigest().encode() != digest:
        raise ValueError
    return json.loads(text)


def _record(copy: Copy) -> dict[str, Any]:
    return {
        "fingerprint": copy.fingerprint,
        "since": _text(copy.since),
        "until": _text(copy.until),
        "rows": copy.rows,
        "events": copy.events,
        "whole": copy.whole,
        "warnings": copy.warnings,
        "filled": copy.filled,
        "filled_at": _text(copy.filled_at),
        "moved": copy.moved,
        "lost": copy.lost,
        "files": copy.files,
        "slots": copy.slots,
    }


def _copy(record: Mapping[str, Any], current_at: datetime) -> Copy:
    since, until = datetime.fromisoformat(record["since"]), datetime.fromisoformat(record["until"])
    return Copy(
        str(record["fingerprint"]),
        since,
        until,
        list(record["rows"]),
        int(record["events"]),
        bool(record["whole"]),
        tuple(map(str, record["warnings"])),
        current_at,
        list(record["filled"]),
        _instant(record["filled_at"]),
        [(str(uid), str(slot), float(until)) for uid, slot, until in record["moved"]],
        list(map(str, record["lost"])),
        {str(uid): list(map(str, names)) for uid, names in record["files"].items()},
        [(str(uid), str(slot), str(told)) for uid, slot, told in record["slots"]],
    )


def _date(path: str, copy: Copy | None) -> None:
    if copy is not None:
        os.utime(path, (copy.current_at.timestamp(),) * 2)


def _text(instant: datetime | None) -> str:
    return instant.isoformat() if instant else ""


def _instant(text: str) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
