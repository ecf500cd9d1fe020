"""`heartbeat run` as it is typed: in the foreground or in the background. What a supervisor starts is `cli/run.py`."""

from __future__ import annotations

import typer

from heartbeat.cli.shell import shell
from heartbeat.clock import utc_now


def run(
    detach: bool = typer.Option(
        False, "--detach", help="Leave it in the background, where no supervisor is to be had."
    ),
) -> int:
    """Run the daemon in the foreground. SIGTERM ends it (exit 0), SIGHUP reads the configuration again.

    Exit 4: the configuration is not valid. Exit 5: another daemon runs here.
    """
    if not detach:
        from heartbeat.cli.run import run as run_here

        return run_here()
    from heartbeat.service.detached import detach as leave
    from heartbeat.service.detached import missing

    call = shell("run")
    call.config()  # a fault is told here and now, not in a log
    detached = leave(call.home, call.environ)
    data = {"pid": detached.pid, "log": str(detached.log), "beats": detached.beats, "at": utc_now()}
    call.show(data, lambda: missing(detached, call.home, call.environ))
    return 0
