"""The address of a server that gets prompts, and a key with them."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

from heartbeat.config.fields import Text
from heartbeat.hosts import is_this_machine


def _address(text: str) -> str:
    if not text:
        return text
    # Nothing of the text is quoted: there may be a password anywhere in it.
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise _unusable() from None
    if not (host and parts.scheme in ("http", "https") and port != 0 and text.isascii() and text.isprintable()):
        raise _unusable()
    if " " in text or parts.fragment:
        raise ValueError("cannot use the address (not shown): it holds a space or a '#'; take that out")
    if parts.username is not None or parts.password is not None:
        raise ValueError("cannot use an address with a password in it (not shown); write the password as key")
    if parts.scheme == "http" and not is_this_machine(host):
        raise ValueError(f"cannot send prompts to {host} unprotected; write https://…")
    return text


def _unusable() -> ValueError:
    return ValueError('cannot use the address (not shown); write it whole, such as "https://host/v1"')


ServerAddress = Annotated[Text, AfterValidator(_address)]
