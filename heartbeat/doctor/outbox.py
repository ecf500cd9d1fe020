"""What waits for the agent and for the owner: whether it goes out, or is stuck."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from heartbeat.clock import to_seconds
from heartbeat.doctor._answer import Answer, count, ok, skip, warn
from heartbeat.doctor._case import Case
from heartbeat.doctor._ledger import opened, why_not
from heartbeat.errors import HeartbeatError
from heartbeat.model import Message, Wake

_STUCK, _LATELY = timedelta(minutes=10), timedelta(days=1)
_MANY_FAILURES = 3
_MOST = 200
_SHOWN = 3


def look(case: Case) -> Iterator[Answer]:
    """Wakes, then messages."""
    try:
        with opened(case.home.ledger_file) as ledger:
            open_wakes = [wake for state in ("pending", "sending") for wake in ledger.wakes(state, _MOST)]
            open_messages = [each for state in ("pending", "sending") for each in ledger.messages(state, _MOST)]
            yield from _of(case, open_wakes, "wakes", "the agent")
            yield from _of(case, open_messages, "messages", "you")
            yield from _failed(case, ledger.wakes("failed", _MOST), "wakes")
            yield from _failed(case, ledger.messages("failed", _MOST), "messages")
    except HeartbeatError as error:
        yield skip(why_not(error))


def _of(case: Case, waiting: Sequence[Wake | Message], noun: str, whom: str) -> Iterator[Answer]:
    stuck = [each for each in waiting if each.next_attempt_at and each.next_attempt_at < case.now - _STUCK]
    failing = [each for each in waiting if each not in stuck and each.failures >= _MANY_FAILURES]
    for each in stuck[:_SHOWN]:
        assert each.next_attempt_at is not None
        seen = f"{each.id} was to go to {whom} at {to_seconds(each.next_attempt_at)}, and has not"
        yield warn(seen + _because(each.error), f"see whether the daemon runs; `heartbeat {noun} get {each.id}`", noun)
    for each in failing[:_SHOWN]:
        yield warn(
            f"{each.id} failed {count(each.failures, 'time')}" + _because(each.error),
            f"`heartbeat {noun} get {each.id}`",
            noun,
        )
    if not stuck and not failing:
        yield ok(f"waiting for {whom}: {count(len(waiting), noun[:-1])}, none too long", noun)


def _failed(case: Case, failed: Sequence[Wake | Message], noun: str) -> Iterator[Answer]:
    lately = [each for each in failed if (each.settled_at or each.created_at) > case.now - _LATELY]
    if lately:
        seen = f"given up within a day: {count(len(lately), noun[:-1])}, the last is {lately[0].id}" + _because(
            lately[0].error
        )
        yield warn(seen, f"`heartbeat {noun} retry {lately[0].id}` when the cause is mended", f"failed {noun}")


def _because(error: str) -> str:
    return f": {error}" if error else ""
