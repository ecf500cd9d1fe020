"""Whether a host is this machine, so that what is sent to it passes no network."""

from __future__ import annotations

import ipaddress


def is_this_machine(host: str) -> bool:
    """Only a name or an address that cannot mean another machine counts."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
