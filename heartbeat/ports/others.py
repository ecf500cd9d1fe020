"""Whom heartbeat talks to: the agent that is woken, and the channels to the owner."""

from __future__ import annotations

from typing import Protocol

from heartbeat.model import Call, Message, Reply


class Agent(Protocol):
    """Whoever is woken."""

    @property
    def name(self) -> str: ...

    def call(self, call: Call) -> Reply:
        """Hand over a prompt and return the reply.

        Returns only when the agent has accepted the wake. Bounded by its own deadline; nothing it started lives on.
        Raises AgentError, whose `retryable` is meant, or AgentOnHold.
        """


class Channel(Protocol):
    """A way to the owner."""

    @property
    def name(self) -> str: ...

    def send(self, message: Message) -> bool:
        """Send one message; whether the other end has confirmed it.

        Bounded by its own deadline. Raises ChannelError, whose `retryable` is meant.
        """
