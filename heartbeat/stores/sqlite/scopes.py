"""Scopes: the parts of a script's field that a run has looked at whole, so that what is there later is news."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import datetime

from heartbeat.clock import to_text
from heartbeat.stores.sqlite.rows import text


def known(db: sqlite3.Connection, job: str) -> frozenset[str]:
    return frozenset(row["scope"] for row in db.execute("SELECT scope FROM scopes WHERE job = ?", (text(job),)))


def enter(db: sqlite3.Connection, job: str, names: Iterable[str], at: datetime) -> None:
    """They were looked at whole."""
    db.executemany(
        "INSERT INTO scopes (job, scope, last_at) VALUES (?, ?, ?) "
        "ON CONFLICT (job, scope) DO UPDATE SET last_at = excluded.last_at",
        [(text(job), text(name), to_text(at)) for name in names],
    )
