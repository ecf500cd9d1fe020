"""Asking systemd, and telling it: one manager, the user's own or the machine's."""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Mapping
from pathlib import Path

from heartbeat.ask import Answer, ask
from heartbeat.errors import ServiceError
from heartbeat.service.plan import Scope

_SHORT, _LINES = 10.0, 12
_USUAL = "/usr/bin:/bin:/usr/sbin:/sbin:/run/current-system/sw/bin"
BOOTED, RUNTIME = Path("/run/systemd/system"), Path("/run/user")
_FACTS = (
    "LoadState",
    "ActiveState",
    "SubState",
    "Result",
    "MainPID",
    "NRestarts",
    "ExecMainCode",
    "ExecMainStatus",
    "StatusText",
    "UnitFileState",
    "NeedDaemonReload",
    "FragmentPath",
    "DropInPaths",
)


class Systemctl:
    """`systemctl` and `journalctl` for one scope; *booted* and *runtime* are where systemd shows that it runs."""

    def __init__(
        self, scope: Scope, environ: Mapping[str, str], booted: Path = BOOTED, runtime: Path = RUNTIME
    ) -> None:
        self.option = "--user " if scope == "user" else ""
        """For commands that the owner is told to type."""
        self._scope = scope
        self._booted = booted
        self._folder = _own_folder(environ, runtime)
        self._words = ("systemctl", "--user") if scope == "user" else ("systemctl",)
        # In su, ssh and cron nobody sets XDG_RUNTIME_DIR, or it is still that of another user.
        folder = {"XDG_RUNTIME_DIR": self._folder} if self._folder else {}
        plain = {"LC_ALL": "C.UTF-8", "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": "cat", "SYSTEMD_URLIFY": "0"}
        self._environ = {**environ, **folder, **plain}

    def why_not(self) -> str:
        """Why this manager cannot be used; an empty text when it can."""
        if not self._booted.is_dir():
            return (
                f"systemd does not run this machine (there is no {self._booted}); "
                "without a service manager: `heartbeat run --detach`"
            )
        if self._scope == "user" and not (self._folder and os.path.exists(f"{self._folder}/systemd/private")):
            name = own_name()
            if os.geteuid() == 0:
                if owner := _whose_home(self._environ):
                    return f"root asks in the folders of {owner}; ask as {owner}, without sudo"
                return "root has no user manager of its own; use `heartbeat install --system --as USER`"
            return (
                f"there is no user manager for {name}: nobody of that name is logged in, and it does not linger; "
                f"run `sudo loginctl enable-linger {name}` and try again"
            )
        return ""

    def facts(self, unit: str) -> dict[str, str]:
        """What the manager knows of a unit; raises ServiceError."""
        answer = self.ask("show", "--property", ",".join(_FACTS), unit, seconds=_SHORT)
        found = dict(line.partition("=")[::2] for line in answer.text.splitlines() if "=" in line)
        if answer.status != 0 or "ActiveState" not in found:
            raise ServiceError(f"cannot ask systemd about {unit}: {_reason(answer)}; see that `systemctl` works here")
        return found

    def folders(self) -> tuple[str, ...]:
        """Where the manager looks for units; none when it does not say."""
        answer = self.ask("show", "--property", "UnitPath", seconds=_SHORT)
        found = [line.removeprefix("UnitPath=") for line in answer.text.splitlines() if line.startswith("UnitPath=")]
        return tuple(found[0].split()) if answer.status == 0 and found else ()

    def ask(self, *words: str, seconds: float) -> Answer:
        program, *rest = self._words
        return ask([_program(program), *rest, *words], self._environ, seconds=seconds)

    def tell(self, *words: str, seconds: float = 30.0) -> None:
        """Have the manager do something; raises ServiceError with its own words."""
        answer = self.ask(*words, seconds=seconds)
        if answer.status != 0:
            command = " ".join((*self._words, *words))
            raise ServiceError(f"cannot have systemd do it: `{command}` said: {_reason(answer)}; run it by hand")

    def journal(self, *units: str) -> tuple[str, ...]:
        """The command that shows the journal of these units.

        `--user-unit` without `--user` finds a user's units in whichever journal they are kept: with `--user` there is
        nothing to see on a machine that keeps its journal in memory.
        """
        option = "--user-unit" if self._scope == "user" else "--unit"
        return ("journalctl", "--no-hostname", *(f"{option}={unit}" for unit in units))

    def last_lines(self, unit: str) -> str:
        """What its journal ends with; an empty text when it cannot be read."""
        argv = [*self.journal(unit), "--no-pager", "--output=cat", f"--lines={_LINES}", "--quiet"]
        answer = ask([_program(argv[0]), *argv[1:]], self._environ, seconds=_SHORT)
        return answer.text.strip() if answer.status == 0 else ""


def lingers(name: str, folder: Path = Path("/var/lib/systemd/linger")) -> bool:
    """Whether the user's manager runs without a login."""
    return (folder / name).exists()


def own_name() -> str:
    """The name of whoever asks."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _whose_home(environ: Mapping[str, str]) -> str:
    """Whose HOME root has kept (`sudo -E`); an empty text when it is root's own."""
    try:
        uid = os.stat(environ.get("HOME") or "/root").st_uid
        return pwd.getpwuid(uid).pw_name if uid != 0 else ""
    except (OSError, KeyError):
        return ""


def _own_folder(environ: Mapping[str, str], runtime: Path) -> str:
    """The runtime folder of the user who asks; an empty text when there is none."""
    for folder in (environ.get("XDG_RUNTIME_DIR", ""), str(runtime / str(os.geteuid()))):
        try:
            if os.path.isabs(folder) and os.stat(folder).st_uid == os.geteuid():
                return folder
        except OSError:
            continue
    return ""


def _program(name: str) -> str:
    """Where it lies, also when PATH is empty, or names other folders only."""
    return shutil.which(name) or shutil.which(name, path=_USUAL) or name


def _reason(answer: Answer) -> str:
    return answer.fault or " ".join(answer.text.split()) or f"exit status {answer.status}"
