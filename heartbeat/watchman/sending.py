"""Messages straight through the channels, without ledger and outbox: within bounds, each channel by itself."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import timedelta
from time import monotonic

from heartbeat.config import Settings
from heartbeat.errors import ChannelError
from heartbeat.model import Message
from heartbeat.ports import Channel

LONGEST = timedelta(seconds=30)
"""What one message may take, whatever the channel's own limit: the next round must come."""
_BEGIN, _END = 60.0, 100.0
"""Seconds after which no message is begun any more, and after which none is waited for."""


def bounded(settings: Settings) -> Settings:
    """The settings with channels that take no longer than `LONGEST`."""
    channels = {
        name: own.model_copy(update={"timeout": min(own.timeout, LONGEST)}) for name, own in settings.channels.items()
    }
    return settings.model_copy(update={"channels": channels})


def send_all(channels: Mapping[str, Channel], messages: Sequence[Message]) -> dict[str, str]:
    """Send each message through its channel, all channels at the same time; by id why one did not go, '' when it did.

    After one that fails, a channel is not tried again in this round.
    """
    outcome: dict[str, str] = {}
    ends_at = monotonic() + _END
    threads = [
        threading.Thread(target=_send, args=(channel, own, outcome), name=f"tell:{name}", daemon=True)
        for name, channel in channels.items()
        if (own := [message for message in messages if message.channel == name])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, ends_at - monotonic()))
    sent = dict(outcome)
    return {message.id: sent.get(message.id, "cannot wait any longer for the channel") for message in messages}


def _send(channel: Channel, messages: Sequence[Message], outcome: dict[str, str]) -> None:
    until = monotonic() + _BEGIN
    failed = ""
    for message in messages:
        if not failed and monotonic() >= until:
            failed = "cannot send more in this round"
        if not failed:
            try:
                channel.send(message)
            except ChannelError as error:
                failed = str(error)
            except Exception as error:  # noqa: BLE001 - whatever breaks in a channel, the others must be told
                failed = f"{type(error).__name__}: {error}"
        outcome[message.id] = failed
