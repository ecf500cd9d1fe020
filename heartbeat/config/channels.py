"""The section [channels]: the ways to the owner, and what each is for."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field, model_validator

from heartbeat.config.fields import Command, EnvName, EnvValue, Given, Model, Text
from heartbeat.config.secret import Secret
from heartbeat.config.times import Limit

_SOME = Field(strict=False, json_schema_extra={"minItems": 1})
_NEEDED = {"apprise": "url", "command": "command", "file": "path"}
_EXAMPLES = {
    "url": 'url = { file = "~/.my-phone" }',
    "command": 'command = ["/path/to/program", …]',
    "path": 'path = "messages.md"',
}


class ChannelSettings(Model):
    kind: Literal["apprise", "command", "file", "desktop"]
    takes: Annotated[tuple[Literal["reply", "notice", "brief", "incident"], ...], _SOME, Given] = (
        "reply",
        "notice",
        "brief",
        "incident",
    )
    urgency: Annotated[tuple[Literal["low", "normal", "high", "critical"], ...], _SOME, Given] = (
        "low",
        "normal",
        "high",
        "critical",
    )
    url: Secret | None = None
    """Of the kind `apprise`: the service's address, which holds its password. One, so that what arrived is known."""
    command: Command = ()
    path: Text = ""
    """Of the kind `file`."""
    timeout: Limit = timedelta(seconds=30)
    attempts: Annotated[int, Field(ge=1, le=100)] = 8
    trailer: bool = True
    """Whether a message ends with the command that shows its reasons."""
    env: dict[EnvName, EnvValue] = Field(default_factory=dict)
    secrets: dict[EnvName, Secret] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> ChannelSettings:
        needed = _NEEDED.get(self.kind)
        if needed and not getattr(self, needed):
            raise ValueError(
                f'cannot use a channel of kind "{self.kind}" without a {needed}; write {_EXAMPLES[needed]}'
            )
        for kind, key in _NEEDED.items():
            if key != needed and getattr(self, key):
                raise ValueError(
                    f'cannot use {key} in a channel of kind "{self.kind}"; remove it, or write kind = "{kind}"'
                )
        return self
