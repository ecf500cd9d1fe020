"""An agent behind an address: a server that speaks chat completions, or one that takes signed webhooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Event
from time import monotonic
from typing import Literal

from heartbeat.agents import _chat, _webhook
from heartbeat.agents._answers import reply_text
from heartbeat.agents._errand import Answer, Errand
from heartbeat.agents._refusals import refusal
from heartbeat.clock import utc_now
from heartbeat.config import Settings
from heartbeat.config.secret import Secret
from heartbeat.config.wording import show, split
from heartbeat.errors import AgentError, Problem
from heartbeat.job.vault import Vault
from heartbeat.model import Call, Reply
from heartbeat.paths import Home
from heartbeat.process import without


@dataclass(frozen=True, slots=True)
class HttpAgent:
    """Sends one POST per wake; an answer of 2xx means accepted."""

    name: str
    url: str = field(repr=False)
    format: Literal["chat", "webhook"]
    key: Secret | None
    vault: Vault
    prices: tuple[float, float] | None
    stop: Event
    clock: Callable[[], datetime] = utc_now

    def call(self, call: Call) -> Reply:
        """Hand over the prompt and return the reply; raises AgentError or AgentOnHold for anything but 2xx."""
        # Here, since httpx takes time and memory that a daemon with nothing to tell need not spend.
        from heartbeat.agents._post import post

        deadline = monotonic() + call.prefs.timeout.total_seconds()
        key = self._key(call.wake_id)
        errand = self._errand(call, key)
        answer = post(errand, call.prefs.timeout, deadline, self.stop)
        secrets = {"key": key}
        if not answer.accepted:
            raise refusal(answer, errand.host, place_of(self.key), secrets, self.clock())
        return self._reply(answer, errand.host, secrets)

    def _key(self, wake_id: str) -> str:
        """Read anew for each call: the owner may have changed it. Empty when none is configured."""
        if self.key is None:
            return ""
        value = replace(self.vault, mark=wake_id).read([self.key])[self.key]
        if isinstance(value, ValueError):
            # A secret that cannot be had just now, such as one whose keeper is locked, may be had later.
            raise AgentError(str(value), retryable=True) from value
        if not (value.isascii() and value.isprintable()):
            # The client's own error would quote it.
            message = f"cannot use the key from {place_of(self.key)}: it holds more than plain letters; copy it anew"
            raise AgentError(message, retryable=True)
        return value

    def _errand(self, call: Call, key: str) -> Errand:
        if self.format == "chat":
            return _chat.request(self.url, call, key)
        if not key:
            raise AgentError("cannot sign the wake: no key is configured; write key in [agent]", retryable=True)
        try:
            return _webhook.request(self.url, call, key, self.clock())
        except ValueError as error:
            raise AgentError(f"cannot use the key from {place_of(self.key)}: {error}", retryable=True) from None

    def _reply(self, answer: Answer, host: str, secrets: Mapping[str, str]) -> Reply:
        is_chat = self.format == "chat"
        reply = _chat.reply(answer, host, self.prices, secrets) if is_chat else _webhook.reply(answer)
        # Before it is cut: half a key would not be found.
        return replace(reply, text=reply_text(without(reply.text, secrets)))


def place_of(key: Secret | None) -> str:
    """Where a key is kept, in words; '' for none."""
    if key is None:
        return ""
    if key.env:
        return f"the variable {key.env}"
    if key.file:
        return f"the file {key.file!r}"
    if key.command:
        # Its arguments may be secret.
        return f"the program {show(key.command[0])}"
    if key.credential:
        return f"the credential {key.credential!r}"
    return f"the entry {show(key.keyring)} of the keyring"


def check(settings: Settings, home: Home, environ: Mapping[str, str], file: str) -> Problem | None:
    """Why its key cannot be had just now; nobody is called for that."""
    key = settings.agent.key
    if key is None:
        return None
    try:
        _vault(settings, home, environ).check(key)
    except ValueError as error:
        return Problem(file, "agent.key", *split(error))
    return None


def agent(settings: Settings, home: Home, environ: Mapping[str, str], stop: Event) -> HttpAgent:
    """The agent at `[agent] url`."""
    told = settings.agent
    vault = _vault(settings, home, environ, stop)
    return HttpAgent("http", told.url, told.format, told.key, vault, told.prices, stop)


def _vault(settings: Settings, home: Home, environ: Mapping[str, str], stop: Event | None = None) -> Vault:
    path, credentials = settings.search_path(settings.agent.env), settings.service.credentials
    return Vault(home.config, environ, path, stop=stop, credentials=credentials)
