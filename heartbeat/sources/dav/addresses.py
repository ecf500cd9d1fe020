"""Which addresses a DAV server may send us to, with the owner's password in hand."""

from __future__ import annotations

from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from heartbeat.hosts import is_this_machine
from heartbeat.sources import SourceFailed

_SHAPE = "write it like https://host/path, that of the server, of your calendars or of one calendar"
_SHORT_SUFFIX = 3
"""Second-level names such as `co.uk` and `com.au`, below which strangers live side by side, are not longer."""


def take_apart(address: str) -> tuple[str, tuple[str, str] | None]:
    """An address without the user and password it may hold, and these; raises SourceFailed."""
    try:
        parts = urlsplit(address.strip())
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise SourceFailed(f"cannot use the address; {_SHAPE}") from None
    if parts.scheme not in ("http", "https") or not host:
        raise SourceFailed(f"cannot use the address; {_SHAPE}")
    if parts.scheme == "http" and not is_this_machine(host):
        raise SourceFailed("cannot use the address: over http everybody could read the password; write https")
    user = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    shown = f"[{host}]" if ":" in host else host
    # With a slash at its end, as every collection has: else some servers redirect, and hrefs lead elsewhere.
    path = parts.path.rstrip("/") + "/"
    bare = parts._replace(netloc=f"{shown}:{port}" if port else shown, fragment="", path=path)
    return bare.geturl(), user


def resolve(given: str, base: str, href: str) -> str:
    """Where an href in the answer of *base* leads; raises SourceFailed where the password must not go.

    On the host that the owner gave, scheme and port stay as given: behind a proxy many servers are mistaken about
    theirs. Another host needs https and the same parent domain, as `p34-caldav.icloud.com` for `caldav.icloud.com`.
    """
    home = urlsplit(given)
    try:
        there = urlsplit(urljoin(base, href))
        host, port = there.hostname or "", there.port
    except ValueError:
        raise SourceFailed("cannot use an address that the server names; give that of one calendar") from None
    if host == urlsplit(base).hostname:
        return _moved(there, urlsplit(base))
    if host == home.hostname:
        return _moved(there, home)
    if (
        there.scheme == "https"
        and home.scheme == "https"
        and port in (None, 443)
        and _are_kin(home.hostname or "", host)
    ):
        return there._replace(netloc=host, fragment="", path=there.path or "/").geturl()
    raise SourceFailed("cannot go on: the server sends us to a host that is not its own; give the address there")


def relative(given: str, address: str) -> str:
    """An href that `resolve` turns into this address again, with as little as possible of *given* in it."""
    if address.startswith(given):
        return f"./{address[len(given) :]}"
    there, home = urlsplit(address), urlsplit(given)
    return there._replace(scheme="", netloc="").geturl() if there.netloc == home.netloc else address


def _moved(there: SplitResult, onto: SplitResult) -> str:
    return there._replace(scheme=onto.scheme, netloc=onto.netloc, fragment="", path=there.path or "/").geturl()


def _are_kin(one: str, other: str) -> bool:
    """Whether two hosts share a parent domain that can be one owner's."""
    parent = one.partition(".")[2]
    labels = parent.split(".")
    if len(labels) < 2 or labels[-1].isdigit():  # noqa: PLR2004  # a top-level domain, or a number of an IP address
        return False
    if len(labels) == 2 and len(labels[0]) <= _SHORT_SUFFIX and len(labels[1]) == 2:  # noqa: PLR2004  # `co.uk`
        return False
    return other.endswith(f".{parent}")
