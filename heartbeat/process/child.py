"""Runs one child process, bounded in time, output and offspring."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from heartbeat.clock import utc_now
from heartbeat.model import Execution
from heartbeat.process.capture import Capture
from heartbeat.process.launch import why_not_started
from heartbeat.process.pids import is_alive, open_handle, owner
from heartbeat.process.pipes import Pipes
from heartbeat.process.spawn import unblocked
from heartbeat.process.tree import Tree, become_reaper, end_strays, reap_orphans

__all__ = ["Command", "become_reaper", "end_strays", "execute", "is_alive", "owner"]

GRACE = 2.0
"""Seconds between TERM and KILL for what has run too long."""
GRACE_AT_STOP = 1.0
"""The same when heartbeat is stopping, which must not take long."""
GRACE_AFTER_EXIT = 0.5
"""The same for what a leader that ended by itself left behind."""
DRAIN = 0.5
"""Seconds that the verdict waits for pipes which the leader's children still hold."""
_LOOK = 0.1  # seconds between two looks at the stop event, and at the leader where it has no handle
_LOOK_DURING_GRACE = 0.02
_REAP_EVERY = 0.5


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, and within which bounds."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    """The whole environment; nothing is inherited. It holds the mark as HEARTBEAT_RUN_ID, _WAKE_ID or _MESSAGE_ID."""
    cwd: str
    timeout: timedelta
    mark: str
    """The id of the run, wake or message, by which its strays are recognised."""
    stdin: bytes | None = None
    """None: closed."""
    stdout_limit: int = 8 * 1024 * 1024
    stderr_limit: int = 256 * 1024


def execute(
    command: Command, stop: threading.Event | None = None, clock: Callable[[], datetime] = utc_now
) -> Execution:
    """Run a command to its end, to its time limit, or until *stop* is set; nothing it started survives.

    Raises nothing for anything the child does, or for a child that cannot be started. Safe in any thread.
    """
    try:
        return _execute(command, stop, clock)
    except BaseException:
        # Ctrl-C may come when the child has been started and we do not know of it yet.
        end_strays([command.mark])
        raise


def _execute(command: Command, stop: threading.Event | None, clock: Callable[[], datetime]) -> Execution:
    started_at = clock()
    if stop and stop.is_set():
        return Execution(started_at, clock(), interrupted=True)
    stdout, stderr = Capture(command.stdout_limit), Capture(command.stderr_limit)
    with Pipes(command.stdin, stdout, stderr) as pipes:
        try:
            tree = Tree(lambda: _start(command), command.mark)
        except (OSError, ValueError, IndexError) as error:
            reason = why_not_started(error, command.argv, command.env, command.cwd)
            return Execution(started_at, clock(), start_error=reason)
        try:
            pipes.attach(tree.leader)
            ended_by = _attend(command, tree, pipes, stop)
        except BaseException:
            # Ctrl-C at a terminal reaches us alone: the child has a session of its own.
            tree.kill(time.sleep)
            raise
        finally:
            status = tree.close()
    return Execution(
        started_at,
        clock(),
        exit_code=status if status is not None and status >= 0 else None,
        signal=-status if status is not None and status < 0 else None,
        timed_out=ended_by == "timeout",
        interrupted=ended_by == "stop",
        stdout=stdout.result(),
        stderr=stderr.result(),
    )


def _start(command: Command) -> subprocess.Popen[bytes]:
    with unblocked():
        return subprocess.Popen(
            command.argv,
            stdin=subprocess.DEVNULL if command.stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=command.cwd,
            env=command.env,
            start_new_session=True,
        )


def _attend(command: Command, tree: Tree, pipes: Pipes, stop: threading.Event | None) -> str:
    """Serve the child until it and all it started have ended; returns why: `exit`, `timeout` or `stop`."""
    ended_by = _until_exit(command, tree, pipes, stop)
    if ended_by == "exit":
        pipes.stop_feeding()
        _serve_until(lambda: not pipes.open, pipes, DRAIN)
        if tree.living():
            _end(tree, pipes, GRACE_AFTER_EXIT)
    else:
        _end(tree, pipes, GRACE if ended_by == "timeout" else GRACE_AT_STOP)
    pipes.empty(DRAIN)
    return ended_by


def _until_exit(command: Command, tree: Tree, pipes: Pipes, stop: threading.Event | None) -> str:
    # The wall clock may be set at any time; this one only runs.
    now = time.monotonic()
    deadline, reap_at = now + command.timeout.total_seconds(), now + _REAP_EVERY
    with pipes.watching(open_handle(tree.leader.pid)):
        while not tree.has_ended():
            now = time.monotonic()
            if stop and stop.is_set():
                return "stop"
            if now >= deadline:
                return "timeout"
            if now >= reap_at:
                reap_orphans()
                reap_at = now + _REAP_EVERY
            pipes.serve(min(deadline - now, _LOOK))
    return "exit"


def _end(tree: Tree, pipes: Pipes, grace: float) -> None:
    asked = tree.terminate()
    _serve_until(lambda: not any(peer.lives() for peer in asked), pipes, grace, step=_LOOK_DURING_GRACE)
    tree.kill(pipes.serve)


def _serve_until(done: Callable[[], bool], pipes: Pipes, seconds: float, step: float = _LOOK) -> None:
    until = time.monotonic() + seconds
    while not done() and (left := until - time.monotonic()) > 0:
        pipes.serve(min(left, step))
