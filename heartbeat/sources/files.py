"""Calendar files and folders, read whole and without waiting for anybody."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from hashlib import sha256

from heartbeat.sources import SourceFailed

MAX_BYTES = 50 * 1024 * 1024


def read_file(path: str) -> bytes:
    """The bytes of a regular file of at most MAX_BYTES."""
    name = os.path.basename(path)[:100]
    try:
        # Without O_NONBLOCK a named pipe would hold the script until somebody writes.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise SourceFailed(f"cannot open {name!r}: {_why(error)}; mend the path or its permissions") from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise SourceFailed(
                f"cannot read {name!r}: it is not a regular file; name an .ics file, or a folder as vdir"
            )
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise SourceFailed(f"cannot read {name!r}: {_why(error)}; try again or mend the disk") from None
    finally:
        os.close(descriptor)
    if len(content) > MAX_BYTES:
        raise SourceFailed(f"cannot read {name!r}: it is over {MAX_BYTES >> 20} MiB; split it")
    return content


def read_calendar(path: str) -> bytes:
    """The bytes of a file that holds a calendar."""
    from heartbeat.sources.ics import holds_calendar  # imported here: most runs read no file

    content = read_file(path)
    if not holds_calendar(content):
        what = "it holds no calendar" if content.strip() else "it is empty"
        raise SourceFailed(f"cannot use {os.path.basename(path)!r}: {what}; export it again as .ics")
    return content


def calendar_files(folder: str) -> list[str]:
    """The items of a vdir folder, in order of their names."""
    try:
        names = os.listdir(folder)
    except (OSError, ValueError) as error:
        name = os.path.basename(folder.rstrip("/"))
        raise SourceFailed(f"cannot list {name!r}: {_why(error)}; mend the path or its permissions") from None
    return [os.path.join(folder, name) for name in sorted(names) if name.endswith(".ics") and not name.startswith(".")]


def fingerprint_of(paths: Iterable[str]) -> str:
    """Changes with any of the files, whether it is written in place or replaced; raises no error of its own."""
    digest = sha256()
    for path in paths:
        try:
            seen = os.stat(path)
        except (OSError, ValueError):
            return ""  # to read it will tell
        # ctime too: a copy that keeps the times of its original, or other permissions, change nothing else.
        facts = (path, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino)
        digest.update(repr(facts).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _why(error: Exception) -> str:
    return (error.strerror or type(error).__name__) if isinstance(error, OSError) else "it is not a path"
