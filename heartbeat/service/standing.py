"""What is installed here: the service of an installation as it was written down, and how it differs from today's."""

from __future__ import annotations

from collections.abc import Mapping

from heartbeat.config import Settings
from heartbeat.errors import HeartbeatError
from heartbeat.marker import Marker, read_marker
from heartbeat.paths import Home
from heartbeat.service import find_manager
from heartbeat.service.planning import find_user, make_plan, scope_of
from heartbeat.service.system import user_of


def installed(home: Home) -> Marker | None:
    """The service of this installation; None when there is none, or what says so cannot be read."""
    try:
        marker = read_marker(home.marker_file)
    except (OSError, ValueError):
        return None
    return None if marker is None or marker.manager == "none" else marker


def drift_of(home: Home, settings: Settings, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Each way in which the service that is installed is not what `install` would write now.

    Nothing when none is installed, and when its supervisor cannot be asked: never a failure.
    """
    marker = installed(home)
    if marker is None:
        return ()
    scope = scope_of(home)
    try:
        manager = find_manager(scope, environ, marker.manager).manager
        if manager is None:
            return ()
        return manager.drift(make_plan(home, settings, environ, scope=scope, user=runs_as(home)))
    except (HeartbeatError, OSError):
        return ()


def environ_of(home: Home, environ: Mapping[str, str]) -> Mapping[str, str]:
    """That of the caller, but with the home folder of whom the service runs as: `~` in its configuration is theirs."""
    user = runs_as(home)
    return {**environ, "HOME": find_user(user).pw_dir} if user else environ


def runs_as(home: Home) -> str:
    """Who the service runs as, in the system's scope; empty in a user's own, where that is no question."""
    return user_of(home) if scope_of(home) == "system" else ""
