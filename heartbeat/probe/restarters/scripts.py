"""Reads the scripts that commands name: their first 64 KiB, only those that mention the subject, each once."""

from __future__ import annotations

import os

from heartbeat.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SIZE = 65_536
_MOST = 500
_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_TYPE, _REGULAR = 0o170000, 0o100000  # without `stat`
_SHELLS = ("sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish")


class Script(Record):
    """The start of a script."""

    __slots__ = ("is_shell", "path", "text")

    def __init__(self, path: str, text: str, is_shell: bool) -> None:
        self.path = path
        self.text = text
        self.is_shell = is_shell


class Scripts:
    """All that one search reads; *needles* are the words without which a text is not about the subject."""

    def __init__(self, needles: Sequence[str]) -> None:
        self._needles = [needle.encode() for needle in needles]
        self._read: dict[tuple[str, str], Script | None] = {}

    def read(self, name: str, folder: str = "", *, by: str = "") -> Script | None:
        """The script of this name, when it mentions the subject; read *by* a `shell`, a `program`, or by its `#!`."""
        path = self._find(name, folder)
        key = (path, by)
        if path and key not in self._read and len(self._read) < _MOST:
            self._read[key] = self._load(path, by)
        return self._read.get(key)

    def parts(self, folder: str) -> list[str]:
        """The programs that `run-parts` starts."""
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            return []
        paths = [f"{folder.rstrip('/')}/{name}" for name in names]
        return [path for path in paths if os.access(path, os.X_OK)]

    def _find(self, name: str, folder: str) -> str:
        if not name or "\0" in name or "$" in name:
            return ""
        name = os.path.expanduser(name)
        if "/" in name:
            return name if name.startswith("/") else f"{folder}/{name}" if folder else ""
        places = [*([folder] if folder else []), *_PATH]
        return next((path for place in places if os.path.isfile(path := f"{place}/{name}")), "")

    def _load(self, path: str, by: str) -> Script | None:
        raw = _head(path, SIZE, needs_mark=not by)
        if not any(needle in raw for needle in self._needles) or b"\0" in raw:
            return None
        text = raw.decode(errors="replace")
        first = text.partition("\n")[0] if text.startswith("#!") and not by else ""
        names = [word.rpartition("/")[2] for word in first[2:].split()]
        return Script(path, text, by == "shell" or any(name in _SHELLS for name in names))


def _head(path: str, size: int, *, needs_mark: bool) -> bytes:
    """The start of a regular file; nothing of any other, nor, where a *mark* is needed, of one without `#!`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe must not keep us waiting
    except (OSError, ValueError):
        return b""
    try:
        if os.fstat(descriptor).st_mode & _TYPE != _REGULAR:
            return b""
        start = os.read(descriptor, 2)
        if needs_mark and start != b"#!":
            return b""
        return start + os.read(descriptor, size - 2)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
