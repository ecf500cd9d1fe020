"""Reading secrets at the moment they are needed: those that other programs keep are asked of them, within bounds."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Event

from heartbeat.clock import new_id, utc_now
from heartbeat.config.secret import LARGEST, Secret, expand
from heartbeat.config.wording import show
from heartbeat.job import ask_keyring
from heartbeat.model import Captured, Execution
from heartbeat.process import Command, execute

LIMIT = timedelta(seconds=10)
"""For all the programs of one reading together."""
AT_ONCE = 16
"""How many of them run side by side."""

_BY_HAND = "run it by hand to see why"
_NOT_INSTALLED = (
    "cannot ask the keyring: the library for it is not installed beside heartbeat; "
    "install heartbeat with it, as in `pip install 'heartbeat[keyring]'`"
)
_KEYRING_FAULTS = {
    ask_keyring.NOT_INSTALLED: _NOT_INSTALLED,
    ask_keyring.NO_ENTRY: "cannot find {entry} in the keyring; put it there with `keyring set SERVICE USER`",
    ask_keyring.NO_KEYRING: "cannot find a keyring: none answers heartbeat here; start it within a desktop session, "
    "or keep the secret in a file",
    ask_keyring.LOCKED: "cannot read the keyring: it is locked; unlock it",
}


class _Stop(Event):
    """Set with the run's, or when nobody waits for the answers any more."""

    def __init__(self, outer: Event | None) -> None:
        super().__init__()
        self._outer = outer

    def is_set(self) -> bool:
        return super().is_set() or (self._outer is not None and self._outer.is_set())


@dataclass(frozen=True, slots=True)
class Vault:
    """Where secrets are read, for one run or for the agent."""

    folder: Path
    """What a bare file name is relative to, and where programs are started."""
    environ: Mapping[str, str]
    """Heartbeat's own environment: the keepers of secrets find their agent and their bus in it."""
    search_path: str
    """Where programs are found: the declared one, as a service has another than the owner's shell."""
    mark: str = ""
    """The id of the run or wake, by which strays of the programs are recognised."""
    stop: Event | None = None
    credentials: Mapping[str, str] = field(default_factory=dict)
    """Those of [service], for where systemd hands over none."""

    def check(self, secret: Secret) -> None:
        """Raise ValueError when the secret cannot be had; no program is run for it."""
        if secret.command:
            program = self._program(secret.command)
            if not shutil.which(program, path=self.search_path):
                where = "there is no such program" if "/" in program else f"it is not on the PATH {self.search_path}"
                remedy = "install it, correct it, or add its folder to path in [environment]"
                raise ValueError(f"cannot run {program!r} for a secret: {where}; {remedy}")
        elif secret.keyring:
            if find_spec("keyring") is None:
                raise ValueError(_NOT_INSTALLED)
        else:
            secret.read(self.folder, self.environ, self.credentials)

    def read(self, secrets: Collection[Secret]) -> dict[Secret, str | ValueError]:
        """The value of each, or why it cannot be had; programs are run side by side."""
        near = [secret for secret in secrets if not (secret.command or secret.keyring)]
        far = [secret for secret in dict.fromkeys(secrets) if secret.command or secret.keyring]
        stop, ends_at = _Stop(self.stop), time.monotonic() + LIMIT.total_seconds()
        ask = partial(self._answer, ends_at=ends_at, stop=stop)
        found = {secret: self._answer(secret, ends_at, stop) for secret in near}
        if len(far) < 2:  # noqa: PLR2004 - one alone needs no thread
            return found | {secret: ask(secret) for secret in far}
        with ThreadPoolExecutor(min(len(far), AT_ONCE), thread_name_prefix="secret") as pool:
            try:
                return found | dict(zip(far, pool.map(ask, far), strict=True))
            except BaseException:
                # Ctrl-C comes to the main thread alone; the pool would wait for the programs.
                stop.set()
                raise

    def _answer(self, secret: Secret, ends_at: float, stop: Event) -> str | ValueError:
        left = timedelta(seconds=max(0.0, ends_at - time.monotonic()))
        try:
            if secret.command:
                return self._first_line(secret.command, left, stop)
            if secret.keyring:
                return self._from_keyring(secret.keyring, left, stop)
            return secret.read(self.folder, self.environ, self.credentials)
        except ValueError as error:
            return error

    def _first_line(self, words: tuple[str, ...], left: timedelta, stop: Event) -> str:
        program = self._program(words)
        who = f"the secret from {show(os.path.basename(program))}"
        ended = self._run((program, *words[1:]), left, stop, who)
        if ended.exit_code:
            raise ValueError(f"cannot get {who}: it ended with exit status {ended.exit_code}; {_BY_HAND}")
        return _text(ended.stdout, who, only_first_line=True)

    def _from_keyring(self, entry: str, left: timedelta, stop: Event) -> str:
        service, _, user = entry.rpartition("/")
        who = f"{show(entry)} from the keyring"
        # -P: our modules beside it must not shadow those of a library.
        ended = self._run((sys.executable, "-P", ask_keyring.__file__, service, user), left, stop, who)
        if ended.exit_code:
            other = "cannot read the keyring: it failed; try `keyring get SERVICE USER`"
            raise ValueError(_KEYRING_FAULTS.get(ended.exit_code, other).format(entry=show(entry)))
        return _text(ended.stdout, who, only_first_line=False)

    def _run(self, argv: tuple[str, ...], left: timedelta, stop: Event, who: str) -> Execution:
        """A run that ended by itself, with whatever exit status. What it says on stderr may hold the secret."""
        # Two marks: what one program leaves behind is not another's of this run, yet the run's if heartbeat is killed.
        own = new_id("secret", utc_now())
        marks = {"HEARTBEAT_RUN_ID": self.mark, "HEARTBEAT_WAKE_ID": own}
        env = {**self.environ, "PATH": self.search_path, **marks}
        ended = execute(Command(argv, env, str(self.folder), left, own, stdout_limit=LARGEST, stderr_limit=0), stop)
        if ended.start_error:
            raise ValueError(ended.start_error)
        if ended.interrupted:
            raise ValueError(f"cannot wait for {who}: heartbeat was stopping; run the job again")
        if ended.timed_out:
            limit = f"{LIMIT.total_seconds():g} s"
            raise ValueError(f"cannot wait for {who}: it took over {limit}; let it answer without asking anybody")
        if ended.exit_code is None:
            raise ValueError(f"cannot get {who}: it ended with signal {ended.signal}; {_BY_HAND}")
        return ended

    def _program(self, words: tuple[str, ...]) -> str:
        return str(expand(words[0], self.folder, self.environ)) if "/" in words[0] else words[0]


def _text(printed: Captured, who: str, *, only_first_line: bool) -> str:
    if printed.total > LARGEST:
        raise ValueError(f"cannot use {who}: it is over 64 KiB; let only the secret be printed")
    raw = printed.joined()
    if only_first_line:
        raw = raw.split(b"\n", 1)[0].removesuffix(b"\r")
    try:
        value = raw.decode()
    except UnicodeDecodeError:
        # The error's own text would quote bytes of the secret.
        raise ValueError(f"cannot use {who}: it is not UTF-8 text; save the secret as text") from None
    if not value or "\0" in value:
        raise ValueError(f"cannot use {who}: it is empty or holds a NUL character; let the secret be printed first")
    return value
