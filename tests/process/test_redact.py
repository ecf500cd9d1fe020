"""Secrets are taken out of what a child printed."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from heartbeat.model import Captured, Execution
from heartbeat.process import redacted

AT = datetime(2026, 6, 10, 8, tzinfo=UTC)


def printed(out: bytes, err: bytes = b"") -> Execution:
    return Execution(AT, AT, 0, stdout=Captured(out), stderr=Captured(b"", err))


def test_a_secret_is_replaced_by_its_name_on_both_streams() -> None:
    seen = redacted(printed(b"key=hunter22!", b"+ curl -H hunter22"), {"API_KEY": "hunter22"})
    assert (seen.stdout.head, seen.stderr.tail) == (b"key=[secret API_KEY]!", b"+ curl -H [secret API_KEY]")


@pytest.mark.parametrize(("value", "left"), [("12345", b"a 12345 b"), ("123456", b"a [secret S] b")])
def test_values_under_six_characters_are_left_alone(value: str, left: bytes) -> None:
    assert redacted(printed(f"a {value} b".encode()), {"S": value}).stdout.head == left


def test_of_two_secrets_the_longer_goes_first() -> None:
    seen = redacted(printed(b"secret-one-long secret-one"), {"A": "secret-one", "B": "secret-one-long"})
    assert seen.stdout.head == b"[secret B] [secret A]"


def test_without_secrets_nothing_changes() -> None:
    execution = printed(b"as it is")
    assert redacted(execution, {}) is execution
