"""`heartbeat ended`: what systemd runs when the daemon has ended, to have it written down how (ExecStopPost=)."""

from __future__ import annotations

from heartbeat.cli.shell import shell
from heartbeat.clock import utc_now
from heartbeat.errors import HeartbeatError


def ended() -> None:
    """Write down how the last daemon ended, from what systemd says in the environment."""
    from heartbeat.life import enter_result

    call = shell("ended")
    try:
        enter_result(call.home, call.environ, utc_now().timestamp())
    except OSError as error:
        raise HeartbeatError(f"cannot write {call.home.starts_file}: {error.strerror}; free space there") from error
