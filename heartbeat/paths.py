"""Where things are: the folders shipped with heartbeat, and the folders of one installation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from heartbeat.folders import CRASH, INTENT, LOCK, MARKER, PULSE, STARTS, find_folders

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "share"
_CHECKOUT = _PACKAGE.parent


def share(name: str) -> Path:
    """The shipped folder *name* (`jobs`, `gates`, …), from the wheel or else from the checkout."""
    in_checkout = not _INSTALLED.is_dir() and (_CHECKOUT / "pyproject.toml").is_file()
    folder = (_CHECKOUT if in_checkout else _INSTALLED) / name
    if not folder.is_dir():
        msg = f"cannot find the shipped folder {name!r} at {folder}; reinstall heartbeat"
        raise FileNotFoundError(msg)
    return folder


@dataclass(frozen=True, slots=True)
class Home:
    """The folders of one installation; nothing is created by making one."""

    config: Path
    """Holds `config.toml` and the owner's `jobs/`."""
    state: Path
    """Holds the ledger, the lock and the pulse."""
    cache: Path
    """May be deleted at any time."""

    @property
    def config_file(self) -> Path:
        return self.config / "config.toml"

    @property
    def jobs(self) -> Path:
        return self.config / "jobs"

    @property
    def ledger_file(self) -> Path:
        return self.state / "ledger.db"

    @property
    def lock_file(self) -> Path:
        return self.state / LOCK

    @property
    def pulse_file(self) -> Path:
        return self.state / PULSE

    @property
    def starts_file(self) -> Path:
        return self.state / STARTS

    @property
    def marker_file(self) -> Path:
        """Says that heartbeat is installed as a service, and which."""
        return self.state / MARKER

    @property
    def intent_file(self) -> Path:
        """Says that the owner has just asked for a start or a stop."""
        return self.state / INTENT

    @property
    def crash_file(self) -> Path:
        """Where the interpreter writes what every thread was at when the process was aborted."""
        return self.state / CRASH

    @property
    def log_file(self) -> Path:
        """The log of a daemon that no journal keeps one for."""
        return self.state / "heartbeat.log"

    @property
    def agent_lock_file(self) -> Path:
        """Held while a wake is with the agent: one at a time, whichever process sends it."""
        return self.state / "agent.lock"

    def environment(self) -> dict[str, str]:
        """The variables with which a child process finds this same installation."""
        return {
            "HEARTBEAT_HOME": str(self.config),
            "HEARTBEAT_STATE_DIR": str(self.state),
            "HEARTBEAT_CACHE_DIR": str(self.cache),
        }


def find_home(folder: str | None, environ: Mapping[str, str]) -> Home:
    """The installation meant by `--home`, by the environment, or else the user's own folders."""
    return Home(*map(Path, find_folders(folder, environ)))
