"""The last word on a heartbeat that is down for good: to its owner, straight through the channels.

Not by way of the ledger: nobody would send what stands there, and it may be why heartbeat is down.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Mapping
from threading import Event

from heartbeat.channels import find_channels, routes_of
from heartbeat.cli.shell import Shell
from heartbeat.clock import new_id, utc_now
from heartbeat.config import Settings, read_settings
from heartbeat.errors import ChannelError, ConfigError, ServiceError
from heartbeat.model import Message, MessageKind, MessageState, Urgency
from heartbeat.ports import Channel
from heartbeat.routing import channels_for
from heartbeat.service.planning import scope_of
from heartbeat.service.results import in_words
from heartbeat.service.systemctl import Systemctl
from heartbeat.text import one_line
from heartbeat.watchman import Notebook, places_of, take_note

PAUSES = (0.0, 5.0, 30.0)
"""Seconds before each try: nobody tries again after the last one."""
_NOT_RETRIED = ("2", "4", "5")
"""RestartPreventExitStatus= of the unit."""
_LOUD, _PLAIN = "<1>", "<6>"
"""How urgent a line is, as sd-daemon(3) has it: the journal shows the first in red, and in `journalctl -p alert`."""


def tell(call: Shell, unit: str, sleep: Callable[[float], object]) -> int:
    """How many channels took it; whatever goes wrong is said on stderr, which is the journal."""
    title, body = words_of(unit, call.environ, _restarts(unit, call))
    _say(_LOUD, call.environ, f"{title}: {body}")
    settings = _settings(call)
    channels = find_channels(settings, call.home, call.environ, Event()) if settings else {}
    names = channels_for(routes_of(settings), MessageKind.INCIDENT, Urgency.CRITICAL) if settings else ()
    if not names:
        reason = "no channel takes incidents in" if settings else "what cannot be read names no channel:"
        _say(_LOUD, call.environ, f"nobody was told of it: {reason} {call.home.config_file}")
    waiting, told = dict.fromkeys(names, ""), list[str]()
    for pause in PAUSES:
        if waiting:
            sleep(pause)
        for name in list(waiting):
            waiting[name] = _send(channels[name], _message(name, title, body))
            if not waiting[name]:
                del waiting[name]
                told.append(name)
                _say(_PLAIN, call.environ, f"told through the channel {name!r}")
    for name, reason in waiting.items():
        _say(_LOUD, call.environ, f"not told through the channel {name!r}: {reason}")
    # Or whoever looks from outside would say the same again a minute later.
    take_note(Notebook(places_of(str(call.home.state), call.environ)), "heartbeat", told, utc_now())
    return len(told)


def words_of(unit: str, environ: Mapping[str, str], restarts: int = 0) -> tuple[str, str]:
    """Title and text, from what systemd says of the unit (systemd.exec(5), `$MONITOR_SERVICE_RESULT`).

    systemd keeps to itself that it gave up after so many *restarts*: it says how the last one ended.
    """
    result, status = environ.get("MONITOR_SERVICE_RESULT", ""), environ.get("MONITOR_EXIT_STATUS", "")
    what, remedy = in_words(result, status) if result or status else ("systemd does not say why", "`heartbeat logs`")
    if restarts and status not in _NOT_RETRIED and result != "start-limit-hit":
        what = f"it was started too often, {restarts} times in vain, and the last time {what}"
    raw = f"systemd says: {result or 'nothing'}" + (f", status {status}" if status else "")
    title = f"heartbeat is down on {socket.gethostname()}"
    effect = "No job runs and nothing is told until it is started again"
    return title, f"{unit} failed, and stays down: {what}. {effect}. What to do: {remedy}. ({raw})"


def _restarts(unit: str, call: Shell) -> int:
    """How often systemd started it again by itself; 0 when it cannot be asked."""
    ctl = Systemctl(scope_of(call.home), call.environ)
    try:
        counted = "" if ctl.why_not() else ctl.facts(unit)["NRestarts"]
    except (ServiceError, KeyError):
        return 0
    return int(counted) if counted.isdigit() else 0


def _settings(call: Shell) -> Settings | None:
    """The settings as far as they can be used: faults in them may be why heartbeat is down."""
    try:
        reading = read_settings(call.home.config_file)
    except ConfigError as error:
        _say(_LOUD, call.environ, f"the configuration cannot be read, so no channel is known: {error}")
        return None
    for problem in reading.problems:
        _say(_LOUD, call.environ, f"the configuration has a fault: {problem}")
    return reading.settings


def _message(channel: str, title: str, body: str) -> Message:
    now = utc_now()
    kind, state = MessageKind.INCIDENT, MessageState.SENDING
    return Message(new_id("msg", now), kind, channel, state, title, body, created_at=now, urgency=Urgency.CRITICAL)


def _send(channel: Channel, message: Message) -> str:
    """Why it did not go; an empty text when it did."""
    try:
        channel.send(message)
    except ChannelError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - the other channels must be tried whatever one of them does
        return f"{type(error).__name__}: {error}"
    return ""


def _say(level: str, environ: Mapping[str, str], text: str) -> None:
    mark = level if environ.get("JOURNAL_STREAM") else "heartbeat: "
    print(f"{mark}{one_line(text, 4000)}", file=sys.stderr, flush=True)
