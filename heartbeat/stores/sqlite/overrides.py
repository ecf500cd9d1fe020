"""What the owner said for the time being, beside the configuration: quiet, loud, or another zone."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from heartbeat.clock import from_text, to_text
from heartbeat.errors import Invalid
from heartbeat.model import Overrides
from heartbeat.ports import TRUSTED
from heartbeat.stores.sqlite.rows import instant, reader, text, when

_OTHER = {"quiet": "loud", "loud": "quiet"}
_NAMES = ("quiet", "loud", "zone")
_ENTER = """
    INSERT INTO overrides (name, value, until, set_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value, until = excluded.until, set_at = excluded.set_at"""


def read(db: sqlite3.Connection, now: datetime) -> Overrides:
    """What still holds."""
    rows = db.execute("SELECT * FROM overrides WHERE until IS NULL OR until > ?", (to_text(now),))
    found = {name: (value, until) for name, value, until, set_at in map(_read, rows) if _counts(name, set_at, now)}
    return Overrides(
        quiet_until=found["quiet"][1] if "quiet" in found else None,
        loud_until=found["loud"][1] if "loud" in found else None,
        zone=found["zone"][0] if "zone" in found else "",
    )


def enter(db: sqlite3.Connection, name: str, value: str, until: datetime | None, now: datetime) -> None:
    """What was said before under the name, and under its opposite, is over."""
    _require_known(name)
    if name in _OTHER and until is None:
        raise Invalid(f"cannot be {name} without an end; say until when")
    if name == "zone" and not value:
        raise Invalid("cannot use '' as the zone; name one such as Europe/Berlin")
    db.execute("DELETE FROM overrides WHERE name = ?", (_OTHER.get(name),))
    db.execute(_ENTER, (name, text(value), instant(until), to_text(now)))


def take_back(db: sqlite3.Connection, name: str) -> bool:
    """Whether there was one."""
    _require_known(name)
    return db.execute("DELETE FROM overrides WHERE name = ?", (name,)).rowcount > 0


def _require_known(name: str) -> None:
    if name not in _NAMES:
        raise Invalid(f"cannot override {name!r}; what can be overridden is {', '.join(_NAMES)}")


def _counts(name: str, set_at: datetime, now: datetime) -> bool:
    # "Quiet for an hour", said under a clock that was a year ahead, would last a year.
    return name not in _OTHER or set_at <= now + TRUSTED


@reader
def _read(row: sqlite3.Row) -> tuple[str, str, datetime | None, datetime]:
    return row["name"], row["value"], when(row["until"]), from_text(row["set_at"])
