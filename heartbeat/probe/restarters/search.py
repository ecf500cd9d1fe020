"""What every kind of evidence is judged with: does a command that somebody runs again and again restart the subject."""

from __future__ import annotations

import os

from heartbeat.probe.restarters.deeds import restarts, runs
from heartbeat.probe.restarters.peers import peer_of
from heartbeat.probe.restarters.scripts import Scripts
from heartbeat.probe.restarters.shell import Step
from heartbeat.probe.restarters.subject import UNNAMED, UNREAD, quote, short, words_of
from heartbeat.probe.restarters.target import Target
from heartbeat.probe.restarters.unwrap import unwrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from heartbeat.probe.restarters.peers import Peer
    from heartbeat.probe.restarters.subject import Subject


class Search:
    """One search for the restarters of one subject; what it finds on the way is added to it.

    `seen_pids` and `seen_units` belong to restarters that have been named: each is named once. `keeper` is who was
    found to keep the subject, where nothing names its unit or job.
    """

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.me = user_name(os.geteuid())
        self.is_root = os.geteuid() == 0
        self.owner = subject.user or self.me
        peer = peer_of(subject.pid) if subject.pid else None
        self._parent = peer.parent if peer else 0
        self.target = _meet(subject, self.owner, peer)
        self.scripts = Scripts(subject.needles)
        self.seen_pids: set[int] = set()
        self.seen_units: set[str] = set()
        self.keeper = ""

    @property
    def accuses(self) -> bool:
        """Whether a second supervisor can be told from its own."""
        return self.subject.kept != UNREAD

    def is_kept_by(
        self, pid: int, commands: Iterable[Sequence[str]], *, user: str = "", assigned: Sequence[str] = ()
    ) -> bool:
        """Whether a unit or job with these commands, whose main process is *pid*, keeps the subject, unnamed as it is.

        That is the very process, or a script around it: one of the commands must run the subject then, for a manager is
        the parent of many.
        """
        if pid <= 1 or self.keeper or self.subject.kept != UNNAMED:
            return False
        is_around = pid == self._parent and any(self.is_daemon(argv, user=user, assigned=assigned) for argv in commands)
        return pid == self.subject.pid or is_around

    def adopt(self, keeper: str, *, units: Sequence[str] = (), labels: Sequence[str] = (), scope: str = "") -> None:
        """Take it for the subject's own, by whose name it may be restarted."""
        self.keeper = keeper
        self.subject.units, self.subject.labels, self.subject.scope = tuple(units), tuple(labels), scope
        self.scripts = Scripts(self.subject.needles)

    def restarting(
        self, argv: Sequence[str], *, user: str = "", folder: str = "", assigned: Sequence[str] = ()
    ) -> Step | None:
        """The command that restarts the subject among all that *argv* runs: one in a loop before any other."""
        target = self.target.of(user)
        steps = unwrap([Step(argv, assigned=assigned)], self.scripts, folder)
        guilty = [step for step in steps if restarts(target, step)]
        return max(guilty, key=lambda step: step.looped, default=None)

    def restarting_text(self, text: str, *, user: str = "", folder: str = "") -> Step | None:
        """The same for a line that a shell reads."""
        return self.restarting(("sh", "-c", text), user=user, folder=folder)

    def is_daemon(self, argv: Sequence[str], *, user: str = "", assigned: Sequence[str] = ()) -> bool:
        """Whether *argv* runs the subject itself."""
        steps = unwrap([Step(argv, assigned=assigned)], self.scripts)
        return any(runs(self.target.of(user), step) for step in steps)

    def as_root(self, *words: str) -> str:
        """The command that root must give, as whoever asks may give it."""
        return quote(words if self.is_root else ("sudo", *words))


def told(step: Step) -> str:
    """The command, for a message."""
    via = f"{step.script}, which has " if step.script else ""
    return f"{via}`{short(step.words)}`"


def user_name(uid: int) -> str:
    """The name of a user; the number when there is none."""
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def uid_of(name: str) -> int | None:
    """The number of a user."""
    import pwd

    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return int(name) if name.isdigit() else None


def _meet(subject: Subject, owner: str, peer: Peer | None) -> Target:
    firsts = [words_of(command)[0] for command in subject.commands]
    line = " ".join(peer.argv) if peer and peer.argv else f"{''.join(subject.commands[:1])} run"
    names = [*firsts, *([peer.name] if peer else [])]
    return Target(subject, owner=owner, user="", line=line, names=names)
