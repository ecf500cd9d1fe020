"""The format `chat`: chat completions as OpenAI has them, which most servers of models speak."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from heartbeat.agents._answers import count, table
from heartbeat.agents._errand import Answer, Errand
from heartbeat.agents._refusals import said_by, shown
from heartbeat.errors import AgentError
from heartbeat.model import Call, Reply, Usage

_BASE, _ENDPOINT = "/v1", "/chat/completions"
Prices = tuple[float, float]


def request(url: str, call: Call, key: str) -> Errand:
    """What is sent for a wake; without a *key* nobody is told who asks."""
    asked: dict[str, Any] = {"messages": [{"role": "user", "content": call.prompt}], "stream": False}
    if call.prefs.model:
        asked = {"model": call.prefs.model, **asked}
    headers = {"Idempotency-Key": call.wake_id}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    return Errand(endpoint(url), headers, json.dumps(asked).encode())


def endpoint(url: str) -> str:
    """The whole address, for one that ends where the API begins."""
    bare = url.rstrip("/")
    return f"{bare}{_ENDPOINT}" if bare.endswith(_BASE) else url


def reply(answer: Answer, host: str, prices: Prices | None, secrets: Mapping[str, str]) -> Reply:
    """What the model says; raises AgentError when that is not to be found."""
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        message = f"cannot use the answer of {host}: it is not JSON; see whether url is that of chat completions"
        raise AgentError(message, retryable=True) from None
    usage = usage_of(found, prices)
    try:
        text = found["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        text = None
    if not isinstance(text, str):
        said = shown(said_by(found), secrets) or "it holds no text in choices[0].message.content"
        message = f"cannot use the answer of {host}: {said}; see whether url is that of chat completions"
        raise AgentError(message, retryable=True, usage=usage)
    return Reply(text, usage=usage)


def usage_of(found: Any, prices: Prices | None) -> Usage:
    """The tokens that the server counted, and what they cost by *prices*, in US dollars for a million."""
    counted = table(table(found).get("usage"))
    read, written = count(counted.get("prompt_tokens")), count(counted.get("completion_tokens"))
    if prices is None or read is None or written is None:
        return Usage(read, written)
    return Usage(read, written, (read * prices[0] + written * prices[1]) / 1_000_000)
