"""The section [agent], and what a job may want otherwise."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field

from heartbeat.config.address import ServerAddress
from heartbeat.config.fields import Command, EnvName, EnvValue, Model, Text
from heartbeat.config.secret import Secret
from heartbeat.config.times import Limit
from heartbeat.model import Prefs

Price = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
KINDS = ("none", "command", "claude", "codex", "hermes", "openclaw", "http")
_PROMPT = (
    "heartbeat woke you because something needs attention now. Tell the owner in a few sentences what it is and "
    "what to do. If nothing is worth saying, answer exactly [SILENT]."
)
_BRIEF_PROMPT = (
    "Write up the owner's morning brief from the document below: first what needs doing today, then what happened, "
    "shortly. Leave nothing out that is marked high or critical."
)


class JobAgent(Model):
    """What one job wants otherwise than [agent] says; None: the same."""

    model: Text | None = None
    tools: Annotated[tuple[Text, ...], Field(strict=False)] | None = None
    trusted: bool | None = None
    max_usd: Annotated[float, Field(gt=0, le=10_000, allow_inf_nan=False)] | None = None
    folder: Text | None = None
    timeout: Limit | None = None


class AgentSettings(Model):
    kind: Literal["none", "command", "claude", "codex", "hermes", "openclaw", "http"] = "none"
    command: Command = ()
    """Of the kind `command` the whole argv; of a preset the program and what is to stand before its own arguments."""
    url: ServerAddress = ""
    """Of the kind `http`."""
    format: Literal["chat", "webhook"] = "chat"
    key: Secret | None = None
    """Of the kind `http`: sent as a bearer token, or, of a webhook, what its body is signed with."""
    model: Text = ""
    tools: Annotated[tuple[Text, ...], Field(strict=False)] | None = None
    trusted: bool = False
    max_usd: Annotated[float, Field(gt=0, le=10_000, allow_inf_nan=False)] | None = None
    folder: Text = ""
    prices: Annotated[tuple[Price, Price], Field(strict=False)] | None = None
    """US dollars for a million tokens read and written, for agents that do not say what a call costs."""
    timeout: Limit = timedelta(minutes=10)
    attempts: Annotated[int, Field(ge=1, le=100)] = 10
    env: dict[EnvName, EnvValue] = Field(default_factory=dict)
    secrets: dict[EnvName, Secret] = Field(default_factory=dict)
    prompt: Text = _PROMPT
    brief_prompt: Text = _BRIEF_PROMPT

    def prefs(self, job: JobAgent | None = None) -> Prefs:
        """How it is to be called for a job."""
        job = job or JobAgent()
        return Prefs(
            self.model if job.model is None else job.model,
            self.tools if job.tools is None else job.tools,
            self.trusted if job.trusted is None else job.trusted,
            self.max_usd if job.max_usd is None else job.max_usd,
            self.folder if job.folder is None else job.folder,
            self.timeout if job.timeout is None else job.timeout,
        )
