"""What the owner's mail server found out about the sender: Authentication-Results (RFC 8601)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from heartbeat.sources.mail.lexer import BLANK, COMMENT, QUOTED, WRONG, lex
from heartbeat.sources.mail.message import Message
from heartbeat.sources.mail.names import canonical_domain
from heartbeat.sources.mail.words import text_of

_EQUALS = re.compile(r"\s*([=/])\s*")


class Vouch(Enum):
    """Whether the owner's server confirms that a mail comes from the domain of its author."""

    PASS = "pass"  # noqa: S105  # no password
    FAIL = "fail"
    NONE = "none"


class Result(NamedTuple):
    """One thing checked, such as `dkim=pass header.d=example.org`."""

    method: str
    result: str
    properties: Mapping[str, str]


def vouch(message: Message, authserv_id: str, domain: str) -> Vouch:
    """What the results of the server *authserv_id* say about the author's *domain*.

    Of those with its name only the topmost counts: the server puts its own above whatever the sender wrote. Without a
    name nobody is trusted: a pass proves nothing then, while a failure, the topmost one, still warns.
    """
    for field in message.all("authentication-results"):
        name, results = read_results(text_of(field))
        if not authserv_id:
            return Vouch.FAIL if _judge(results, domain) is Vouch.FAIL else Vouch.NONE
        if name == authserv_id.strip().lower():
            return _judge(results, domain)
    return Vouch.NONE


def read_results(text: str) -> tuple[str, list[Result]]:
    """The authserv-id, empty if there is none, and the results; nothing inside comments and quotes counts."""
    first, *others = _EQUALS.sub(r"\1", _bare(text)).lower().split(";")
    words = first.split()
    name = words[0] if words and "=" not in words[0] else ""
    parts = others if name or not words else [first, *others]
    return name, [result for part in parts if (result := _result(part.split())) is not None]


def _bare(text: str) -> str:
    parts = []
    for kind, piece in lex(text):
        if kind == WRONG and piece[0] in '("':
            break  # it never closes: what follows may be the sender's
        parts.append(" " if kind in (BLANK, COMMENT) else '"' if kind == QUOTED else piece)
    return "".join(parts)


def _result(words: list[str]) -> Result | None:
    if not words:
        return None
    method, equals, result = words[0].partition("=")
    pairs = [word.partition("=")[::2] for word in words[1:] if "=" in word]
    # Of a property that stands there twice the first counts, as of fields.
    return Result(method.partition("/")[0], result, dict(reversed(pairs))) if equals else None


def _judge(results: list[Result], domain: str) -> Vouch:
    dmarc = [result for result in results if result.method == "dmarc"]
    about = [result for result in dmarc if _domain(result.properties.get("header.from", domain)) == domain]
    if any(result.result == "fail" for result in about):
        return Vouch.FAIL
    if any(result.result == "pass" and "header.from" in result.properties for result in about):
        return Vouch.PASS
    if any(_aligned(result, domain) for result in results if result.result == "pass"):
        return Vouch.PASS
    failed = any(result.method in ("dkim", "spf") and result.result in ("fail", "hardfail") for result in results)
    return Vouch.FAIL if failed else Vouch.NONE


def _aligned(result: Result, domain: str) -> bool:
    """Whether a pass is about the author's domain, one above it or one below it (as relaxed DMARC has it)."""
    held = result.properties
    if result.method == "dkim":
        other = _domain(held.get("header.d", held.get("header.i", "")))
    elif result.method == "spf":
        other = _domain(held.get("smtp.mailfrom", ""))
    else:
        return False
    above = "." in other and domain.endswith("." + other)
    return other == domain or above or other.endswith("." + domain)


def _domain(text: str) -> str:
    """The domain of an address or of itself."""
    return canonical_domain(text.rpartition("@")[2]) or ""
