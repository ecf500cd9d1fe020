"""The format `webhook`: a wake in heartbeat's own words, signed as Standard Webhooks has it (standardwebhooks.com)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from datetime import datetime
from http import HTTPStatus

from heartbeat.agents._answers import table, text
from heartbeat.agents._errand import Answer, Errand
from heartbeat.model import Call, Reply

SCHEMA = "heartbeat/wake/v1"
_PREFIX = "whsec_"
_NO_REPLY = frozenset({HTTPStatus.ACCEPTED, HTTPStatus.NO_CONTENT})


def request(url: str, call: Call, key: str, now: datetime) -> Errand:
    """What is sent for a wake; raises ValueError when *key* is no key."""
    told = {
        "schema": SCHEMA,
        "wake_id": call.wake_id,
        "prompt": call.prompt,
        "restricted": call.restricted,
        "model": call.prefs.model or None,
        "tools": call.prefs.tools,
        "max_usd": call.prefs.max_usd,
    }
    body = json.dumps(told).encode()
    seconds = str(int(now.timestamp()))
    headers = {
        "Webhook-Id": call.wake_id,
        "Webhook-Timestamp": seconds,
        "Webhook-Signature": signature(key, call.wake_id, seconds, body),
    }
    return Errand(url, headers, body)


def signature(key: str, wake_id: str, seconds: str, body: bytes) -> str:
    """The signature of one attempt. A *key* that begins with `whsec_` is base64, any other is taken as it is."""
    signed = b".".join((wake_id.encode(), seconds.encode(), body))
    digest = hmac.new(_bytes_of(key), signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def reply(answer: Answer) -> Reply:
    """What a receiver that accepted the wake answers: the text under `reply`, or nothing."""
    if answer.status in _NO_REPLY:
        return Reply()
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        return Reply()
    return Reply(text(table(found).get("reply")))


def _bytes_of(key: str) -> bytes:
    if not key.startswith(_PREFIX):
        return key.encode()
    try:
        return base64.b64decode(key.removeprefix(_PREFIX), validate=True)
    except binascii.Error:
        # Its own text says nothing of the key, but nobody promises that.
        raise ValueError("what stands after whsec_ is not base64; copy it whole") from None
