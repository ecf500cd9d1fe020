"""Whether this machine's clock is kept right by somebody."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

from heartbeat.ask import ask
from heartbeat.doctor._answer import Answer, ok, skip, warn
from heartbeat.doctor._case import Case

_UNSYNC = 16_000_000
"""Microseconds of possible error at which the kernel calls its clock unkept; timedatectl goes by the same."""
_REMEDY = (
    "`sudo timedatectl set-ntp true`, or install chrony; in a virtual machine or a container the host's clock counts"
)


class _Timex(ctypes.Structure):
    """The beginning of the kernel's `struct timex`, with room for the rest; see adjtimex(2)."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_byte * 512),
    )


def look(case: Case) -> Iterator[Answer]:
    """By the kernel's own word; chrony may keep the clock without telling the kernel."""
    if case.platform != "linux":
        yield skip("this system does not tell; see its settings for date and time")
        return
    error = largest_error()
    if error is None:
        yield skip("the kernel does not tell here")
    elif error < _UNSYNC:
        yield ok(f"it is kept right: off by at most {error / 1e6:.2f} s")
    elif _chrony():
        yield ok("chrony keeps it right")
    else:
        yield warn(
            "nobody keeps it right, as far as the kernel knows: what is due may come too early or too late", _REMEDY
        )


def largest_error() -> int | None:
    """Microseconds by which the clock may be wrong, by the kernel's own word; None where it does not say."""
    timex = _Timex()
    try:
        state: int = ctypes.CDLL(None).adjtimex(ctypes.byref(timex))
    except (OSError, AttributeError):
        return None
    return int(timex.maxerror) if state >= 0 else None


def _chrony() -> bool:
    answer = ask(["chronyc", "-n", "tracking"])
    return answer.status == 0 and any(
        line.startswith("Leap status") and line.endswith("Normal") for line in answer.text.splitlines()
    )
