"""What others implement: the Protocols of the agent, the channels and the ledger."""

from heartbeat.ports.beat import OFF, TRUSTED, Alive
from heartbeat.ports.ledger import Ledger
from heartbeat.ports.others import Agent, Channel

__all__ = ["OFF", "TRUSTED", "Agent", "Alive", "Channel", "Ledger"]
