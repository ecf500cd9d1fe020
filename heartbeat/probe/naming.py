"""The commands in messages, as they must be typed for the installation that they are about. Standard library only."""

from __future__ import annotations

from heartbeat.folders import SYSTEM

_START = "`heartbeat "
_OF_THE_SERVICE = ("install", "uninstall", "start", "stop", "restart", "reload", "status", "logs", "check", "health")
"""The verbs that know `--system`."""


def named(message: str, home: str) -> str:
    """Each `heartbeat VERB` of the message, for the installation in *home*."""
    first, *rest = message.split(_START)
    return first + "".join(_START + _with_home(words, home) for words in rest)


def _with_home(words: str, home: str) -> str:
    """*words* begin behind `heartbeat `."""
    command, end, after = words.partition("`")
    if command.startswith("-"):
        return words  # it says so itself
    if home == SYSTEM[0] and command.partition(" ")[0] in _OF_THE_SERVICE:
        return f"{command} --system{end}{after}"
    from heartbeat.probe.restarters.subject import quote

    return f"--home {quote((home,))} {command}{end}{after}"
