"""`heartbeat run`: the daemon in the foreground, what systemd and launchd start."""

from __future__ import annotations

import threading
from dataclasses import replace

from heartbeat.beat import House
from heartbeat.cli.shell import Shell, shell
from heartbeat.clock import utc_now
from heartbeat.errors import LedgerCorrupt, Refused
from heartbeat.log import event, start_logging, warn
from heartbeat.stores.sqlite import SqliteLedger


def run() -> None:
    """Run the daemon in the foreground. SIGTERM ends it (exit 0), SIGHUP reads the configuration again.

    Exit 4: the configuration is not valid. Exit 5: another daemon runs here.
    """
    from heartbeat.lock import KernelLock, holder_of
    from heartbeat.process import owner

    call = shell("run")
    config = call.config()
    start_logging(config.settings.log.level)
    lock = KernelLock(call.home.lock_file)
    if not lock.acquire(owner()):
        pid = (holder_of(call.home.lock_file) or "unknown:").split(":", 1)[0]
        raise Refused(f"cannot start: process {pid} already runs heartbeat in {call.home.state}; stop it first")
    try:
        _serve(call)
    finally:
        lock.release()


def _serve(call: Shell) -> None:
    from heartbeat.agents import find_agent
    from heartbeat.daemon import Daemon
    from heartbeat.process import become_reaper
    from heartbeat.pulse import log_start

    become_reaper()
    log_start(call.home.starts_file, utc_now().timestamp())
    ledger = _open_ledger(call)
    stop = threading.Event()

    def furnish() -> House:
        config = call.config()
        agent = find_agent(config.settings, call.home, call.environ, stop)
        return House(ledger, call.home, config, agent, call.environ, stop, utc_now)

    def reload(house: House) -> House:
        fresh = furnish()
        return replace(house, config=fresh.config, agent=fresh.agent)

    try:
        _clear_up(ledger)
        Daemon(furnish(), reload).run()
    finally:
        ledger.close()


def _open_ledger(call: Shell) -> SqliteLedger:
    """The ledger; a damaged one is set aside and said so, never overwritten."""
    from heartbeat.stores.sqlite import open_ledger, quarantine

    path = call.home.ledger_file
    try:
        return open_ledger(path, check=True)
    except LedgerCorrupt as error:
        aside = quarantine(path, utc_now())
        warn("ledger_corrupt", error=error, aside=aside)
        ledger = open_ledger(path)
        message = f"the ledger was damaged; it lies in {aside}, and a new one was begun: what it held may be told again"
        ledger.fault("ledger", "ledger_corrupt", message, utc_now())
        return ledger


def _clear_up(ledger: SqliteLedger) -> None:
    """End what a daemon that was killed left: its claims, its children, its half-sent wakes."""
    from heartbeat.process import end_strays, is_alive

    now = utc_now()
    runs = ledger.interrupt(is_alive, now)
    wakes = ledger.release_wakes(is_alive, now)
    strays = end_strays({*(run.id for run in runs), *wakes})
    for run in runs:
        warn("run_interrupted", job=run.job, run=run.id)
    if wakes or strays:
        event("cleared_up", wakes=len(wakes), strays=strays)
