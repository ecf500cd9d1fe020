"""Patterns: searched with a limit, and whatever is wrong with one costs only itself."""

from __future__ import annotations

import pytest

from heartbeat.sources.mail.patterns import LONGEST, MOST, MOST_REPEATS, PATIENCE, Patterns

SLOW = r"(?:x|x)+(?:x|x)+y\b"
"""Takes time that doubles with every letter that does not match."""
TRAP = "x" * 60


@pytest.mark.parametrize(
    ("pattern", "subject"),
    [
        ("(?i)invoice", "Your INVOICE"),
        ("(?i)rechnung|invoice", "Ihre Rechnung"),
        ("紧急", "紧急通知"),
        (r"\burgent\b", "it is urgent!"),
        (r"^Re: (?!spam)", "Re: lunch"),
        (r"(\w+) \1", "again again"),
        (r"\p{Lu}{3}", "now ASAP"),
    ],
)
def test_a_pattern_is_searched_as_python_does(pattern: str, subject: str) -> None:
    patterns = Patterns([pattern])
    assert patterns.search(subject) == repr(pattern)
    assert patterns.search("nothing") == ""
    assert patterns.faults == []


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "missing )"),
        ("[a", "unterminated character set"),
        ("a{2,1}", "min repeat greater than max repeat"),
        (r"\p{Nope}", "unknown property"),
        ("(" * 500 + ")" * 500, "recursion"),
        ("", "it is no text, or empty"),
        (7, "it is no text, or empty"),
        (None, "it is no text, or empty"),
        (["a"], "it is no text, or empty"),
    ],
)
def test_a_broken_pattern_is_reported_and_the_others_are_searched(pattern: object, why: str) -> None:
    patterns = Patterns([pattern, "invoice"])
    assert patterns.search("an invoice") == "'invoice'"
    (fault,) = patterns.faults
    assert fault.startswith("cannot use pattern 1, ")
    assert why in fault


def test_the_option_must_be_a_list() -> None:
    patterns = Patterns("(?i)invoice")
    assert not patterns
    assert "it is no list" in patterns.faults[0]


@pytest.mark.parametrize(("length", "faults"), [(LONGEST, 0), (LONGEST + 1, 1)])
def test_a_pattern_may_be_so_long(length: int, faults: int) -> None:
    patterns = Patterns(["x" * length])
    assert (len(patterns), len(patterns.faults)) == (1 - faults, faults)


@pytest.mark.parametrize(
    ("pattern", "faults"),
    [
        (f"x{{{MOST_REPEATS}}}", 0),
        (f"x{{{MOST_REPEATS + 1}}}", 1),
        ("(?:x{1,100}){0,100}", 0),
        ("(?:x{1,100}){0,101}", 1),
        ("(?:(?:(?:a{1000}){1000}){1000}){1000}", 1),
        ("x{99999999999999999999}", 1),
    ],
)
def test_repetitions_are_counted_before_they_are_written_out(pattern: str, faults: int) -> None:
    assert len(Patterns([pattern]).faults) == faults


@pytest.mark.parametrize(("count", "faults"), [(MOST, 0), (MOST + 1, 1)])
def test_there_may_be_so_many_patterns(count: int, faults: int) -> None:
    patterns = Patterns([f"p{number}" for number in range(count)])
    assert (len(patterns), len(patterns.faults)) == (MOST, faults)


def test_a_slow_pattern_is_cut_off_reported_and_set_aside() -> None:
    patterns = Patterns([SLOW, "x"])
    for count in range(1, PATIENCE + 3):
        assert patterns.search(TRAP) == "'x'"
        (fault,) = patterns.faults
        assert f"took too long on {min(count, PATIENCE)} subject" in fault
    assert patterns.search("xxy") == "'x'", "set aside, although it would be found"


def test_a_slow_pattern_is_searched_again_while_there_is_patience() -> None:
    patterns = Patterns([SLOW])
    assert patterns.search(TRAP) == ""
    assert patterns.search("xxy") == repr(SLOW)


def test_endless_recursion_ends() -> None:
    assert Patterns(["(?R)"]).search("a" * 50) == ""
