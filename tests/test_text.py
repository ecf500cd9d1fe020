"""Strangers' text on a terminal."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.text import one_line, plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a meeting", "a meeting"),
        ("", ""),
        ("  a \t b  ", "a b"),
        ("one\ntwo\r\nthree", "one two three"),
        ("\x1b[2J\x1b]0;title\x07", "[2J ]0;title"),
        ("\x9b31mred", "31mred"),
        ("a\u202egnp.exe", "a gnp.exe"),
        ("a\u2066b\u200bc\ufeffd", "a b c d"),
        ("a\u2028b\u2029c\x85d", "a b c d"),
        ("a\x00b\x7fc", "a b c"),
        ("half \ud800 a character", "half a character"),
        ("tag \U000e0041", "tag"),
        ("private \ue000", "private"),
        ("Müller 会议 שלום 😀", "Müller 会议 שלום 😀"),
    ],
)
def test_a_text_is_shown_on_one_line_without_what_a_terminal_obeys(text: str, shown: str) -> None:
    assert one_line(text) == shown


@pytest.mark.parametrize(("length", "cut"), [(499, False), (500, False), (501, True)])
def test_a_text_past_the_limit_is_cut_with_an_ellipsis(length: int, cut: bool) -> None:
    shown = one_line("x" * length)
    assert len(shown) == min(length, 500)
    assert shown.endswith("…") is cut


def test_a_message_of_several_lines_keeps_them() -> None:
    assert plain("one:\n  two\x1b[2J\r\n") == "one:\n  two [2J \n"


@given(st.text())
def test_whatever_the_text_nothing_moves_the_cursor(text: str) -> None:
    for shown in (one_line(text), one_line(text, 10), plain(text).replace("\n", "")):
        assert {unicodedata.category(letter) for letter in shown}.isdisjoint({"Cc", "Cf", "Cs", "Zl", "Zp"})
    assert len(one_line(text, 10)) <= 10
    assert plain(text).count("\n") == text.count("\n")
