"""What a server's refusal of a wake means: whether to try again, when, and what the owner should do. Pure."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from heartbeat.agents._errand import Answer
from heartbeat.errors import AgentError, AgentOnHold
from heartbeat.process import without
from heartbeat.text import one_line

LONGEST_WAIT = 7 * 86_400.0
KEY_WAIT = 900.0
"""Seconds until a key that was refused is tried again: the owner may have put in another."""
LONGEST_SAID = 300
_KEY = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.PAYMENT_REQUIRED, HTTPStatus.FORBIDDEN})
_MAY_PASS = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY})
_MOVED = frozenset({HTTPStatus.MOVED_PERMANENTLY, HTTPStatus.PERMANENT_REDIRECT})


def refusal(answer: Answer, host: str, key_place: str, secrets: Mapping[str, str], now: datetime) -> AgentError:
    """The error that an answer without success stands for. *key_place* says where the key is kept, if there is one."""
    status, wait = answer.status, retry_after(answer.headers.get("retry-after", ""), now)
    said = _said(answer.body, secrets)
    start = f"cannot wake the agent at {host}: it answered {status}{f' ({said})' if said else ''}"
    if status == HTTPStatus.TOO_MANY_REQUESTS or (status == HTTPStatus.SERVICE_UNAVAILABLE and wait is not None):
        return AgentOnHold(f"{start}; it asks for time, and is called again later", seconds=wait)
    if status in _KEY:
        what = f"see whether the key from {key_place} is right and has credit" if key_place else "give it a key"
        return AgentError(f"{start}; {what}", retryable=True, retry_after=KEY_WAIT)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _MAY_PASS:
        return AgentError(f"{start}; see whether it is in order", retryable=True, retry_after=wait)
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        # Never followed: the key and the prompt would go to whoever is named.
        message = f"{start}, which sends elsewhere; write the final address as url"
        return AgentError(message, retryable=status not in _MOVED, retry_after=wait)
    return AgentError(f"{start}; correct url, model or format in [agent]", retryable=False)


def retry_after(asked: str, now: datetime) -> float | None:
    """The seconds that a Retry-After field stands for (RFC 9110, section 10.2.3), at most a week; None: nothing."""
    if re.fullmatch(r"[0-9]+(\.[0-9]*)?", asked.strip(), re.ASCII):
        return min(float(asked.strip()[:20]), LONGEST_WAIT)
    try:
        until = parsedate_to_datetime(asked)
        aware = until if until.tzinfo else until.replace(tzinfo=UTC)
        return min(max((aware - now).total_seconds(), 0.0), LONGEST_WAIT)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def said_by(found: Any, depth: int = 3) -> str:
    """What a server's JSON says went wrong, in the forms that are about."""
    if isinstance(found, dict) and depth:
        for name in ("error", "message", "detail"):
            if text := said_by(found.get(name), depth - 1):
                return text
    return found if isinstance(found, str) else ""


def shown(text: str, secrets: Mapping[str, str]) -> str:
    """A server's words as a message may quote them."""
    # The secrets go before it is cut: half a key would not be found.
    return one_line(without(text, secrets), LONGEST_SAID).strip()


def _said(body: bytes, secrets: Mapping[str, str]) -> str:
    text = body[: 64 * 1024].decode(errors="replace")
    with contextlib.suppress(ValueError, RecursionError):  # a page, or nothing
        text = said_by(json.loads(body)) or text
    return shown(text, secrets)
