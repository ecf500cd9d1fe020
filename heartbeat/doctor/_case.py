"""What every question is asked about: one installation as it is now, as far as it could be read."""

from __future__ import annotations

import os
import pwd
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from heartbeat.config import Settings, read_settings
from heartbeat.errors import ConfigError, HeartbeatError, Problem
from heartbeat.inside import INSIDE, Inside, read_inside
from heartbeat.job import Config, load
from heartbeat.lock import holder_of
from heartbeat.marker import Marker, read_marker
from heartbeat.paths import Home, find_home
from heartbeat.service.planning import SYSTEM


@dataclass(frozen=True, slots=True)
class Case:
    """The installation, and what its other half says of itself."""

    home: Home
    environ: Mapping[str, str]
    """The shell's, but with the HOME of whoever the installation belongs to."""
    now: datetime
    settings: Settings
    """As far as they can be used; the defaults for the rest."""
    owner: int
    """The uid of whoever the installation belongs to."""
    config: Config | None = None
    """None when it is not valid; then *problems* say why."""
    problems: tuple[Problem, ...] = ()
    inside: Inside | None = None
    """What the daemon said when it last read its configuration; see *inside_fault* for why there is nothing."""
    inside_fault: str = ""
    lives: bool = False
    """Whether *inside* was said by the daemon that runs now."""
    marker: Marker | None = None
    """Which service it is installed as."""
    platform: str = sys.platform

    @property
    def path(self) -> str:
        """The PATH of the shell."""
        return self.environ.get("PATH", "")

    @property
    def owner_name(self) -> str:
        return name_of(self.owner)

    @property
    def as_owner(self) -> str:
        """What a command is to begin with here, so that the owner runs it."""
        return "" if os.geteuid() == self.owner else f"sudo -u {self.owner_name} "

    @property
    def option(self) -> str:
        """What a command needs to find this installation, where it would find another one by itself."""
        in_one = self.home.state == self.home.config / "state"
        is_found = not self.as_owner and find_home(None, self.environ) == self.home
        meant = in_one or self.home == SYSTEM
        return f" --home {shlex.quote(str(self.home.config))}" if meant and not is_found else ""


def admit(home: Home, environ: Mapping[str, str], now: datetime) -> Case:
    """The case of an installation; raises nothing, whatever state it is in."""
    owner = _owner_of(home)
    if owner != os.geteuid():
        # Otherwise `~` in its configuration would be read as ours.
        environ = {**environ, "HOME": home_of(owner) or environ.get("HOME", "")}
    settings, config, problems = _configuration(home, environ)
    inside, fault = _inside(home)
    return Case(
        home,
        environ,
        now,
        settings,
        owner,
        config,
        problems,
        inside,
        fault,
        lives=inside is not None and _holder(home) == inside.owner,
        marker=_marker(home),
    )


def name_of(uid: int) -> str:
    """The name of a user, or its number where it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def home_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_dir
    except KeyError:
        return ""


def _owner_of(home: Home) -> int:
    """Of the evidence first: who runs the daemon is who owns its state; of /etc/heartbeat the owner is root."""
    for path in (home.state, home.config_file, home.config):
        try:
            return os.stat(path).st_uid
        except OSError:
            continue
    return os.geteuid()


def _configuration(home: Home, environ: Mapping[str, str]) -> tuple[Settings, Config | None, tuple[Problem, ...]]:
    try:
        config = load(home, environ)
    except ConfigError as error:
        return _usable(home), None, error.problems
    except HeartbeatError as error:
        return _usable(home), None, (Problem(str(home.config_file), "", str(error), "correct it"),)
    return config.settings, config, ()


def _usable(home: Home) -> Settings:
    try:
        return read_settings(home.config_file).settings
    except ConfigError:
        return Settings()


def _inside(home: Home) -> tuple[Inside | None, str]:
    file = home.state / INSIDE
    try:
        inside = read_inside(file)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        return None, f"cannot use {file}: {why or 'it cannot be read'}"
    return inside, "" if inside else "no daemon has written down yet what it sees; it does so at each start"


def _holder(home: Home) -> str | None:
    try:
        return holder_of(home.lock_file)
    except OSError:
        return None


def _marker(home: Home) -> Marker | None:
    try:
        return read_marker(home.marker_file)
    except (OSError, ValueError):
        return None
