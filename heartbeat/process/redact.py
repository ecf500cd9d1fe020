"""Secrets are used, never seen: a child that prints one has it taken out of what is judged and written down."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar, cast

from heartbeat.model import Captured, Execution
from heartbeat.process.spellings import common, pattern

SHORTEST = 6
"""Shorter values are left alone: taking out every `1` or `true` would wreck the output and hide nothing."""

_T = TypeVar("_T")
_Patterns = list[tuple[re.Pattern[bytes], bytes]]


def redacted(execution: Execution, secrets: Mapping[str, str]) -> Execution:
    """The execution without the values of *secrets*, by name, in what it printed, however they are spelled there."""
    if not (patterns := _patterns(secrets)):
        return execution
    stdout, stderr = (_stream(stream, patterns, secrets) for stream in (execution.stdout, execution.stderr))
    return replace(execution, stdout=stdout, stderr=stderr)


def without(value: _T, secrets: Mapping[str, str]) -> _T:
    """A record, list or table without the values of *secrets* in any text of it, at any depth.

    The same text becomes the same text each time: a key stays a key.
    """
    return cast("_T", _walk(value, patterns)) if (patterns := _patterns(secrets)) else value


def _patterns(secrets: Mapping[str, str]) -> _Patterns:
    # The longest first: one secret may be a part of another.
    longest_first = sorted(secrets.items(), key=lambda each: len(each[1]), reverse=True)
    return [(pattern(value), f"[secret {name}]".encode()) for name, value in longest_first if len(value) >= SHORTEST]


def _stream(stream: Captured, patterns: _Patterns, secrets: Mapping[str, str]) -> Captured:
    if not stream.dropped:  # a secret may lie across the middle of what is kept in two parts but whole
        return Captured(_taken_out(stream.head + stream.tail, patterns))
    head, tail = _taken_out(stream.head, patterns), _taken_out(stream.tail, patterns)
    for name, value in secrets.items():
        # One that was cut in two by what was left out is found by no pattern.
        for spelled in common(value) if len(value) >= SHORTEST else ():
            mark = f"[secret {name}]".encode()
            if size := _begun(head, spelled):
                head = head[:-size] + mark
            if size := _begun(tail[::-1], spelled[::-1]):
                tail = mark + tail[size:]
    return replace(stream, head=head, tail=tail)


def _begun(raw: bytes, spelled: bytes) -> int:
    """How many bytes at the end of *raw* are the beginning of a secret."""
    first, start = spelled[:SHORTEST], max(0, len(raw) - len(spelled))
    while (start := raw.find(first, start)) >= 0:
        if spelled.startswith(raw[start:]):
            return len(raw) - start
        start += 1
    return 0


def _taken_out(raw: bytes, patterns: _Patterns) -> bytes:
    for each, mark in patterns:
        raw = each.sub(lambda _, mark=mark: mark, raw)  # type: ignore[misc]
    return raw


def _walk(value: object, patterns: _Patterns) -> object:
    # Not isinstance: members of an enumeration and numbers too big to carry are texts only by descent.
    if type(value) is str:
        return _taken_out(value.encode(errors="surrogatepass"), patterns).decode(errors="surrogatepass")
    if isinstance(value, dict):
        return {_walk(name, patterns): _walk(below, patterns) for name, below in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([_walk(below, patterns) for below in value])
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{each.name: _walk(getattr(value, each.name), patterns) for each in fields(value)})
    return value
