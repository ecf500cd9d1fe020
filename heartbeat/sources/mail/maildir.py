"""Unread mails of a Maildir; of each file only the header is read, and neither names nor flags are ever changed."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from heartbeat.sources.entries import Entry
from heartbeat.sources.mail.ask import Ask, folders_of
from heartbeat.sources.mail.imap_words import encoded
from heartbeat.sources.mail.message import Message, Unread
from heartbeat.sources.mail.raw import LONGEST, read_message
from heartbeat.sources.text import clean_title

_INFO = re.compile(r"[:;!]2,([^,]*)")
"""Flags; file systems that know no colon in names get one of the other signs."""
_MARGIN = timedelta(days=2)
_PIECE = 16 * 1024
_BLANK_LINE = re.compile(rb"(?:\A|\n)\r?\n")


def read(entry: Entry, ask: Ask) -> Unread:
    """The unread mails in the folders of a Maildir; a folder that cannot be read costs only itself."""
    paths: list[str] = []
    faults: list[str] = []
    for name in folders_of(entry):
        try:
            paths.extend(_unread(_folder(entry.place, name)).values())
        except (OSError, ValueError) as error:
            faults.append(f"cannot list the folder {clean_title(name, 100)!r}: {_why(error)}; mend sources or the path")
    messages, fault = read_files(paths, ask)
    return Unread(tuple(messages), "; ".join([*faults, *([fault] if fault else [])]))


def read_files(paths: Iterable[str], ask: Ask) -> tuple[list[Message], str]:
    """The mails in files, newest first, and what went wrong on the way; a file that is nowhere is no fault."""
    stamped, gone = _stamp(paths)
    stamped += _stamp(_moved(gone))[0]
    messages: list[Message] = []
    broken: list[OSError] = []
    for path in _recent(stamped, ask.since):
        try:
            ask.left  # noqa: B018  # raises
            messages.extend(_read_wherever(path))
        except TimeoutError:
            return messages, "cannot read all mails in time; the newest were read; see why the disk is slow"
        except OSError as error:
            broken.append(error)
    if not broken:
        return messages, ""
    return messages, f"cannot read {len(broken)} mails: {_why(broken[0])}; mend their permissions or the disk"


def _read_wherever(path: str) -> Iterator[Message]:
    """The mail of a file, looked for once more if it was moved while we looked; none if it was read or deleted."""
    try:
        yield _read(path)
    except FileNotFoundError:
        for moved in _moved([path]):
            with suppress(FileNotFoundError):
                yield _read(moved)


def _folder(root: str, name: str) -> str:
    """Where a folder lies: dots in front of and between the names (Maildir++), or plain folders below each other.

    Mail servers write names with other letters than those of ASCII as IMAP does.
    """
    if name.upper() == "INBOX" and not os.path.isdir(os.path.join(root, name)):
        return root
    for written in dict.fromkeys((name, encoded(name))):
        for path in ("." + written.strip("/.").replace("/", "."), written):
            if os.path.isdir(os.path.join(root, path)):
                return os.path.join(root, path)
    return os.path.join(root, name)


def _unread(folder: str) -> dict[str, str]:
    """The path of each unread mail by its unique name."""
    found: dict[str, str] = {}
    # new before cur: what moves meanwhile is met twice, and not never.
    for part in ("new", "cur"):
        with os.scandir(os.path.join(folder, part)) as entries:
            for item in entries:
                unique, flags = _take_apart(item.name)
                if item.name.startswith("."):
                    continue
                if "S" in flags:
                    found.pop(unique, None)
                elif item.is_file():
                    found[unique] = item.path
    return found


def _take_apart(name: str) -> tuple[str, str]:
    """The unique part of a file's name, and its flags."""
    info = _INFO.search(name)
    return (name[: info.start()], info[1]) if info else (name, "")


def _stamp(paths: Iterable[str]) -> tuple[list[tuple[float, str]], list[str]]:
    """Each file with the last instant at which it can have arrived; and those that are not there."""
    stamped: list[tuple[float, str]] = []
    gone: list[str] = []
    for path in paths:
        try:
            facts = os.stat(path)
        except OSError:
            gone.append(path)
        else:
            # Programs set the time of a file to what its Date says, which the sender chose. Nobody sets its ctime.
            stamped.append((max(facts.st_mtime, facts.st_ctime), path))
    return stamped, gone


def _recent(stamped: list[tuple[float, str]], since: datetime) -> list[str]:
    """The files that can have arrived since then, newest first."""
    stamped.sort(reverse=True)
    if not stamped:
        return []
    # The files' own clock may be behind ours: the newest of them is as late as it can be there.
    oldest = min(since.timestamp(), stamped[0][0]) - _MARGIN.total_seconds()
    return [path for stamp, path in stamped if stamp >= oldest]


def _moved(gone: Iterable[str]) -> list[str]:
    """Where unread mails are now that are not at these paths any more, as far as they can be found."""
    folders: dict[str, dict[str, str]] = {}
    found: list[str] = []
    for path in gone:
        folder, unique = os.path.dirname(os.path.dirname(path)), _take_apart(os.path.basename(path))[0]
        if folder not in folders:
            try:
                folders[folder] = _unread(folder)
            except OSError:
                folders[folder] = {}
        if unique in folders[folder]:
            found.append(folders[folder][unique])
    return found


def _read(path: str) -> Message:
    # Without O_NONBLOCK a named pipe would hold us until somebody writes.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise IsADirectoryError(0, "it is not a regular file")
        raw = b""
        while len(raw) <= LONGEST and (piece := os.read(descriptor, _PIECE)):
            searched = max(0, len(raw) - 2)
            raw += piece
            if _BLANK_LINE.search(raw, searched):
                break
    finally:
        os.close(descriptor)
    return read_message(raw, file_time=datetime.fromtimestamp(facts.st_mtime, UTC))


def _why(error: Exception) -> str:
    return (error.strerror or type(error).__name__) if isinstance(error, OSError) else "it is not a path"
