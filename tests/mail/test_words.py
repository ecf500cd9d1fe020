"""Encoded words and raw bytes become text; nothing that a stranger writes raises or comes through as it should not."""

from __future__ import annotations

import unicodedata
from email.header import Header

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.sources.mail.words import LONGEST, LONGEST_LINE, decoded, one_line, text_of


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("plain", "plain"),
        ("=?UTF-8?Q?Ihre_Rechnung_f=C3=BCr_Juni?=", "Ihre Rechnung für Juni"),
        ("=?utf-8?q?Ihre_Rechnung_f=c3=bcr_Juni?=", "Ihre Rechnung für Juni"),
        ("=?UTF-8?B?UmVjaG51bmc=?=", "Rechnung"),
        ("=?UTF-8?B?UmVjaG51bmc?=", "Rechnung"),  # without its padding
        ("=?ISO-8859-1?Q?f=FCr?=", "für"),
        ("=?ISO-8859-1*de?Q?f=FCr?=", "für"),  # with a language
        ("=?iso-8859-1?q?=93urgent=94?=", "“urgent”"),  # Windows' quotes under the wrong label
        ("=?Windows-1252?Q?f=FCr?=", "für"),
        ("=?ISO-2022-JP?B?GyRCRkNKTBsoQg==?=", "特別"),
        ("=?GB2312?B?vfS8sc2o1qo=?=", "紧急通知"),
        ("=?gb2312?B?6U8=?=", "镕".replace("镕", b"\xe9O".decode("gb18030"))),  # a letter that only GBK has
        ("=?ks_c_5601-1987?B?sMu75g==?=", b"\xb0\xcb\xbb\xe6".decode("cp949")),
        ("=?KOI8-R?B?0NLJ18XU?=", "привет"),
        ("=?UTF-8?Q?in?= =?UTF-8?Q?voice?=", "invoice"),  # one word over two
        ("=?UTF-8?Q?in?=\r\n =?UTF-8?Q?voice?=", "invoice"),
        ("=?UTF-8?Q?f=C3?= =?UTF-8?Q?=BCr?=", "für"),  # split inside a letter
        ("=?UTF-8?B?Zg==?= =?UTF-8?Q?=C3=BC?= =?ISO-8859-1?Q?=FC?=", "füü"),
        ("=?UTF-8?Q?a?= and =?UTF-8?Q?b?=", "a and b"),
        ("Re: =?UTF-8?Q?a?=", "Re: a"),
        ("=?UTF-8?Q?Ihre Rechnung?=", "Ihre Rechnung"),  # blanks that should have been encoded
        ("=?UTF-8?Q?Really=3F?=", "Really?"),
        ("=?UTF-8?Q??=x", "x"),
        ("=?UTF-8?Q?=41?=", "A"),
        ("=?UTF-8?Q?100%=ZZ?=", "100%=ZZ"),
        ("=?UTF-8?B?UmVjaG51bmcg?= =?UTF-8?B?A?=", "Rechnung "),  # no base64
        ("=?UTF-8?B?!!!?=", ""),
        ("=?UTF-8?B?Um*Vja*G51bmc=?=", "Rechnung"),
        ("=?no-such-charset?Q?caf=C3=A9?=", "café"),
        ("=?unknown-8bit?Q?caf=E9?=", "café"),
        ("=?punycode?Q?bcher-kva?=", "bcher-kva"),
        ("=?unicode_escape?Q?=5Cu0041?=", "\\u0041"),
        ("=?zlib?B?eJw=?=", "xœ"),
        ("=?rot13?Q?nop?=", "nop"),
        ("=?UTF-8?X?abc?=", "=?UTF-8?X?abc?="),
        ("=?UTF-8?Q?never ends", "=?UTF-8?Q?never ends"),
    ],
)
def test_encoded_words_are_read(written: str, read: str) -> None:
    assert decoded(written) == read


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        (b"Rae", "Rae"),
        ("Bücher".encode(), "Bücher"),
        ("Bücher".encode("latin-1"), "Bücher"),
        (b"\x81", "�"),
        (b"", ""),
    ],
)
def test_raw_bytes_are_utf8_or_else_western(raw: bytes, read: str) -> None:
    assert text_of(raw) == read


@pytest.mark.parametrize("over", range(4))
def test_a_field_cut_inside_a_letter_stays_utf8(over: int) -> None:
    raw = b"x" * (LONGEST - over) + "😀".encode() * 2
    assert set(text_of(raw)) <= {"x", "😀"}


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        (b"Your\r\n invoice\r\n\tfor June", "Your invoice for June"),
        ("ur\u200bgent".encode(), "urgent"),
        ("\u202eevil\u202c".encode(), "evil"),
        (b"=?UTF-8?Q?two=0D=0Alines=00?=", "two lines"),
        (b"=?UTF-8?Q?esc=1B[31m?=", "esc[31m"),
        ("u\u0308ber".encode(), "über"),
        ("fu\u200b\u0308r".encode(), "für"),
        (b"=?utf-7?Q?+2AA-x?=", "x"),  # a lone surrogate, which would break the gate's JSON
        (b"a\xe2\x80\xa8b", "a b"),
    ],
)
def test_a_subject_is_one_clean_line(raw: bytes, line: str) -> None:
    assert one_line(raw) == line


@pytest.mark.parametrize(("length", "kept"), [(LONGEST_LINE, "x"), (LONGEST_LINE + 1, "…")])
def test_a_subject_is_cut_at_its_limit(length: int, kept: str) -> None:
    line = one_line(b"x" * length)
    assert (len(line), line[-1]) == (LONGEST_LINE, kept)


@given(st.text(st.characters(exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp")), max_size=200))
def test_what_pythons_own_library_encodes_is_read_back(text: str) -> None:
    written = Header(text, "utf-8", maxlinelen=60).encode()
    assert unicodedata.normalize("NFC", decoded(written)) == unicodedata.normalize("NFC", text)


PIECES = st.sampled_from(
    [
        *("=?", "?=", "?Q?", "?B?", "?b?", "utf-8", "utf-16", "utf-7", "iso-2022-jp", "hz", "idna"),
        *("=00", "=C3", "A", "a" * 70, " ", "_", "*en", "\x00", "é", "\ud800"),
    ]
)


@given(
    st.one_of(st.binary(max_size=400), st.lists(PIECES).map(lambda parts: "".join(parts).encode("utf-8", "replace")))
)
def test_no_bytes_raise_and_no_line_holds_what_may_not_be_shown(raw: bytes) -> None:
    line = one_line(raw)
    assert len(line) <= LONGEST_LINE
    assert {unicodedata.category(letter) for letter in line} & {"Cc", "Cf", "Cs", "Zl", "Zp"} == set()
    assert unicodedata.is_normalized("NFC", line)


@pytest.mark.parametrize(
    "raw", [b"=?a?q?" * 50_000, b"=?a?q??=" * 50_000, b'"\\' * 50_000, b"=?" * 50_000, b"=?a?b?" + b"A" * 100_000]
)
def test_a_long_field_is_cut_before_it_costs_its_length(raw: bytes) -> None:
    assert len(text_of(raw)) == LONGEST
    assert len(one_line(raw)) <= LONGEST_LINE
