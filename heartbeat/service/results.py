"""How a service ended, in words: systemd's SERVICE_RESULT with the exit status, and what to do about it."""

from __future__ import annotations

from signal import Signals

_RESULTS = {
    "success": ("it ended by itself", "`heartbeat start` starts it again"),
    "protocol": ("it ended before it said that it was ready", "`heartbeat logs` shows why"),
    "timeout": ("it did not start, or stop, in time", "`heartbeat logs` shows what it was at"),
    "watchdog": (
        "it hung: systemd heard nothing of it for too long",
        "the file crash.txt in its state folder says at what; `heartbeat doctor` looks at the rest",
    ),
    "core-dump": ("it crashed", "the file crash.txt in its state folder says where"),
    "oom-kill": ("the machine had no memory left", "see what takes it; scripts are children of heartbeat"),
    "start-limit-hit": ("it was started too often", "`heartbeat logs` shows why it ended each time"),
    "resources": ("systemd had no means to start it", "`heartbeat logs` shows which"),
}
_STATUSES = {
    "2": ("it was called in a wrong way", "`heartbeat install` writes the service anew"),
    "4": ("the configuration, or the ledger, has faults", "`heartbeat check` names them; then `heartbeat start`"),
    "5": (
        "another heartbeat runs with the same folders",
        "`heartbeat health` says which; end that, then `heartbeat start`",
    ),
    "200": ("its folder cannot be entered", "see to the home folder of its user"),
    "203": (
        "its interpreter cannot be run by that user, or is gone",
        "install heartbeat where that user may go, on no mount with noexec, then `heartbeat install`",
    ),
    "217": ("its user does not exist, or cannot be taken on", "`heartbeat install --system --as USER` names another"),
    "226": (
        "a folder that it is to have does not exist, or mounts are not allowed here",
        "`heartbeat logs` names the folder",
    ),
    "243": ("a credential could not be handed over", "look at [service] credentials"),
}
_NUMBERS = {str(int(each)): each.name.removeprefix("SIG") for each in Signals}
_ANY_STATUS = "it ended with exit status {status}", "`heartbeat logs` shows why"
_ANY_SIGNAL = "it was killed by {status}", "`heartbeat logs` shows what came before"


def in_words(result: str, status: str) -> tuple[str, str]:
    """What happened, and what to do; *status* is an exit status, or the name of a signal."""
    if result in ("exit-code", "") and status in _STATUSES:
        return _STATUSES[status]
    if result in _RESULTS:
        return _RESULTS[result]
    if result == "signal":
        what, remedy = _ANY_SIGNAL
        return what.format(status=_signal(status)), remedy
    what, remedy = _ANY_STATUS
    return what.format(status=status or "unknown"), remedy


def _signal(status: str) -> str:
    """Its name, which systemd gives as such to a unit, and as a number when it is asked."""
    if status not in _NUMBERS:
        return status if status not in ("", "0") else "a signal"
    return _NUMBERS[status]
