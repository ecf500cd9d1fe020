"""The peers, as programs of their own: minimal loops in APScheduler 3, `peers.py KIND …`, until they are ended.

Each has what its counterpart in heartbeat has: the zone UTC, no limit on lateness (the default of one second would
drop what waits for a worker), as many workers. What it measures it adds to files in the folder HEARTBEAT_HOME.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler


def main() -> None:
    kind, *arguments = sys.argv[1:]
    kinds: dict[str, Callable[..., None]] = {"second": second, "burst": burst, "rest": rest}
    kinds[kind](*arguments)
    print("ready", flush=True)
    while True:
        signal.pause()


def second() -> None:
    """One job, each second, that notes the time."""
    file = _open("picked")
    scheduler = BackgroundScheduler(timezone="UTC")
    scheduler.add_job(lambda: _note(file), "cron", second="*", misfire_grace_time=None)
    scheduler.start()


def burst(count: str, seconds: str, workers: str, script: str) -> None:
    """Many jobs due at the same seconds of a minute; each notes the time and runs the script."""
    file = _open("picked")

    def run() -> None:
        _note(file)
        subprocess.run([script], stdin=subprocess.DEVNULL, capture_output=True, check=True)

    pool = ThreadPoolExecutor(int(workers))
    scheduler = BackgroundScheduler(timezone="UTC", executors={"default": pool})
    for _ in range(int(count)):
        scheduler.add_job(run, "cron", second=seconds, misfire_grace_time=None)
    scheduler.start()


def rest(count: str) -> None:
    """Many jobs that are not due for long, in the store that APScheduler has by default: memory."""
    scheduler = BackgroundScheduler(timezone="UTC")
    for number in range(int(count)):
        scheduler.add_job(print, "interval", days=300, id=f"job-{number}")
    scheduler.start()


def _open(name: str) -> int:
    return os.open(os.path.join(os.environ["HEARTBEAT_HOME"], name), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def _note(file: int) -> None:
    os.write(file, f"{time.time():.6f}\n".encode())


if __name__ == "__main__":
    main()
