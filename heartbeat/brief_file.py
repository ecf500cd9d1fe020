"""The owner's file with the brief: a brief is written again and again until it stands there, as a whole."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import date, datetime
from pathlib import Path

from heartbeat.beat import House
from heartbeat.config import Settings
from heartbeat.config.secret import expand
from heartbeat.errors import Problem
from heartbeat.folders import keep_owner, make_private
from heartbeat.log import event, warn
from heartbeat.paths import Home

_SUBJECT = "brief:file"
_NO_FILE = "no file for the brief is configured any more"


def keep_briefs(house: House) -> None:
    """Write the briefs that are to stand in the file and do not yet; what is in the way is an incident."""
    due, now = house.ledger.unfiled_briefs(), house.clock()
    if not due:
        return
    name = house.config.settings.brief.file
    if not name:
        for brief_id, *_ in due:
            house.ledger.abandon_file(brief_id, _NO_FILE, now)
        house.ledger.recover(_SUBJECT, now, closed=_NO_FILE)
        return
    files: dict[Path, list[tuple[str, str]]] = {}
    for brief_id, day, text in due:
        files.setdefault(_path(name, day, house.home, house.environ), []).append((brief_id, text))
    written = [_keep(house, path, briefs, now) for path, briefs in files.items()]
    if all(written) and house.ledger.recover(_SUBJECT, now):
        event("recovered", subject=_SUBJECT)


def check_brief(settings: Settings, home: Home, environ: Mapping[str, str], file: str) -> list[Problem]:
    """What keeps the brief from being written to its file just now: a matter for `check`, the daemon tries again."""
    if not settings.brief.file:
        return []
    path = _path(settings.brief.file, date(2026, 1, 1), home, environ)
    above = next(folder for folder in path.parents if folder.exists())
    if path.exists() and not path.is_file():
        wrong = "it is not a file"
    elif not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        wrong = f"we may not write into {above}"
    else:
        return []
    message = f"cannot write the brief to {str(path)!r}: {wrong}"
    return [Problem(file, "brief.file", message, "correct the path or the permissions")]


def _path(name: str, day: date, home: Home, environ: Mapping[str, str]) -> Path:
    """Where a link leads to: what is put in its place must not end it."""
    path = expand(name.replace("{day}", day.isoformat()), home.config, environ)
    return Path(os.path.realpath(path))


def _keep(house: House, path: Path, briefs: list[tuple[str, str]], now: datetime) -> bool:
    """Write those that go to one file, the latest first; whether it went well."""
    text = "\n\n".join(text for _, text in reversed(briefs)) + "\n"
    try:
        _replace(path, text, f".{briefs[0][0]}")
    except OSError as error:
        message = f"cannot write the brief to {path}: {error.strerror or error}; correct file in [brief], or make room"
        if house.ledger.fault(_SUBJECT, "brief_file", message, now):
            warn("incident", subject=_SUBJECT, error=message)
        return False
    house.ledger.enter_filed([brief_id for brief_id, _ in briefs])
    return True


def _replace(path: Path, text: str, temporary: str) -> None:
    """Put the file in place as a whole, for its owner alone.

    The temporary name is the brief's own: what a process that was killed left is met, and removed, by the next try.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is not a file")
    make_private(path.parent)
    made = path.parent / temporary
    with suppress(FileNotFoundError):
        made.unlink()
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        keep_owner(made)
        os.replace(made, path)
    except BaseException:
        with suppress(OSError):
            made.unlink()
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    # The ledger says that it is written only when its name is on the disk too.
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
