"""What a provider remembers from run to run: one small JSON file in the cache, which may vanish at any time."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

_KEPT = timedelta(days=400)
_SKEW = timedelta(days=1)
"""What is dated further ahead was written by a wrong clock."""
_MOST_BYTES = 16 * 1024 * 1024


class Notes:
    """Values with the instant of their writing. Without a folder, or on a failing disk, they last for the run."""

    def __init__(self, folder: str | None, kind: str, place: str, now: datetime) -> None:
        """*place* may be a secret: it is one file a kind and place, named by a digest."""
        digest = sha256(place.encode("utf-8", "replace")).hexdigest()[:16]
        self._path = os.path.join(folder, "shows", f"{kind}-{digest}.json") if folder else None
        self._now = now
        self._kept: dict[str, Any] = {}
        self._read: tuple[int, int] | None = None

    def get(self, key: str, max_age: timedelta = _KEPT) -> Any:
        """The value written within *max_age*, else None."""
        at = self.at(key)
        return self._kept[key]["value"] if at and self._now - at <= max_age else None

    def at(self, key: str) -> datetime | None:
        """When the value was written."""
        self._refresh()
        return self._written(self._kept.get(key))

    def put(self, key: str, value: Any) -> None:
        """Written at once: a run may be ended at any time, and what it has asked counts."""
        self._refresh()
        self._kept[key] = {"at": self._now.isoformat(), "value": value}
        if self._path is not None:
            with suppress(OSError):
                _write(self._path, json.dumps(self._kept).encode())
                self._read = _state(self._path)

    def _refresh(self) -> None:
        """Take in what somebody else has written: two sources of one run may have the same file."""
        if self._path is None:
            return
        try:
            state = _state(self._path)
            if state == self._read:
                return
            with open(self._path, "rb") as file:
                kept = json.loads(file.read(_MOST_BYTES))
        except (OSError, ValueError, RecursionError):
            return
        self._read = state
        found = kept if isinstance(kept, dict) else {}
        fresh = {key: at for key, entry in found.items() if (at := self._written(entry))}
        self._kept = {key: found[key] for key, at in fresh.items() if self._now - at <= _KEPT}

    def _written(self, entry: Any) -> datetime | None:
        try:
            at = datetime.fromisoformat(entry["at"]) if isinstance(entry, dict) and "value" in entry else None
            return at if at and at <= self._now + _SKEW else None
        except (KeyError, ValueError, TypeError):
            return None


def _state(path: str) -> tuple[int, int]:
    """Differs after each writing, which makes a new file."""
    found = os.stat(path)
    return found.st_ino, found.st_mtime_ns


def _write(path: str, content: bytes) -> None:
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    # mkstemp makes the file 0600, and the rename shows it only when it is complete.
    descriptor, made = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(made, path)
    except OSError:
        os.unlink(made)
