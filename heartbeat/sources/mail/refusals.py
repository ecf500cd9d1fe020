"""Refused logins, remembered: a provider locks an account that is tried with a wrong password again and again."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from hashlib import sha256

FIRST = timedelta(minutes=10)
LONGEST = timedelta(hours=6)


@dataclass(frozen=True, slots=True)
class _Note:
    count: int
    at: str
    salt: str
    mark: int


class Refusals:
    """What is known of one account, in a file of its own in the cache folder; without a folder nothing is.

    *account* is hashed to name the file. Of *password* the file holds one byte of a salted digest: enough to see that
    another one was set, which is tried at once, and too little to find out which.
    """

    def __init__(self, folder: str | None, account: Sequence[str], password: str) -> None:
        digest = sha256("\0".join(account).encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self._path = os.path.join(folder, "logins", digest) if folder else None
        self._password = password.encode("utf-8", "surrogatepass")

    def waits_until(self, now: datetime) -> datetime | None:
        """When the next try may be, None for now."""
        note = self._load()
        if note is None or note.mark != self._mark(note.salt):
            return None
        at = datetime.fromisoformat(note.at)
        until = at + _delay(note.count)
        # A note of the future was written under another clock.
        return until.astimezone(now.tzinfo) if at <= now < until else None

    def refused(self, now: datetime) -> datetime:
        """Note one more refusal; when the next try may be."""
        before = self._load()
        count = before.count + 1 if before is not None and before.mark == self._mark(before.salt) else 1
        salt = os.urandom(16).hex()
        self._store(_Note(count, now.isoformat(), salt, self._mark(salt)))
        return now + _delay(count)

    def accepted(self) -> None:
        if self._path is not None:
            with suppress(OSError):
                os.unlink(self._path)

    def _mark(self, salt: str) -> int:
        return sha256(salt.encode() + self._password).digest()[0]

    def _load(self) -> _Note | None:
        if self._path is None:
            return None
        try:
            with open(self._path, "rb") as file:
                held = json.loads(file.read(10_000))
            note = _Note(int(held["count"]), str(held["at"]), str(held["salt"]), int(held["mark"]))
            return note if datetime.fromisoformat(note.at).tzinfo and note.count > 0 else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _store(self, note: _Note) -> None:
        if self._path is None:
            return
        with suppress(OSError):
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            draft = f"{self._path}.{os.getpid()}.tmp"
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(asdict(note), file)
            os.replace(draft, self._path)


def _delay(count: int) -> timedelta:
    """After so many refusals in a row."""
    return min(FIRST * (1 << min(count - 1, 10)), LONGEST)
