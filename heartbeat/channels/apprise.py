"""A channel over any of the services that the library apprise knows: telephone, mail, chat."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from importlib.util import find_spec

from heartbeat.channels import _apprise_worker
from heartbeat.channels._apprise_worker import parts_of
from heartbeat.channels._ground import Errand, Ground, complaint, run
from heartbeat.channels._said import said
from heartbeat.config.channels import ChannelSettings
from heartbeat.config.wording import split
from heartbeat.errors import ChannelError, Problem
from heartbeat.job.vault import Vault
from heartbeat.model import Message

_LONGEST_ERROR = 600


@dataclass(frozen=True, slots=True)
class AppriseChannel:
    """One service address, read anew for each message."""

    name: str
    own: ChannelSettings
    ground: Ground

    def send(self, message: Message) -> bool:
        """Send it in a process of its own."""
        url, parts = self._address(message.id), said(message, trailer=self.own.trailer)
        job = {
            "url": url,
            "title": parts.title,
            "text": parts.text,
            "tail": parts.tail,
            "cut": parts.cut,
            "urgency": message.urgency,
            "timeout": self.own.timeout.total_seconds(),
        }
        # -P: our modules beside it must not shadow those of a library.
        argv = (sys.executable, "-P", _apprise_worker.__file__)
        errand = Errand(
            argv,
            message.id,
            json.dumps(job).encode(),
            hidden={f"address {number}": part for number, part in enumerate(parts_of(url))},
        )
        ended = run(self.ground, self.name, self.own, errand)
        if ended.exit_code:
            raise ChannelError(f"cannot send through the channel {self.name!r}{complaint(ended)}", retryable=True)
        return self._outcome(ended.stdout.joined())

    def _outcome(self, printed: bytes) -> bool:
        try:
            answer = json.loads(printed)
        except ValueError:
            answer = {"error": "its process ended without an answer"}
        if answer.get("ok"):
            return bool(answer["proof"])
        # An address that is wrong, or what the service refuses as such, is no better in an hour.
        message = f"cannot send through the channel {self.name!r}: {answer['error'][:_LONGEST_ERROR]}"
        raise ChannelError(message, retryable=not answer.get("final"))

    def _address(self, mark: str) -> str:
        assert self.own.url is not None
        ground = self.ground
        path, credentials = ground.settings.search_path(self.own.env), ground.settings.service.credentials
        vault = Vault(ground.home.config, ground.environ, path, mark, ground.stop, credentials)
        found = vault.read([self.own.url])[self.own.url]
        if isinstance(found, ValueError):
            wrong, remedy = split(found)
            problem = Problem(str(ground.home.config_file), f"channels.{self.name}.url", wrong, remedy)
            raise ChannelError(str(problem), retryable=True)
        return found.strip()


def channel(name: str, own: ChannelSettings, ground: Ground) -> AppriseChannel:
    return AppriseChannel(name, own, ground)


def check(name: str, own: ChannelSettings, ground: Ground, file: str) -> list[Problem]:  # noqa: ARG001 - one signature
    """The address itself is a secret: whether it can be had is told with the others, and it is not asked for here."""
    if find_spec("apprise"):
        return []
    message, remedy = "cannot use the library apprise: it is not installed", "reinstall heartbeat"
    return [Problem(file, f"channels.{name}.kind", message, remedy)]
