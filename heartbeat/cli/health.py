"""`heartbeat health`: what the probe says, by exit status. Standard library only, and no more of it than is needed."""

from __future__ import annotations

import io
import os
import sys

from heartbeat.folders import SYSTEM, find_folders
from heartbeat.probe import Health, examine
from heartbeat.pulse import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from heartbeat.cli.examination import Reply

_LONGEST = 30.0
"""Seconds after which a probe that hangs, on a dead network disk, is ended by the kernel: its status is not 0 then."""


def answer(folder: str | None, words: list[str], *, as_json: bool) -> int:
    """Answer `health` with the *words* behind it, for the installation in *folder*; the exit status."""
    try:
        folder, words = _aimed(folder, words)
        folders = find_folders(folder, os.environ)
        # What the remedies must name: what the caller's own environment means goes without saying.
        home = folders[0] if folder and folders != find_folders(None, os.environ) else ""
        if words == ["--assert-live"] and not as_json:
            return _assert_live(folders[1], home)
        from heartbeat.cli.examination import examine_as_asked  # here: whoever is answered above does not wait for it

        return say(examine_as_asked(folders, words, as_json=as_json, home=home))
    except Exception as error:
        if os.environ.get("HEARTBEAT_DEBUG"):
            raise
        # Whatever went wrong: it is not known to be well.
        complain(f"cannot examine: {type(error).__name__}: {error}; set HEARTBEAT_DEBUG=1 to see where")
        return 1


def _aimed(folder: str | None, words: list[str]) -> tuple[str | None, list[str]]:
    """`--system` is another way to write `--home /etc/heartbeat`; beside another folder it stays, to be refused."""
    if "--system" not in words or (folder and find_folders(folder, os.environ) != SYSTEM):
        return folder, words
    return SYSTEM[0], [word for word in words if word != "--system"]


def _assert_live(state: str, home: str) -> int:
    health = examine(state, home=home)
    if not health.is_live:
        complain(why_not_live(health))
    return 0 if health.is_live else 1


def why_not_live(health: Health) -> str:
    """On one line: what is wrong, the state first."""
    reasons = "; ".join(message for _, message in health.problems)
    target = f"{health.target} is " if health.target else ""
    return f"{target}{health.word}: {reasons or health.summary}"


def complain(line: str) -> None:
    """One line on stderr, if there is one; whoever closed it still gets the exit status."""
    if sys.stderr is not None:
        try:
            print(f"heartbeat: {plain(line)}", file=sys.stderr, flush=True)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def say(reply: Reply) -> int:
    """Print it; the exit status. A reader that went away has heard enough, a full disk has not."""
    for line in reply.complaints:
        complain(line)
    if not reply.text or sys.stdout is None:
        return reply.status
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # What the terminal's encoding lacks must not end the call.
            sys.stdout.reconfigure(errors="backslashreplace")
        print(reply.text, flush=True)
    except OSError as error:
        # What is still in the buffer must not fail a second time when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if not isinstance(error, BrokenPipeError):
            complain(f"cannot print the answer: {error.strerror}")
            return 1
    return reply.status


def bound(seconds: float = _LONGEST) -> None:
    """End this process by SIGALRM when it takes longer: no wait inside the kernel outlives that."""
    import _signal  # type: ignore[import-not-found] # `signal` takes longer to load than the answer

    _signal.signal(_signal.SIGALRM, _signal.SIG_DFL)
    # Ignored by whoever called us, it would leave no exit status of what is asked.
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    _signal.setitimer(_signal.ITIMER_REAL, seconds)
