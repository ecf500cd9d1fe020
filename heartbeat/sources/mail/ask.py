"""What a source of mail is asked, and its settings read with care."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from time import monotonic

from heartbeat.sources import SourceFailed
from heartbeat.sources.entries import Entry, path_of, secret


@dataclass(frozen=True, slots=True)
class Ask:
    """The unread mails that arrived since an instant; to be answered before *deadline*, on the monotonic clock."""

    since: datetime
    now: datetime
    deadline: float
    cache: str | None = None
    """A folder for what may be lost."""

    @property
    def left(self) -> float:
        """Seconds that remain; raises TimeoutError when there are none."""
        seconds = self.deadline - monotonic()
        if seconds <= 0:
            raise TimeoutError
        return seconds


def text_of(entry: Entry, key: str, default: str = "") -> str:
    """A setting that is text, or a secret that stands for text."""
    value = entry.settings.get(key)
    return default if value is None else secret(value)


def flag_of(entry: Entry, key: str) -> bool:
    value = entry.settings.get(key, False)
    if not isinstance(value, bool):
        raise SourceFailed(f"cannot use {key}: it is neither true nor false; write one of them, without quotes")
    return value


def folders_of(entry: Entry) -> tuple[str, ...]:
    """The folders to look into; the inbox where none are named."""
    value = entry.settings.get("folders", ["INBOX"])
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
        raise SourceFailed('cannot use folders: they are no list of names; write [ "INBOX", "Work" ]')
    return tuple(dict.fromkeys(names))


def file_of(entry: Entry, key: str) -> str:
    """A setting that names a file; empty where there is none."""
    text = text_of(entry, key)
    return path_of(text) if text else ""
