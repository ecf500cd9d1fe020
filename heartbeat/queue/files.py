"""One dropped file: what it is, and the items it holds. Nothing it may be can hang or mislead its reader."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from heartbeat.errors import Invalid, NotFound
from heartbeat.gate.strict_json import describe, read_loosely
from heartbeat.model import QueueItem
from heartbeat.queue.items import Zone, content_key, read_item

LARGEST = 1024 * 1024
MOST_ITEMS = 1000
_MOST_COMPLAINTS = 10


class Vanished(Exception):
    """The file is not there any more: somebody took it away."""


class Refusal(Exception):
    """Why nothing of a file can be taken in; *may_pass*: it may only not be finished yet."""

    def __init__(self, reason: str, *, may_pass: bool = False) -> None:
        super().__init__(reason)
        self.may_pass = may_pass


@dataclass(frozen=True, slots=True)
class Found:
    """What a file holds."""

    items: tuple[QueueItem, ...]
    complaint: str
    """What is wrong with the others; empty when all are good."""


def look_at(path: str) -> os.stat_result:
    """Raises Vanished."""
    try:
        return os.lstat(path)
    except FileNotFoundError:
        raise Vanished from None


def is_same(one: os.stat_result, other: os.stat_result) -> bool:
    """Whether nobody replaced it or wrote to it meanwhile."""
    return (one.st_dev, one.st_ino, one.st_size, one.st_mtime_ns) == (
        other.st_dev,
        other.st_ino,
        other.st_size,
        other.st_mtime_ns,
    )


def read_file(path: str, folder: str, zone: Zone, now: datetime) -> Found:
    """The items of a dropped file; raises Refusal, Vanished."""
    content = _read(path, os.stat(folder).st_uid)
    value = parse(content)
    values = value if isinstance(value, list) else [value]
    twice = _names_twice(content)
    if len(values) > MOST_ITEMS:
        raise Refusal(f"it holds {len(values)} items; at most {MOST_ITEMS} may be in one file: split it")
    items: dict[str, QueueItem] = {}
    complaints = []
    for number, (one, name) in enumerate(zip(values, twice, strict=True), 1):
        try:
            item = _item(one, name, zone, now)
            items[item.key] = item
        except Invalid as error:
            complaints.append(f"item {number}: {error}" if isinstance(value, list) else str(error))
    return Found(tuple(items.values()), "\n".join(_complaint(complaints, len(items))))


def parse(content: bytes) -> object:
    """The JSON value; raises Refusal."""
    try:
        return read_loosely(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise Refusal(f"it is not UTF-8 (byte {error.start + 1}); save it as UTF-8", may_pass=True) from None
    except ValueError as error:
        raise Refusal(f"{error}; write one object, or an array of objects", may_pass=True) from None


def read_bytes(path: str, largest: int, *, flags: int = 0) -> tuple[bytes, os.stat_result]:
    """All of a regular file; raises OSError, Refusal. A pipe in its place does not hang the reader."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags)
    with open(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise Refusal("it is not a file; put a plain file there")
        content = file.read(largest + 1)
    if len(content) > largest:
        raise Refusal(f"it is larger than {largest // 1024} KiB; split it")
    return content, found


def _read(path: str, folder_owner: int) -> bytes:
    try:
        content, found = read_bytes(path, LARGEST, flags=os.O_NOFOLLOW)
    except FileNotFoundError:
        raise Vanished from None
    except IsADirectoryError:
        raise Refusal("it is a folder; put a plain file there") from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):
            raise Refusal("it is a link; put the file itself there") from None
        raise Refusal(f"it cannot be read: {error.strerror}; correct its permissions", may_pass=True) from None
    if found.st_uid not in (0, os.geteuid(), folder_owner):
        # What it says would be told as the owner's own words.
        raise Refusal("it belongs to another user; only your own programs may add to your queue", may_pass=True)
    return content


def _item(value: object, twice: str, zone: Zone, now: datetime) -> QueueItem:
    if not isinstance(value, dict):
        raise Invalid(f"cannot use {describe(value)} as an item; write an object in braces")
    if twice:
        raise Invalid(f"cannot tell which is meant: the name {twice[:60]!r} stands twice; leave one of them out")
    item = read_item(value, zone, now)
    return item if item.key else replace(item, key=content_key(item, "file"))


class _Object(dict[str, object]):
    """One that remembers which of its names stood twice."""

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        super().__init__(pairs)
        counts = Counter(name for name, _ in pairs) if len(self) < len(pairs) else {}
        self.twice = next((name for name, count in counts.items() if count > 1), "")


def _names_twice(content: bytes) -> list[str]:
    """For each item of content that was parsed before, a name that stands twice in it, or nothing."""
    numbers = {"parse_int": str, "parse_float": str, "parse_constant": str}
    value = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_Object, **numbers)  # type: ignore[arg-type]
    return [one.twice if isinstance(one, _Object) else "" for one in (value if isinstance(value, list) else [value])]


def _complaint(complaints: list[str], taken: int) -> Iterator[str]:
    yield from complaints[:_MOST_COMPLAINTS]
    if len(complaints) > _MOST_COMPLAINTS:
        yield f"and {len(complaints) - _MOST_COMPLAINTS} more"
    if complaints and taken:
        yield f"the other items were taken in ({taken}): correct the file and put it back, they are not told twice"


def read_json(path: str, largest: int) -> object:
    """The JSON value of a file that the owner named; raises HeartbeatError."""
    try:
        return parse(read_bytes(path, largest)[0])
    except FileNotFoundError:
        raise NotFound(f"cannot find the file {path!r}; give the path of a file that is there") from None
    except OSError as error:
        raise Invalid(f"cannot read {path!r}: {error.strerror}; give a file you may read") from None
    except Refusal as refusal:
        raise Invalid(f"cannot read {path!r}: {refusal}") from None
