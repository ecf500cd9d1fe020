"""The post: hands each due message to its channel. It is a row before it is sent, and settled only after."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime

from heartbeat.backoff import delay
from heartbeat.beat import House, passed_step, persist
from heartbeat.errors import ChannelError, LedgerCorrupt
from heartbeat.log import event, warn
from heartbeat.model import Message, Urgency
from heartbeat.policy import quiet_hours
from heartbeat.process import owner
from heartbeat.troubles import Troubles

_MOST_AT_ONCE = 16


class _NotTried(ChannelError):
    """There is no such channel, or no use in it any more."""

    def __init__(self, message: str, *, is_late: bool = False) -> None:
        super().__init__(message, retryable=False)
        self.is_late = is_late


class Post:
    """Sends for the daemon: each channel one message at a time, and none waits for another channel.

    *ring* is called when a channel is free again.
    """

    def __init__(self, ring: Callable[[], object], troubles: Troubles, fatal: Callable[[BaseException], None]) -> None:
        self._ring = ring
        self._troubles = troubles
        self._fatal = fatal
        self._lock = threading.Lock()
        self._busy: set[str] = set()
        self._threads = ThreadPoolExecutor(_MOST_AT_ONCE, thread_name_prefix="post")  # made as they are needed

    def round(self, house: House) -> None:
        """Begin with the first message that is due of each channel that is free; never waits for a channel."""
        for message_id in house.ledger.due_messages(house.clock()):
            channel = house.ledger.message(message_id).channel
            with self._lock:
                if channel in self._busy or house.stop.is_set():
                    continue
                self._busy.add(channel)
            self._threads.submit(self._send, house, message_id, channel)

    def join(self) -> None:
        """Wait for what is being sent; the house's `stop` is set."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _send(self, house: House, message_id: str, channel: str) -> None:
        place = f"post:{channel}"
        rings = False
        try:
            if not house.stop.is_set():
                send(house, message_id)
            self._troubles.over(place)
            rings = True
        except LedgerCorrupt as error:
            self._fatal(error)
        except Exception as error:  # noqa: BLE001 - the other messages must go on whatever one did
            # No ring: the message may be due still, and would fail again at once. The next beat rings.
            self._troubles.report(place, error)
        finally:
            with self._lock:
                self._busy.discard(channel)
        if rings:
            self._ring()


def send_due(house: House) -> int:
    """Send every message that is due, one after the other; returns how many were tried."""
    tried: set[str] = set()
    seen: set[str] = set()
    # Only the first of a channel is due: when that is gone, the next one is.
    while due := [each for each in house.ledger.due_messages(house.clock()) if each not in seen]:
        for message_id in due:
            if house.stop.is_set():
                return len(tried)
            seen.add(message_id)
            if send(house, message_id):
                tried.add(message_id)
    return len(tried)


def send(house: House, message_id: str) -> str:
    """Hand one pending message to its channel; the state it has then, or '' when it was not tried."""
    now = house.clock()
    message = None if _defer(house, message_id, now) else house.ledger.begin_message(message_id, owner(), now)
    if message is None:
        return ""
    passed_step("post_begin")
    try:
        proof = _hand_over(house, message, now)
    except _NotTried as error:
        return _give_up(house, message, str(error), expired=error.is_late)
    except ChannelError as error:
        return _after_failure(house, message, error)
    except BaseException as error:
        # Whatever broke, or Ctrl-C: the message must not stay with a process that goes on without it.
        state = _after_failure(house, message, ChannelError(f"{type(error).__name__}: {error}", retryable=True))
        if not isinstance(error, Exception):
            raise
        return state
    passed_step("post_act")
    persist(house, lambda: house.ledger.settle_message(message.id, house.clock(), proof=proof))
    passed_step("post_settle")
    state = "delivered" if proof else "unverified"
    event("message_sent", message=message.id, channel=message.channel, state=state, attempt=message.attempts)
    if house.ledger.recover(f"channel:{message.channel}", house.clock()):
        event("recovered", subject=f"channel:{message.channel}")
    return state


def _defer(house: House, message_id: str, now: datetime) -> bool:
    """Whether it must wait for the end of the quiet: what failed before comes at another hour than it was made for."""
    message = house.ledger.message(message_id)
    # One that the owner wants to be tried again has no error any more.
    if not message.error or message.urgency is Urgency.CRITICAL:
        return False
    until = quiet_hours(house.config.settings).under(house.ledger.overrides(now)).until(now)
    if until is None or (message.useful_until is not None and message.useful_until < until):
        return False
    house.ledger.defer_message(message_id, until)
    return True


def _hand_over(house: House, message: Message, now: datetime) -> bool:
    if message.useful_until is not None and message.useful_until < now:
        until = f"it was useful only until {message.useful_until:%Y-%m-%d %H:%M} UTC"
        raise _NotTried(f"{until}; before: {message.error}" if message.error else until, is_late=True)
    channel = house.channels.get(message.channel)
    if channel is None:
        raise _NotTried(f"no channel {message.channel!r} is configured any more")
    settings = house.config.settings.channels.get(message.channel)
    limit = settings.timeout.total_seconds() if settings else 0
    with house.progress.working(f"the message {message.id}", limit):
        return channel.send(message)


def _after_failure(house: House, message: Message, error: ChannelError) -> str:
    """Try again later, or give up when it does not help, comes too late, or was tried often enough."""
    now, reason = house.clock(), str(error)
    if house.stop.is_set():
        # It was cut short by us: that says nothing of the channel.
        persist(house, lambda: house.ledger.postpone_message(message.id, reason, now, now, failed=False))
        return "pending"
    next_at = now + delay(message.failures + 1, error.retry_after)
    if message.useful_until is not None and message.useful_until < next_at:
        return _give_up(house, message, reason, expired=True, failed=True)
    if not error.retryable or message.failures + 1 >= _most_attempts(house, message):
        return _give_up(house, message, reason, failed=True)
    persist(house, lambda: house.ledger.postpone_message(message.id, reason, next_at, now))
    fields = {"message": message.id, "channel": message.channel, "attempt": message.attempts}
    warn("message_postponed", **fields, error=error, next=next_at.isoformat())
    return "pending"


def _most_attempts(house: House, message: Message) -> int:
    own = house.config.settings.channels.get(message.channel)
    return own.attempts if own else 1


def _give_up(house: House, message: Message, reason: str, *, expired: bool = False, failed: bool = False) -> str:
    """Nothing more is tried; *failed*: because the channel failed, which is a lasting fault of it."""
    now = house.clock()
    fault = (f"channel:{message.channel}", "channel_failed") if failed else None
    persist(house, lambda: house.ledger.give_up_message(message.id, reason, now, expired=expired, fault=fault))
    warn("message_lost", message=message.id, channel=message.channel, attempts=message.attempts, error=reason)
    return "expired" if expired else "failed"
