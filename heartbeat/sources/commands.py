"""One run of a program that reads a source for us, such as `gws`: bounded in time, in output and in offspring.

Lighter than `heartbeat.process`, which a script each minute would feel: what escapes from the group, the daemon ends.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic

from heartbeat.sources import SourceFailed

MOST = 8 << 20
_MARKS = ("HEARTBEAT_RUN_ID", "HEARTBEAT_WAKE_ID")
_CHUNK = 65_536
_DRAIN = 0.5
"""Seconds for the rest of the output when the program has ended, but a child of it still holds the pipe."""
_LOOK = 0.02


@dataclass(frozen=True, slots=True)
class Output:
    """What a program said, and its exit status; below nought for the signal that ended it."""

    status: int
    stdout: bytes
    stderr: bytes


def run(argv: Sequence[str], seconds: float, most: int = MOST) -> Output:
    """Run a program to its end with stdin closed; both outputs together are at most *most* bytes.

    Raises SourceFailed when it cannot be started, takes too long or says too much. Nothing of its group survives.
    Arguments can be seen by every user of the machine: hand no secret over in *argv*.
    """
    child = _start(argv)
    try:
        stdout, stderr = _Reading(child, argv[0], seconds, most).whole()
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        for stream in (child.stdout, child.stderr):
            if stream is not None:
                stream.close()
    return Output(child.returncode, stdout, stderr)


def _start(argv: Sequence[str]) -> subprocess.Popen[bytes]:
    try:
        # A group of its own to end it whole, in our session: by that the daemon finds it should we be killed first.
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            process_group=0,
            env=_environment(),
        )
    except FileNotFoundError:
        where = os.environ.get("PATH", os.defpath)
        why = f"no such program in PATH {where!r}; install it, or add its folder to PATH"
    except (OSError, ValueError) as error:
        why = f"{getattr(error, 'strerror', None) or 'an argument is not valid'}; check the file and its permissions"
    raise SourceFailed(f"cannot start {argv[0]}: {why}")


def _environment() -> dict[str, str]:
    """Ours without what heartbeat tells a script alone; its mark stays, by which the daemon knows what is its own."""
    return {name: text for name, text in os.environ.items() if not name.startswith("HEARTBEAT_") or name in _MARKS}


class _Reading:
    """Both outputs of a program on its way."""

    def __init__(self, child: subprocess.Popen[bytes], name: str, seconds: float, most: int) -> None:
        self._child, self._name, self._seconds, self._most = child, name, seconds, most
        assert child.stdout is not None
        assert child.stderr is not None
        self._texts = {child.stdout.fileno(): bytearray(), child.stderr.fileno(): bytearray()}

    def whole(self) -> tuple[bytes, bytes]:
        """What it said, once it has ended and nobody can add to it any more."""
        deadline, drained = monotonic() + self._seconds, 0.0
        with selectors.PollSelector() as selector:
            for descriptor in self._texts:
                selector.register(descriptor, selectors.EVENT_READ)
            while selector.get_map() or not _has_ended(self._child):
                now = monotonic()
                if now >= deadline:
                    raise SourceFailed(f"cannot use {self._name}: not done in {self._seconds:g} s; run it by hand")
                if _has_ended(self._child):
                    drained = drained or now + _DRAIN
                    if now >= drained:
                        break
                self._take(selector, min(deadline - now, _LOOK))
        out, err = self._texts.values()
        return bytes(out), bytes(err)

    def _take(self, selector: selectors.BaseSelector, seconds: float) -> None:
        for key, _ in selector.select(seconds):
            chunk = os.read(key.fd, _CHUNK)
            self._texts[key.fd] += chunk
            if not chunk:
                selector.unregister(key.fd)
        if sum(map(len, self._texts.values())) > self._most:
            raise SourceFailed(f"cannot use {self._name}: it says more than {self._most >> 20} MiB; ask it for less")


def _has_ended(child: subprocess.Popen[bytes]) -> bool:
    """Whether it has; where the system lets us look, it stays unwaited for, so that its group is nobody else's."""
    if not hasattr(os, "waitid"):
        return child.poll() is not None
    return os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
