"""Secrets are used, never seen: a child that prints one has it taken out of what is judged and written down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from heartbeat.model import Captured, Execution

SHORTEST = 6
"""Shorter values are left alone: taking out every `1` or `true` would wreck the output and hide nothing."""


def redacted(execution: Execution, secrets: Mapping[str, str]) -> Execution:
    """The execution without the values of *secrets*, by name, in what it printed."""
    values = {value.encode(errors="surrogateescape"): name for name, value in secrets.items() if len(value) >= SHORTEST}
    if not values:
        return execution
    stdout, stderr = (_without(stream, values) for stream in (execution.stdout, execution.stderr))
    return replace(execution, stdout=stdout, stderr=stderr)


def _without(stream: Captured, values: Mapping[bytes, str]) -> Captured:
    head, tail = stream.head, stream.tail
    # The longest first: one secret may be a part of another.
    for value in sorted(values, key=len, reverse=True):
        mark = f"[secret {values[value]}]".encode()
        head, tail = head.replace(value, mark), tail.replace(value, mark)
    return replace(stream, head=head, tail=tail)
