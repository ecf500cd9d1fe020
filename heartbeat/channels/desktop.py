"""A channel to the desktop of this machine: notify-send on Linux, osascript on macOS. Nothing says that it was seen."""

from __future__ import annotations

import html
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from heartbeat.channels._ground import Errand, Ground, complaint, missing_program, run
from heartbeat.channels._said import Said, said
from heartbeat.config.channels import ChannelSettings
from heartbeat.errors import ChannelError, Problem
from heartbeat.model import Message, Urgency

_ROOM = 1000
"""Characters of a body; no bubble shows more. While it is sent, other users of the machine may see it in `ps`."""
_URGENCIES = {Urgency.LOW: "low", Urgency.CRITICAL: "critical"}
_SCRIPT = ("on run argv", "display notification (item 3 of argv) with title (item 2 of argv)", "end run")
_RUN = "/run/user"
_BUS = "DBUS_SESSION_BUS_ADDRESS"


@dataclass(frozen=True, slots=True)
class DesktopChannel:
    """Shows each message as a bubble."""

    name: str
    own: ChannelSettings
    ground: Ground
    platform: str = sys.platform

    def send(self, message: Message) -> bool:
        """Show it; never a proof."""
        bus = {} if self.platform == "darwin" else self._bus()
        argv = argv_for(said(message, trailer=self.own.trailer), message.urgency, self.platform)
        ended = run(self.ground, self.name, self.own, Errand(argv, message.id, more=bus))
        if ended.exit_code:
            how = f"{argv[0]} ended with exit status {ended.exit_code}"
            error = f"cannot send through the channel {self.name!r}: {how}{complaint(ended)}"
            raise ChannelError(error, retryable=True)
        return False

    def _bus(self) -> Mapping[str, str]:
        given = self.own.env.get(_BUS) or self.ground.environ.get(_BUS)
        if given:
            return {_BUS: given}
        # A daemon that was started before the desktop does not have the variable.
        usual = Path(f"{_RUN}/{os.getuid()}/bus")
        if usual.is_socket():
            return {_BUS: f"unix:path={usual}"}
        message = (
            f"cannot send through the channel {self.name!r}: nobody is at the desktop ({usual} is missing); log in"
        )
        raise ChannelError(message, retryable=True)


def argv_for(parts: Said, urgency: Urgency, platform: str) -> tuple[str, ...]:
    """The call of this system's program; what strangers wrote is never a part of a script or an option."""
    body = parts.body(_ROOM)
    if platform == "darwin":
        lines = (word for line in _SCRIPT for word in ("-e", line))
        return ("osascript", *lines, "heartbeat", parts.title, body)
    # notify-send takes backslashes of a body for escapes, and the desktop its tags for markup.
    shown = html.escape(body, quote=False).replace("\\", "\\\\")
    level = _URGENCIES.get(urgency, "normal")
    return ("notify-send", "--app-name=heartbeat", f"--urgency={level}", "--", parts.title, shown)


def channel(name: str, own: ChannelSettings, ground: Ground) -> DesktopChannel:
    return DesktopChannel(name, own, ground)


def check(name: str, own: ChannelSettings, ground: Ground, file: str) -> list[Problem]:
    program = "osascript" if sys.platform == "darwin" else "notify-send"
    return missing_program(program, f"channels.{name}.kind", own, ground, file)
