"""What the owner's mail server found out about the sender: Authentication-Results (RFC 8601)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from itertools import islice
from typing import NamedTuple

from heartbeat.sources.mail.lexer import BLANK, COMMENT, QUOTED, WRONG, lex
from heartbeat.sources.mail.message import Message
from heartbeat.sources.mail.names import canonical_domain
from heartbeat.sources.mail.words import text_of

EXCHANGE = "exchange-online"
"""Instead of a name: that server writes none, but always a result of its own, compauth."""
MOST_FIELDS = 10
LONGEST_FIELD = 8 << 10
"""Bytes; in a longer one the sender, whose words are repeated there, may have pushed a failure out of sight."""
_VERDICTS = {"dmarc", "dkim", "spf"}
_EQUALS = re.compile(r" ?([=/]) ?")
_BEFORE_VALUE = re.compile(r"[\w-]+\.[\w-]+ ?= ?\Z")
_LONGEST_NAME = 80
_PLAIN = re.compile(r"[\w.@+-]+")


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


class _Field(NamedTuple):
    place: int
    name: str
    results: list[Result] | None
    """None: it is too long."""


def vouch(message: Message, authserv_id: str, domain: str) -> Vouch:
    """What the results of the server *authserv_id* say about the author's *domain*.

    Only its topmost answer counts: the server puts its own above whatever the sender wrote. Without a name nobody is
    trusted: a pass proves nothing then, while a failure in the topmost answer still warns.
    """
    word = _judge(_answer(message, authserv_id.strip().lower()), domain)
    return word if authserv_id or word is Vouch.FAIL else Vouch.NONE


def read_results(text: str) -> tuple[str, list[Result]]:
    """The authserv-id, empty if there is none, and the results; nothing inside comments and quotes counts, but for a
    plain name or value that was put in quotes."""
    first, *others = _EQUALS.sub(r"\1", " ".join(_bare(text).split())).lower().split(";")
    words = first.split()
    name = words[0] if words and "=" not in words[0] else ""
    parts = others if name or not words else [first, *others]
    return name, [result for part in parts if (result := _result(part.split())) is not None]


def _answer(message: Message, wanted: str) -> list[Result]:
    """The results in the topmost field of the server, or in the run of fields where each of its filters writes one.

    A sender's field can stand right below. So the run ends at any other field, after one that holds several verdicts
    or none at all, and before one that repeats a verdict: there the server itself had already spoken.
    """
    fields = list(islice(_fields(message), MOST_FIELDS))
    first = next((number for number, field in enumerate(fields) if _is(field, wanted)), len(fields))
    if first and wanted == EXCHANGE:
        return []  # it puts its own on top of all
    answer: list[Result] = []
    for number, (place, name, results) in enumerate(fields[first:]):
        if results is None:
            return []
        if name != fields[first].name or place != fields[first].place + number:
            break
        found = _verdicts(results)
        if found & _verdicts(answer):
            break
        answer += results
        if len(found) > 1 or not results:
            break
    return answer


def _fields(message: Message) -> Iterator[_Field]:
    for place, (name, value) in enumerate(message.fields):
        if name == "authentication-results":
            server, results = read_results(text_of(value[:LONGEST_FIELD]))
            yield _Field(place, server, results if len(value) <= LONGEST_FIELD else None)


def _verdicts(results: Iterable[Result]) -> set[str]:
    return {result.method for result in results} & _VERDICTS


def _is(field: _Field, wanted: str) -> bool:
    """Whether a field is the server's; *wanted* may begin with `*.`, for one label."""
    if wanted == EXCHANGE:
        return not field.name and any(result.method == "compauth" for result in field.results or ())
    if wanted.startswith("*."):
        label, _, rest = field.name.partition(".")
        return label != "" and rest == wanted[2:]
    return not wanted or field.name == wanted


def _bare(text: str) -> str:
    parts: list[str] = []
    begun = False
    for kind, piece in lex(text):
        if kind == WRONG and piece[0] in '("':
            break  # it never closes: what follows may be the sender's
        if kind in (BLANK, COMMENT):
            parts.append(" ")
            continue
        if kind == QUOTED:
            is_value = not begun or _BEFORE_VALUE.search("".join(parts[-8:])[-_LONGEST_NAME:])
            parts.append(piece if is_value and _PLAIN.fullmatch(piece) else '"')
        else:
            parts.append(piece)
        begun = True
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
