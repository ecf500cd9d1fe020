"""Whether a service of the user's own lives on after logging out, and comes up with the machine."""

from __future__ import annotations

import os
from collections.abc import Iterator

from heartbeat.doctor._answer import Answer, ok, skip, warn
from heartbeat.doctor._case import Case

FOLDER = "/var/lib/systemd/linger"
"""systemd-logind keeps an empty file in it for each user who lingers."""


def look(case: Case) -> Iterator[Answer]:
    """Of systemd's user units; launchd has no such thing."""
    marker, name = case.marker, case.owner_name
    if marker is None:
        yield skip("`heartbeat install` has made no service")
    elif marker.manager == "none":
        yield skip("heartbeat runs detached: it ends with the machine, and nobody starts it again")
    elif marker.manager == "launchd" and marker.domain.startswith("gui/"):
        remedy = "log in automatically, or install it in the domain of the user (over ssh)"
        yield warn(f"it runs only while {name} is logged in at the screen: its domain is {marker.domain}", remedy)
    elif marker.manager != "systemd" or marker.domain != "user":
        yield skip(
            f"this matters only for a user's own service under systemd; this one is {marker.manager}'s, {marker.domain}"
        )
    elif os.path.exists(f"{FOLDER}/{name}"):
        yield ok(f"{name} lingers: the service is there from the start of the machine on")
    else:
        seen = f"{name} does not linger: the service ends when they log out, and waits for the next login"
        yield warn(seen, f"`sudo loginctl enable-linger {name}`")
