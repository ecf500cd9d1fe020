"""The section [alerts]: of what `heartbeat watch` tells, and whether it keeps the quiet hours."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from heartbeat.config.fields import Given, Model

# Not "absent": that a program was never installed, or was taken away, is its owner's doing.
_State = Literal["down", "flapping", "stalled", "degraded"]
_SOME = Field(strict=False, json_schema_extra={"minItems": 1})


class AlertSettings(Model):
    on: Annotated[tuple[_State, ...], _SOME, Given] = ("down", "flapping", "stalled")
    quiet: bool = False
    """Whether what it has to tell waits for the end of the quiet hours."""
