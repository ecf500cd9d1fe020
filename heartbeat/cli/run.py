"""`heartbeat run`: the daemon in the foreground, what systemd and launchd start."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from dataclasses import replace

from heartbeat.beat import House
from heartbeat.cli.rights import refuse_as_root
from heartbeat.cli.shell import Shell, shell
from heartbeat.cli.starting import patiently, take_place
from heartbeat.clock import utc_now
from heartbeat.errors import HeartbeatError, Invalid, LedgerCorrupt, LedgerError, LedgerMoved, Refused
from heartbeat.inside import INSIDE, write_inside
from heartbeat.job import Config
from heartbeat.life import Life
from heartbeat.lock import KernelLock
from heartbeat.log import start_logging, warn
from heartbeat.process import become_reaper, is_alive
from heartbeat.recovery import clear_up, close_removed
from heartbeat.signals import Heard, Signals
from heartbeat.stores.sqlite import SqliteLedger


def run() -> int:
    """Run the daemon in the foreground. SIGTERM ends it (exit 0), SIGHUP reads the configuration again.

    Exit 4: the configuration is not valid. Exit 5: another daemon runs here.
    """
    call = shell("run")
    try:
        _run(call)
    except (Invalid, Refused) as error:
        if not _is_under_launchd(call):
            raise
        # launchd starts anew whatever does not end with status 0, and nothing here gets better by that.
        warn("not_started", error=error)
    return 0


def _is_under_launchd(call: Shell) -> bool:
    return call.environ.get("HEARTBEAT_SUPERVISOR") == "launchd"


def _run(call: Shell) -> None:
    refuse_as_root(call, "run")
    lives: list[Life] = []
    # Before any thread begins: each blocks what was blocked when it was begun.
    signals = Signals(lambda heard: _end_early(lives, heard))
    start_logging(behind=True, file=call.home.log_file if _logs_to_file(call) else None)
    lock = KernelLock(call.home.lock_file)
    take_place(call, lock, lives)
    life = lives[0]
    try:
        _serve(call, call.config(), life, signals)
    except BaseException as error:
        life.end(utc_now().timestamp(), "failed", f"{type(error).__name__}: {error}")
        raise
    finally:
        lock.release()


def _logs_to_file(call: Shell) -> bool:
    """Whether nobody keeps what is written to stderr."""
    return _is_under_launchd(call) or call.environ.get("HEARTBEAT_SUPERVISOR") == "none"


def _end_early(lives: list[Life], heard: Heard) -> None:
    """Told to stop before the loop begins, where nothing needs to be put away."""
    for life in lives:
        life.end(utc_now().timestamp(), "stopped", str(heard), heard.sender)
    os._exit(0)


def _serve(call: Shell, config: Config, life: Life, signals: Signals) -> None:
    from heartbeat.cli.house import furnish
    from heartbeat.cli.ties import tie
    from heartbeat.daemon import Daemon

    start_logging(config.settings.log.level, behind=True, file=call.home.log_file if _logs_to_file(call) else None)
    become_reaper()
    ledger = patiently(call, lambda: _open_ledger(call))
    stop = threading.Event()

    def house_of(config: Config) -> House:
        for problem in config.unready:
            warn("secret_missing", key=problem.key, error=f"{problem.message}; {problem.remedy}")
        write_inside(call.home.state / INSIDE, config, call.home, call.environ)
        return furnish(call, config, ledger, stop)

    def reload(house: House) -> House:
        fresh = house_of(call.config())
        if house.agent is not None and fresh.config.settings.agent != house.config.settings.agent:
            # Whoever is called from now on asked for no time.
            ledger.release_agent(house.agent.name, utc_now())
        return replace(fresh, progress=house.progress)

    try:
        patiently(call, lambda: clear_up(ledger, utc_now()))
        # Whatever kept a wake waiting may have been mended meanwhile.
        patiently(call, lambda: ledger.release_wakes(is_alive, utc_now()))
        house = house_of(config)
        patiently(call, lambda: close_removed(house, utc_now()))
        with tie(call, life, signals) as ties:
            Daemon(house, reload, ties).run()
    except LedgerMoved as error:
        # Status 4 would tell a supervisor not to start again, which is what mends this.
        raise HeartbeatError(str(error)) from error
    except LedgerCorrupt as error:
        with suppress(LedgerError):
            ledger.close()
        _begin_anew(call, error).close()
        raise HeartbeatError(f"{error}; it was set aside: start again") from error
    finally:
        with suppress(LedgerError):
            ledger.close()


def _open_ledger(call: Shell) -> SqliteLedger:
    from heartbeat.stores.sqlite import open_ledger

    try:
        return open_ledger(call.home.ledger_file, check=True)
    except LedgerCorrupt as error:
        return _begin_anew(call, error)


def _begin_anew(call: Shell, error: LedgerCorrupt) -> SqliteLedger:
    """Set the damaged ledger aside, never overwrite it, and say so in a new one."""
    from heartbeat.stores.sqlite import open_ledger, quarantine

    aside = quarantine(call.home.ledger_file, utc_now())
    warn("ledger_corrupt", error=error, aside=aside)
    ledger = open_ledger(call.home.ledger_file)
    message = f"the ledger was damaged; it lies in {aside}, and a new one was begun: what it held may be told again"
    ledger.fault("ledger", "ledger_corrupt", message, utc_now())
    return ledger
