"""The last good answer of an address, kept in the cache folder under a digest: the address itself is a secret."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256


@dataclass(frozen=True, slots=True)
class Answer:
    """A body with its validators, and when it was last known to be current."""

    body: bytes
    etag: str
    last_modified: str
    current_at: datetime


class AnswerCache:
    """One file an address, mode 0600; without a folder nothing is kept. A failing disk costs only the cache."""

    def __init__(self, folder: str | None) -> None:
        self._folder = os.path.join(folder, "answers") if folder else None

    def load(self, address: str) -> Answer | None:
        """The kept answer, None when there is none that can be read."""
        if self._folder is None:
            return None
        try:
            with open(self._path(self._folder, address), "rb") as file:
                current_at = datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC)
                head = json.loads(file.readline(65_536))
                body = file.read()
                if len(body) != head["size"]:
                    return None
                return Answer(body, str(head["etag"]), str(head["last_modified"]), current_at)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def store(self, address: str, answer: Answer) -> None:
        """Replace the kept answer as a whole."""
        if self._folder is None:
            return
        import tempfile  # imported here: it costs as much as reading a calendar, and answers seldom change

        head = {"etag": answer.etag, "last_modified": answer.last_modified, "size": len(answer.body)}
        with suppress(OSError):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            # mkstemp makes the file 0600, and the rename shows it only when it is complete.
            descriptor, path = tempfile.mkstemp(dir=self._folder)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(json.dumps(head).encode() + b"\n" + answer.body)
                os.utime(path, (answer.current_at.timestamp(),) * 2)
                os.replace(path, self._path(self._folder, address))
            except OSError:
                os.unlink(path)

    def confirm(self, address: str, now: datetime) -> None:
        """Note that the kept answer is still current."""
        if self._folder is not None:
            with suppress(OSError):
                os.utime(self._path(self._folder, address), (now.timestamp(),) * 2)

    @staticmethod
    def _path(folder: str, address: str) -> str:
        return os.path.join(folder, sha256(address.encode("utf-8", "replace")).hexdigest()[:32])
