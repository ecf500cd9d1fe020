"""Who asks for a start or a stop, written down before it happens: what was asked for is no flapping."""

from __future__ import annotations

import os
import pwd
import sys
import time
from collections.abc import Mapping

from heartbeat.errors import ServiceError
from heartbeat.folders import make_private
from heartbeat.marker import write_intent
from heartbeat.paths import Home
from heartbeat.service.acting import acting_for

_LONGEST_NAME = 40


_EVEN_SO = ("stop", "restart")


def ask_for(home: Home, word: str, environ: Mapping[str, str], *, verb: str = "") -> None:
    """Write down that the owner wants heartbeat to `install`, `start`, `restart` or `stop`; raises ServiceError.

    *verb* is what they typed, when it is another. No error for a stop or a restart: a disk that is full or read-only
    must not keep what runs from being ended.
    """
    if word in _EVEN_SO and not os.path.isdir(home.state):
        return  # nothing runs there; a folder that root makes would be root's
    try:
        with acting_for(home.state):
            make_private(home.state)
            write_intent(home.intent_file, word, who_asks(verb or word, environ), time.time())
    except OSError as error:
        if word in _EVEN_SO:
            reason = f"cannot write in {home.state}: {error.strerror}"
            print(f"heartbeat: {reason}; the log of starts will not say who asked for this", file=sys.stderr)
            return
        raise ServiceError(
            f"cannot write in {home.state}: {error.strerror}; correct its owner, or make room"
        ) from error


def who_asks(word: str, environ: Mapping[str, str]) -> str:
    """This process in words: the verb, the user, the program that called it, and whether somebody sits before it."""
    user = _user(os.getuid())
    if os.getuid() == 0 and environ.get("SUDO_USER"):
        user += f" (sudo by {environ['SUDO_USER']})"
    place = "at a terminal" if sys.stdin is not None and os.isatty(0) else "without a terminal"
    return f"heartbeat {word} by {user}, called from {_parent()}, {place}"


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def _parent() -> str:
    """The name of the program that called us; never its arguments, among which a secret may be."""
    import psutil  # here: slow to load, and no other verb needs it

    try:
        return f"{psutil.Process(os.getppid()).name()[:_LONGEST_NAME]} ({os.getppid()})"
    except (psutil.Error, OSError, ValueError):
        return f"process {os.getppid()}"
