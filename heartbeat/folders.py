"""Where the folders of an installation are, as plain text, and making them private to its owner.

What the probe needs, with nothing imported for it.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

LOCK = "daemon.lock"
PULSE = "pulse"
STARTS = "starts.log"
MARKER = "service"
INTENT = "intent"
CRASH = "crash.txt"


SYSTEM = "/etc/heartbeat", "/var/lib/heartbeat", "/var/cache/heartbeat"
"""The folders of the system's own installation, which `--home /etc/heartbeat` names."""


def find_folders(folder: str | None, environ: Mapping[str, str]) -> tuple[str, str, str]:
    """The folders for configuration, state and cache.

    `--home` (*folder*) or `HEARTBEAT_HOME` puts them into one; else they are the user's own, as
    platformdirs would have them (a test compares). `HEARTBEAT_STATE_DIR` and `HEARTBEAT_CACHE_DIR`
    move one of them alone, but never those of `--home`.
    """
    root = folder or environ.get("HEARTBEAT_HOME")
    found = _in_one(_absolute(root)) if root else _of_the_user(environ)
    if found[0] == SYSTEM[0]:
        found = SYSTEM
    elif root and found[0] == _of_the_user(environ)[0]:
        found = _of_the_user(environ)  # named by the folder of its configuration: no second installation inside
    if folder:
        return found
    state, cache = environ.get("HEARTBEAT_STATE_DIR"), environ.get("HEARTBEAT_CACHE_DIR")
    return found[0], _absolute(state) if state else found[1], _absolute(cache) if cache else found[2]


def make_private(folder: str | os.PathLike[str]) -> None:
    """Make a folder, and those above it that are missing, for their owner alone; raises OSError."""
    folder = os.fspath(folder)
    if os.path.isdir(folder):
        return
    if above := os.path.dirname(folder):
        make_private(above)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        # Another process may have made it meanwhile.
        if not os.path.isdir(folder):
            raise
    else:
        os.chmod(folder, 0o700)  # whatever the umask
        keep_owner(folder)


def keep_owner(path: str | os.PathLike[str]) -> None:
    """Give what root just created to the owner of the folder around it; does nothing for anybody else.

    Root, looking after somebody's installation, must not lock its owner out.
    """
    if os.geteuid() == 0:
        around = os.stat(os.path.dirname(path) or ".")
        os.chown(path, around.st_uid, around.st_gid, follow_symlinks=False)


def _in_one(root: str) -> tuple[str, str, str]:
    return root, f"{root}/state", f"{root}/cache"


def _of_the_user(environ: Mapping[str, str]) -> tuple[str, str, str]:
    home = os.path.expanduser("~")
    if sys.platform == "darwin":
        support = f"{home}/Library/Application Support/heartbeat"
        return support, support, f"{home}/Library/Caches/heartbeat"
    places = (("XDG_CONFIG_HOME", ".config"), ("XDG_STATE_HOME", ".local/state"), ("XDG_CACHE_HOME", ".cache"))
    # A relative path in these variables is to be ignored: XDG Base Directory Specification 0.8, "Basics".
    given = [environ.get(name, "") for name, _ in places]
    config, state, cache = (
        f"{value if value.startswith('/') else f'{home}/{below}'}/heartbeat"
        for value, (_, below) in zip(given, places, strict=True)
    )
    return config, state, cache


def _absolute(folder: str) -> str:
    # Made so at once: a child process starts in another folder.
    return os.path.abspath(os.path.expanduser(folder))
