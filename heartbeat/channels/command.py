"""A channel that is a program: the message as one JSON object on its standard input, its exit status the answer."""

from __future__ import annotations

from dataclasses import dataclass

from heartbeat.channels._ground import Errand, Ground, complaint, missing_program, program_of, run
from heartbeat.channels._said import as_json
from heartbeat.config.channels import ChannelSettings
from heartbeat.errors import ChannelError, Problem
from heartbeat.model import Message

TRY_LATER = 75
"""EX_TEMPFAIL of sysexits.h: it is not to be called a failure of the program."""


@dataclass(frozen=True, slots=True)
class CommandChannel:
    """Runs one argv per message; exit status 0 means that it was delivered."""

    name: str
    own: ChannelSettings
    ground: Ground

    def send(self, message: Message) -> bool:
        """Hand it over; HEARTBEAT_MESSAGE_ID is the same when one message is tried again."""
        argv = (program_of(self.own, self.ground), *self.own.command[1:])
        errand = Errand(argv, message.id, (as_json(message) + "\n").encode())
        ended = run(self.ground, self.name, self.own, errand)
        if ended.exit_code == 0:
            return True
        how = "asks to try later" if ended.exit_code == TRY_LATER else f"ended with exit status {ended.exit_code}"
        error = f"cannot send through the channel {self.name!r}: {argv[0]!r} {how}{complaint(ended)}"
        raise ChannelError(error, retryable=True)


def channel(name: str, own: ChannelSettings, ground: Ground) -> CommandChannel:
    return CommandChannel(name, own, ground)


def check(name: str, own: ChannelSettings, ground: Ground, file: str) -> list[Problem]:
    return missing_program(program_of(own, ground), f"channels.{name}.command", own, ground, file)
