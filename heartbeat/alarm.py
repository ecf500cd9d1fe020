"""Rings the daemon at an instant, whatever it does meanwhile: all that is asked of APScheduler."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.date import DateTrigger


class Alarm:
    """One instant at a time; setting it again replaces the one before."""

    def __init__(self, ring: Callable[[], object]) -> None:
        self._ring = ring
        self._scheduler = BackgroundScheduler(timezone="UTC", daemon=True)

    def start(self) -> None:
        self._scheduler.start()

    def set(self, at: datetime) -> None:
        self._scheduler.add_job(
            self._ring,
            DateTrigger(at),
            id="ring",
            replace_existing=True,
            misfire_grace_time=None,  # else a ring that comes late, after a suspend, would be dropped
            max_instances=1000,  # and so would one that comes while the thread of the one before winds up
        )

    def stop(self) -> None:
        self._scheduler.shutdown(wait=False)
