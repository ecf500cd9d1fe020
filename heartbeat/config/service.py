"""The section [service]: what the service manager is to hand over."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from heartbeat.config.fields import Model, Text
from heartbeat.config.wording import show

CREDENTIAL = r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$"


def _name(name: str) -> str:
    if re.fullmatch(CREDENTIAL, name):
        return name
    raise ValueError(f"cannot use {show(name)} as a credential's name; write letters, digits, '_', '-' and '.'")


def _path(path: str) -> str:
    # The service manager knows no `~`, and in the system's scope it would be root's.
    if path.startswith("/") and path.isprintable() and path == path.strip() and not path.endswith("\\"):
        return path
    raise ValueError(f"cannot use {show(path)} as a credential's file; write its whole path, such as '/etc/mail.pw'")


CredentialName = Annotated[str, AfterValidator(_name), WithJsonSchema({"type": "string", "pattern": CREDENTIAL})]
CredentialPath = Annotated[Text, AfterValidator(_path)]


class ServiceSettings(Model):
    credentials: dict[CredentialName, CredentialPath] = Field(default_factory=dict)
    """Name -> file; systemd reads it with its own rights, and only heartbeat sees it then."""
