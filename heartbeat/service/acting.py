"""Root does for another user what that user could do, with their rights: never a write of root's in a folder of theirs.

A link that they put in the place of a file would otherwise lead root to any file of the machine.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager

_NOBODY = 65_534


@contextmanager
def acting_as(uid: int) -> Iterator[None]:
    """Have the rights of this user and no others meanwhile; nothing changes for anybody but root."""
    if os.geteuid() != 0 or uid == 0:
        yield
        return
    gid, groups = groups_of(uid)
    before = os.getegid(), os.getgroups()
    os.setgroups(groups)
    os.setegid(gid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(before[0])
        os.setgroups(before[1])


@contextmanager
def acting_for(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Act as the owner of *folder*, or of the nearest one above it that is there."""
    path = os.path.abspath(folder)
    while not os.path.exists(path):
        path = os.path.dirname(path)
    with acting_as(os.stat(path).st_uid):
        yield


def groups_of(uid: int) -> tuple[int, list[int]]:
    """The user's own group, and all that they are in; none but nobody's for one who is no longer known."""
    try:
        user = pwd.getpwuid(uid)
    except KeyError:
        return _NOBODY, [_NOBODY]
    return user.pw_gid, os.getgrouplist(user.pw_name, user.pw_gid)
