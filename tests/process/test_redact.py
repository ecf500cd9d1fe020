"""Secrets are taken out of what a child printed."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.model import Captured, Execution
from heartbeat.process import redacted, without
from heartbeat.process.spellings import LONGEST, pattern

AT = datetime(2026, 6, 10, 8, tzinfo=UTC)


def printed(out: bytes, err: bytes = b"") -> Execution:
    return Execution(AT, AT, 0, stdout=Captured(out), stderr=Captured(b"", err))


def test_a_secret_is_replaced_by_its_name_on_both_streams() -> None:
    seen = redacted(printed(b"key=hunter22!", b"+ curl -H hunter22"), {"API_KEY": "hunter22"})
    assert (seen.stdout.joined(), seen.stderr.joined()) == (b"key=[secret API_KEY]!", b"+ curl -H [secret API_KEY]")


@pytest.mark.parametrize(("value", "left"), [("12345", b"a 12345 b"), ("123456", b"a [secret S] b")])
def test_values_under_six_characters_are_left_alone(value: str, left: bytes) -> None:
    assert redacted(printed(f"a {value} b".encode()), {"S": value}).stdout.head == left


def test_of_two_secrets_the_longer_goes_first() -> None:
    seen = redacted(printed(b"secret-one-long secret-one"), {"A": "secret-one", "B": "secret-one-long"})
    assert seen.stdout.head == b"[secret B] [secret A]"


def test_without_secrets_nothing_changes() -> None:
    execution = printed(b"as it is")
    assert redacted(execution, {}) is execution


# However it is spelled

AWKWARD = """pX/9"q\\z&<é>!(7) w@%+K*~'t\x7f\u2028\n\t日😀"""


def in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def all_escaped(text: str) -> str:
    units = text.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02X}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def lower(text: str) -> str:
    parts = text.split("%")
    return "%".join([parts[0], *(part[:2].lower() + part[2:] for part in parts[1:])])


SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "python json": in_json,
    "python json, not ascii": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "go": lambda text: in_json(text).replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"),
    "php": lambda text: in_json(text).replace("/", "\\/"),
    "upper-case hex": lambda text: in_json(text).replace("\\u00e9", "\\u00E9").replace("\\ud83d", "\\uD83D"),
    "javascript": lambda text: json.dumps(text, ensure_ascii=False)[1:-1].replace("\u2028", "\\u2028"),
    "every character escaped": all_escaped,
    "json in json": lambda text: in_json(in_json(text)),
    "go in php": lambda text: in_json(in_json(text).replace("&", "\\u0026")).replace("/", "\\/"),
    "path": quote,
    "query": quote_plus,
    "part of a path": lambda text: quote(text, safe=""),
    "encodeURIComponent": lambda text: quote(text, safe="!*'()~"),
    "encodeURI": lambda text: quote(text, safe=";,/?:@&=+$-_.!~*'()#"),
    "lower-case percent": lambda text: lower(quote(text, safe="")),
    "path in json": lambda text: in_json(quote(text)),
    "html": html.escape,
    "html of PHP": lambda text: html.escape(text).replace("&#x27;", "&#039;"),
    "html, numbers": lambda text: "".join(f"&#{ord(letter)};" for letter in text),
    "html in json": lambda text: in_json(html.escape(text)),
}


@pytest.mark.parametrize("spelled", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize(
    "secret", [AWKWARD, "p&ss<word>CANARY", "pass/word/CANARY", "pässwörtCANARY", 'a\\/\\\\"b%25&amp;']
)
def test_a_secret_is_taken_out_however_it_is_spelled(spelled: Any, secret: str) -> None:
    seen = redacted(printed(f"<<{spelled(secret)}>>".encode()), {"S": secret})
    assert seen.stdout.joined() == b"<<[secret S]>>"


@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=6, max_size=40),
    st.sampled_from(sorted(SPELLINGS)),
)
def test_any_secret_is_taken_out_however_it_is_spelled(secret: str, name: str) -> None:
    assert pattern(secret).fullmatch(SPELLINGS[name](secret).encode())


@pytest.mark.parametrize("secret", ["ends in a slash\\", '"quoted"', "a\nb\nc\n", "\\\\share\\"])
def test_json_stays_json_when_a_secret_is_taken_out_of_it(secret: str) -> None:
    whole = json.dumps({"a": f'"\\{secret}', "b": f"{secret}\\", "c": f"{secret}\n", "d": f'{secret}"'})
    told = json.loads(redacted(printed(whole.encode()), {"S": secret}).stdout.joined())
    assert all("[secret S]" in text and secret not in text for text in told.values())


@pytest.mark.parametrize(
    "text", ["hunter2", "hunter 22", "unter22", "hunter2\\2", "hunter%22", "&#104;unter2", "h u n t e r 2 2"]
)
def test_what_is_not_the_secret_is_left(text: str) -> None:
    assert redacted(printed(text.encode()), {"S": "hunter22"}).stdout.joined() == text.encode()


@pytest.mark.parametrize("length", [LONGEST, LONGEST + 1, 64 * 1024])
@pytest.mark.parametrize(
    "spelled", [SPELLINGS[name] for name in ("plain", "python json", "php", "path", "query", "part of a path", "html")]
)
def test_a_long_secret_is_taken_out_as_common_writers_spell_it(length: int, spelled: Any) -> None:
    secret = ("/k&y é" * length)[:length]
    assert redacted(printed(f"<{spelled(secret)}>".encode()), {"S": secret}).stdout.joined() == b"<[secret S]>"


@pytest.mark.parametrize("run", [b"\\\\/", b"%25", b"%2525", b"&amp;", b"\\", b"a&amp;%25"])
@pytest.mark.parametrize("secret", ["\\/" * 30, "%25" * 30, "&amp;" * 30, "\\" * 30, "a&%" * 30])
def test_output_made_to_be_slow_is_searched_at_once(secret: str, run: bytes) -> None:
    # With choices to take back this would go on for years.
    assert pattern(secret + "x").search(run * 2000 + b"y") is None


def test_bytes_that_are_no_text_are_taken_out() -> None:
    secret = "safe" + b"\xff\xfe".decode(errors="surrogateescape") + "er"
    seen = redacted(printed(b"a safe\xff\xfeer b safe%ff%FEer c"), {"S": secret})
    assert seen.stdout.joined() == b"a [secret S] b [secret S] c"


# In records


class Word(StrEnum):
    HUNTER = "hunter22"


@dataclass(frozen=True, slots=True)
class Record:
    text: str
    word: Word
    below: Any


def test_a_secret_is_taken_out_of_every_text_of_a_record_and_of_nothing_else() -> None:
    at, mark = AT, "[secret S]"
    below = {"k hunter22": ["hunter22", {"x": ("hunter%32%32", 1, None, True, 2.5, at)}], "other": "text"}
    found = without(Record("a hunter22", Word.HUNTER, (Record("", Word.HUNTER, below),)), {"S": "hunter22"})
    told = {f"k {mark}": [mark, {"x": (mark, 1, None, True, 2.5, at)}], "other": "text"}
    assert found == Record(f"a {mark}", Word.HUNTER, (Record("", Word.HUNTER, told),))


def test_a_record_is_left_as_it_is_without_secrets() -> None:
    record = Record("a", Word.HUNTER, {})
    assert without(record, {"S": "a"}) is record


@pytest.mark.parametrize("kept", [6, 9, 12])
@pytest.mark.parametrize("spelled", ["pass/word=12", "pass\\/word=12", "pass%2Fword%3D12"])
def test_a_secret_that_was_cut_in_two_by_what_was_left_out_is_not_shown_by_half(spelled: str, kept: int) -> None:
    raw = spelled.encode()
    cut = Captured(b"a " + raw[:kept], raw[-kept:] + b" z", 1000)
    found = redacted(Execution(AT, AT, 0, stdout=cut), {"KEY": "pass/word=12"}).stdout
    assert (found.head, found.tail) == (b"a [secret KEY]", b"[secret KEY] z")


def test_what_only_looks_like_the_beginning_of_a_secret_stays() -> None:
    cut = Captured(b"passwor pass/wo!", b"!rd=12", 1000)
    assert redacted(Execution(AT, AT, 0, stdout=cut), {"KEY": "pass/word=12"}).stdout == cut
