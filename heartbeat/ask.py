"""Ask one program for facts: without a shell, within a second, and without the imports that `subprocess` costs.

Standard library only, for the probe. Whatever cannot be asked is an answer with its reason, never an exception.
"""

from __future__ import annotations

import errno
import os
import select
import time

from heartbeat.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_KILL = 9  # without `signal`, which takes longer to import than the answer
_WHOSE = ("--user",)
_IN_TIME = " did not answer in time"
_OF_THE_SESSION = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
SECONDS, LIMIT = 1.0, 4 * 1024 * 1024
"""How long a program may take, and how many bytes of its answer are read."""
_left: float | None = None
_silent: set[tuple[str, ...]] = set()


def limit(seconds: float | None) -> None:
    """From now on all questions of this process together may take so long, and whoever is silent is asked no more.

    For one look at many targets, which all ask the same few managers; None lifts it.
    """
    global _left  # noqa: PLW0603 - the questions are asked far below whoever knows how long it all may take
    _left = seconds
    _silent.clear()


class Answer(Record):
    """What a program said: `status` is None when it could not be asked, or did not answer in time (see `fault`)."""

    __slots__ = ("fault", "status", "text")

    def __init__(self, status: int | None, text: str, fault: str = "") -> None:
        self.status = status
        self.text = text
        self.fault = fault


def session(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables by which `systemctl --user` finds its manager: cron and ssh leave them out, some set them empty."""
    kept = {name: value for name, value in environ.items() if value or name not in _OF_THE_SESSION}
    return {"XDG_RUNTIME_DIR": f"/run/user/{os.geteuid()}", **kept}


def launchctl(environ: Mapping[str, str]) -> str:
    """The program that speaks with launchd: Apple's own, never what PATH has by that name."""
    return environ.get("HEARTBEAT_LAUNCHCTL") or "/bin/launchctl"


def ask(argv: Sequence[str], environ: Mapping[str, str] | None = None, *, seconds: float = SECONDS) -> Answer:
    """Run a program with nothing on its stdin; its stdout and stderr as one text, in the order they were written."""
    if _left is None:
        return _ask(argv, environ, seconds)
    return _ask_within_limit(argv, environ, seconds)


def _ask_within_limit(argv: Sequence[str], environ: Mapping[str, str] | None, seconds: float) -> Answer:
    global _left  # noqa: PLW0603 - as above
    left = _left or 0.0
    asked = (argv[0], *(word for word in argv if word in _WHOSE or word.startswith("--machine=") or word[-1:] == "@"))
    if asked in _silent:
        return Answer(None, "", f"{argv[0]} did not answer in time before, and is asked no more")
    if left <= 0:
        return Answer(None, "", f"there is no time left to ask {argv[0]}")
    begun = time.monotonic()
    answer = _ask(argv, environ, min(seconds, left))
    _left = left - (time.monotonic() - begun)
    if answer.fault.endswith(_IN_TIME):
        _silent.add(asked)
    return answer


def _ask(argv: Sequence[str], environ: Mapping[str, str] | None, seconds: float) -> Answer:
    try:
        reader, writer = os.pipe2(os.O_CLOEXEC) if hasattr(os, "pipe2") else os.pipe()
    except OSError as error:  # no descriptor is left
        return Answer(None, "", f"cannot run {argv[0]}: {error.strerror}")
    try:
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, writer, 1),
            (os.POSIX_SPAWN_DUP2, writer, 2),
        ]
        pid = os.posix_spawnp(
            argv[0],
            list(argv),
            os.environ if environ is None else environ,
            file_actions=actions,
            setpgroup=0,
            setsigmask=(),
        )
    except (OSError, ValueError) as error:
        reason = "no such program" if getattr(error, "errno", 0) == errno.ENOENT else str(error)
        os.close(reader)
        return Answer(None, "", f"cannot run {argv[0]}: {reason}")
    finally:
        os.close(writer)
    try:
        return _listen(argv[0], pid, reader, time.monotonic() + seconds)
    finally:
        os.close(reader)


def _listen(name: str, pid: int, reader: int, until: float) -> Answer:
    poll, parts, size = select.poll(), [], 0
    poll.register(reader, select.POLLIN | select.POLLHUP)
    while (left := until - time.monotonic()) > 0 and size <= LIMIT:
        if not poll.poll(left * 1000):
            continue
        part = os.read(reader, 65_536)
        if not part:
            break
        parts.append(part)
        size += len(part)
    text = b"".join(parts).decode(errors="replace")
    status = _end(pid, until)
    if status is None:
        return Answer(None, text, f"{name}{_IN_TIME}")
    return Answer(status, text)


def _end(pid: int, until: float) -> int | None:
    """The exit status (negative: the signal); None when it had to be killed.

    0 where nobody keeps it: a process whose SIGCHLD is ignored has no statuses. The text is what it answered.
    """
    try:
        while True:
            try:
                done, status = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                return 0
            if done:
                return os.waitstatus_to_exitcode(status)
            if time.monotonic() >= until:
                break
            time.sleep(0.002)
        os.killpg(pid, _KILL)
        os.waitpid(pid, 0)
    except (ChildProcessError, ProcessLookupError, PermissionError):
        pass
    return None
