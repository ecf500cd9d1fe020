"""Findings and sources: from the values of a gate to records, nothing coerced and nothing cut."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar

from heartbeat.gate.strict_json import Refusal, compact, describe, show
from heartbeat.model import Finding, Gate, Source, Urgency, WhenAbsent

TEXT_LIMITS = {"key": 512, "title": 500, "body": 4_000, "scope": 200}
MOST_SCOPES = 5_000
MOST_ABSENCES = 10
DATA_LIMIT = 16 * 1024
CONTEXT_LIMIT = 64 * 1024
ORIGINS = ("owner", "third_party")
INSTANT = (
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.,][0-9]+)?)?"
    r"|[0-9]{8}T([01][0-9]|2[0-3])[0-5][0-9]([0-5][0-9]([.,][0-9]+)?)?)"
    r"([Zz]|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)$"
)
_INSTANT = re.compile(INSTANT)
_FIRST_YEAR = 1000  # earlier years have fewer digits, and their text would sort wrongly
_NOTHING = "<nothing said>"
_T = TypeVar("_T")


def read_wake(values: dict[str, Any]) -> bool:
    """What an object says of waking; raises Refusal."""
    if "wakeAgent" not in values:
        raise Refusal("key_missing", 'the object has no "wakeAgent"')
    wake = values["wakeAgent"]
    if not isinstance(wake, bool):
        raise Refusal("value_not_boolean", f'"wakeAgent" is {describe(wake)}, not true or false')
    return wake


def read_gate(values: dict[str, Any]) -> Gate:
    """The gate an object stands for; raises Refusal for a field that is not as documented."""
    gate = _Record("field_invalid", "the gate", values)
    sources = gate.get("sources", list, "an array") or []
    findings = gate.get("findings", list, "an array") or []
    return Gate(
        wake=read_wake(values),
        reason=gate.text("reason"),
        findings=tuple(_finding(number, value) for number, value in enumerate(findings)),
        sources=tuple(_source(number, value) for number, value in enumerate(sources)),
        scopes=gate.scopes(),
        data=values.get("data"),
    )


def text_finding(context: str, reason: str, *, unique: str = "") -> Finding:
    """The one finding of a gate that says true and names none: the text above it, or else its reason.

    The same text has the same key, so it is told once; *unique* makes a key that was never told.
    """
    text = next((text for text in (context, reason) if text.strip()), _NOTHING)
    first_line = re.search(r"\S[^\n]*", text)
    title = first_line.group().rstrip() if first_line else _NOTHING
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return Finding(
        key=f"text:{digest}:{unique}" if unique else f"text:{digest}",
        title=_cut_title(title),
        body=_cut_body(text.strip()),
        when_absent=WhenAbsent.FORGET,
    )


def shorten(context: str) -> str:
    """The text above a gate, its head and tail when it is long."""
    left_out = len(context) - CONTEXT_LIMIT
    if left_out <= 0:
        return context
    half = CONTEXT_LIMIT // 2
    return f"{context[:half]}\n[{left_out} characters left out]\n{context[-half:]}"


@dataclass(frozen=True, slots=True)
class _Record:
    """One JSON object being read; every complaint names it. An optional key that is null counts as left out."""

    code: str
    where: str
    values: dict[str, Any]

    def refuse(self, problem: str, hint: str = "") -> Refusal:
        return Refusal(self.code, f"{self.where}: {problem}", hint)

    def get(self, name: str, kind: type[_T], wanted: str, *, required: bool = False) -> _T | None:
        value = self.values.get(name)
        if value is None and not required:
            return None
        if name not in self.values:
            raise self.refuse(f"{name} is missing", f'give it a "{name}", {wanted}')
        # Not isinstance: true is no number here, and a number too big to carry is no text.
        if type(value) is not kind:
            raise self.refuse(f"{name} is {describe(value)}, not {wanted}", f'make "{name}" {wanted}')
        return value

    def text(self, name: str, *, required: bool = False) -> str:
        value = self.get(name, str, "a text (in double quotes)", required=required) or ""
        limit = TEXT_LIMITS.get(name)
        if limit and len(value) > limit:
            raise self.refuse(f"{name} has {len(value)} characters; the limit is {limit}", f"shorten {name}")
        if required and not value:
            raise self.refuse(f"{name} is empty; it needs at least 1 character", f'give it a "{name}"')
        return value

    def scopes(self) -> tuple[str, ...]:
        names = self.get("scopes", list, "an array of texts") or []
        if len(names) > MOST_SCOPES:
            raise self.refuse(f"scopes has {len(names)} names; the limit is {MOST_SCOPES}", "use fewer scopes")
        for number, name in enumerate(names):
            if not isinstance(name, str) or not 0 < len(name) <= TEXT_LIMITS["scope"]:
                problem = f"scopes[{number}] is {describe(name)}, not a text of 1 to {TEXT_LIMITS['scope']} characters"
                raise self.refuse(problem, "name each scope that was looked at whole")
        return tuple(dict.fromkeys(names))

    def count(self, name: str, most: int, default: int) -> int:
        value = self.get(name, int, "a whole number")
        if value is None:
            return default
        if not 1 <= value <= most:
            raise self.refuse(f"{name} is {describe(value)}; it must be from 1 to {most}", f"mend {name}")
        return value

    def choice(self, name: str, known: tuple[str, ...], default: str) -> str:
        value = self.get(name, str, "a text (in double quotes)")
        if value is None:
            return default
        if value not in known:
            raise self.refuse(f"{name} is {show(value)}, which is unknown", f"use one of {', '.join(known)}")
        return value

    def instant(self, name: str) -> datetime | None:
        value = self.get(name, str, "a text such as 2026-06-10T08:00:00+02:00")
        return None if value is None else self._instant(name, value)

    def _instant(self, name: str, value: str) -> datetime:
        hint = "write it like 2026-06-10T08:00:00+02:00 or 2026-06-10T06:00:00Z"
        if not _INSTANT.match(value):
            problem = "has no offset" if _INSTANT.match(f"{value}Z") else "is not ISO 8601 with an offset"
            raise self.refuse(f"{name} {show(value)} {problem}", hint)
        try:
            instant = datetime.fromisoformat(value.upper()).astimezone(UTC)
        except (ValueError, OverflowError):
            raise self.refuse(f"{name} {show(value)} is no date of the calendar", hint) from None
        if instant.year < _FIRST_YEAR:
            raise self.refuse(f"{name} {show(value)} is before the year {_FIRST_YEAR}", hint)
        return instant


def _finding(number: int, value: Any) -> Finding:
    record = _element("finding_invalid", f"findings[{number}]", value, "key")
    return Finding(
        key=record.text("key", required=True),
        title=record.text("title", required=True),
        version=record.text("version"),
        kind=record.text("kind"),
        body=record.text("body"),
        urgency=Urgency(record.choice("urgency", _values(Urgency), Urgency.NORMAL)),
        useful_until=record.instant("useful_until"),
        starts_at=record.instant("starts_at"),
        occurred_at=record.instant("occurred_at"),
        source=record.text("source"),
        url=record.text("url"),
        origin=record.choice("origin", ORIGINS, "third_party"),
        retract=record.get("retract", bool, "true or false") or False,
        when_absent=WhenAbsent(record.choice("when_absent", _values(WhenAbsent), WhenAbsent.KEEP)),
        absences=record.count("absences", MOST_ABSENCES, 1),
        scope=record.text("scope"),
        data=_data(record),
    )


def _source(number: int, value: Any) -> Source:
    record = _element("field_invalid", f"sources[{number}]", value, "name")
    items = record.get("items", int, "a whole number")
    if items is not None and items < 0:
        raise record.refuse(f"items is {describe(items)}, less than 0", "count the items, from 0 up")
    return Source(
        name=record.text("name", required=True),
        ok=bool(record.get("ok", bool, "true or false", required=True)),
        items=items,
        message=record.text("message"),
    )


def _element(code: str, where: str, value: Any, name: str) -> _Record:
    if not isinstance(value, dict):
        raise Refusal(code, f"{where}: {describe(value)}, not an object", "write each one as an object in braces")
    return _Record(code, f"{where} ({name} {show(value[name])})" if name in value else where, value)


def _data(record: _Record) -> Any:
    data = record.values.get("data")
    size = len(compact(data).encode())
    if size > DATA_LIMIT:
        raise record.refuse(f"data has {size} bytes as JSON; the limit is {DATA_LIMIT}", "shorten data")
    return data


def _values(kind: type[StrEnum]) -> tuple[str, ...]:
    return tuple(kind)


def _cut_title(line: str) -> str:
    limit = TEXT_LIMITS["title"]
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _cut_body(text: str) -> str:
    limit = TEXT_LIMITS["body"]
    kept = limit - 40  # leaves room for the note
    return text if len(text) <= limit else f"{text[:kept]}\n[{len(text) - kept} more characters]"
