"""The author of a mail is one mailbox in one From, or nobody."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.sources.mail.author import LONGEST_REPLY_TO, MOST_REPLY_TO, read_author, reply_domains
from heartbeat.sources.mail.lexer import lex
from heartbeat.sources.mail.message import Message
from heartbeat.sources.mail.words import LONGEST
from tests.mail.mails import ADDRESS, EVE, mail


@pytest.mark.parametrize(
    ("written", "address", "name"),
    [
        (ADDRESS, ADDRESS, ""),
        (f"<{ADDRESS}>", ADDRESS, ""),
        (f"Rae Boss <{ADDRESS}>", ADDRESS, "Rae Boss"),
        (f"Rae Boss<{ADDRESS}>", ADDRESS, "Rae Boss"),
        (f'"Boss, Rae" <{ADDRESS}>', ADDRESS, "Boss, Rae"),
        (f'"Rae \\"Big\\" Boss" <{ADDRESS}>', ADDRESS, 'Rae "Big" Boss'),
        (f"Rae B. Boss <{ADDRESS}>", ADDRESS, "Rae B. Boss"),
        (f"{ADDRESS} (Rae Boss)", ADDRESS, "Rae Boss"),
        (f"(hello) {ADDRESS}", ADDRESS, "hello"),
        (f"Rae (the (nested) boss) <{ADDRESS}> (by phone)", ADDRESS, "Rae"),
        (f"  \t{ADDRESS}\t ", ADDRESS, ""),
        (f"Rae < {ADDRESS} >", ADDRESS, "Rae"),
        ("Rae <Rae.Boss@PARTNER.Example.ORG>", "Rae.Boss@partner.example.org", "Rae"),
        ("Rae <rae@example.org.>", "rae@example.org", "Rae"),
        ("Rae <rae+tag@example.org>", "rae+tag@example.org", "Rae"),
        ('Rae <"rae.boss"@example.org>', "rae.boss@example.org", "Rae"),
        ('Rae <"a b@c"@example.org>', "a b@c@example.org", "Rae"),
        ("Rae <rae@bücher.example>", "rae@xn--bcher-kva.example", "Rae"),
        ("Rae <rae@BÜCHER.example>", "rae@xn--bcher-kva.example", "Rae"),
        ("Rae <rae@bu\u0308cher.example>", "rae@xn--bcher-kva.example", "Rae"),
        ("Räe <rae@example.org>", "rae@example.org", "Räe"),
        ("räe@example.org", "r\\xe4e@example.org", ""),
        ("=?UTF-8?Q?R=C3=A4e?= <rae@example.org>", "rae@example.org", "Räe"),
        ("=?UTF-8?Q?Boss,_Rae?= <rae@example.org>", "rae@example.org", "Boss, Rae"),
        ("=?UTF-8?Q?Rae Boss?= <rae@example.org>", "rae@example.org", "Rae Boss"),
        ("=?UTF-8?B?UmFl?= =?UTF-8?B?IEJvc3M=?= <rae@example.org>", "rae@example.org", "Rae Boss"),
        ('"=?UTF-8?Q?R=C3=A4e?=" <rae@example.org>', "rae@example.org", "Räe"),
        ("rae@localhost", "rae@localhost", ""),
    ],
)
def test_one_well_formed_mailbox_is_the_author(written: str, address: str, name: str) -> None:
    author = read_author(mail(written))
    assert (str(author.address), author.defect) == (address, "")
    assert author.name.startswith(name)


@pytest.mark.parametrize(
    ("written", "defect"),
    [
        ("", "it is empty"),
        ("<>", "it is empty"),
        ("(nobody)", "it is empty"),
        ("Rae Boss", "it is not one well-formed address"),
        ("Rae <>", "it is not one well-formed address"),
        ("rae@", "it is not one well-formed address"),
        ("@example.org", "it is not one well-formed address"),
        ("rae@example..org", "it is not one well-formed address"),
        (".rae@example.org", "it is not one well-formed address"),
        ("rae.@example.org", "it is not one well-formed address"),
        ("rae@exam_ple!.org", "it is not one well-formed address"),
        ("rae @example.org", "it is not one well-formed address"),
        ("rae@ example.org", "it is not one well-formed address"),
        ("rae@[192.0.2.1]", "it is not one well-formed address"),
        ("Boss, Rae <rae@example.org>", "it is not one well-formed address"),
        ("rae@example.org, kim@example.org", "it names several authors"),
        ("Rae <rae@example.org>, Kim <kim@example.org>", "it names several authors"),
        ("Team: rae@example.org, kim@example.org;", "it is a group"),
        ("undisclosed:;", "it is a group"),
        ("rae@example.org <eve@example.com>", "it is not one well-formed address"),
        ("<rae@example.org> <eve@example.com>", "it is not one well-formed address"),
        ("Rae <rae@example.org> eve@example.com", "it is not one well-formed address"),
        ("Rae <rae@example.org>;", "it is not one well-formed address"),
        ("Rae <<rae@example.org>>", "it is not one well-formed address"),
        ("Rae <rae@example.org", "it is not one well-formed address"),
        ("rae@example.org>", "it is not one well-formed address"),
        ("rae@example.org)eve@example.com", "it is not one well-formed address"),  # CVE-2023-27043
        ("rae@example.org]eve@example.com", "it is not one well-formed address"),
        ("rae@example.org (never ends <eve@example.com>", "it is not one well-formed address"),
        ('"never ends <rae@example.org>', "it is not one well-formed address"),
        ("rae(x)@example.org", "it is not one well-formed address"),
        ("rae@(x)example.org", "it is not one well-formed address"),
        ("<@relay.example:rae@example.org>", "it is not one well-formed address"),
        ("rae@example.org@example.com", "it is not one well-formed address"),
        ("rae\\@x@example.org", "it is not one well-formed address"),
        ("[List] Rae <rae@example.org>", "it is not one well-formed address"),
        ("=?UTF-8?Q?Rae_<rae@example.org>?=", "it is not one well-formed address"),
        ("rae@\u00a0example.org", "it is not one well-formed address"),
        (f"rae@{'a' * 64}.org", "it is not one well-formed address"),
        (f"rae@{'a.' * 127}org", "it is not one well-formed address"),
        ("Rae\x00 <rae@example.org>", "it holds control characters"),
        ("Rae\r <rae@example.org>", "it holds control characters"),
        ("Rae <rae@example.org>\x0b", "it holds control characters"),
        ("=?UTF-8?Q?Rae=00?= <rae@example.org>", "it holds control characters"),
        ("=?UTF-8?Q?Rae=0D=0A?= <rae@example.org>", "it holds control characters"),
        ("=?UTF-8?B?UmFlCg==?= <rae@example.org>", "it holds control characters"),
        ("Rae\x85 <rae@example.org>", "it holds control characters"),
        (b"r\xe4e@example.org", "its address is in an unknown charset"),
        (b"rae@b\xfccher.example", "its address is in an unknown charset"),
    ],
)
def test_anything_else_is_nobody(written: str | bytes, defect: str) -> None:
    author = read_author(mail(written))
    assert (author.address, author.defect) == (None, defect)


@pytest.mark.parametrize(("letters", "good"), [(63, True), (64, False)])
def test_a_label_has_at_most_63_letters(letters: int, good: bool) -> None:
    assert (read_author(mail(f"rae@{'a' * letters}.org")).address is not None) is good


LONG_DOMAIN = f"{'a.' * 125}abc"


@pytest.mark.parametrize(
    ("domain", "good"),
    [(LONG_DOMAIN, True), (f"{LONG_DOMAIN}.", True), (f"{LONG_DOMAIN}d", False), (f"{LONG_DOMAIN}.d", False)],
)
def test_a_domain_has_at_most_253_letters(domain: str, good: bool) -> None:
    assert len(LONG_DOMAIN) == 253
    assert (read_author(mail(f"rae@{domain}")).address is not None) is good


@pytest.mark.parametrize(("over", "good"), [(0, True), (1, False)])
def test_a_from_longer_than_the_limit_is_nobodys(over: int, good: bool) -> None:
    tail = f" <{ADDRESS}>"
    author = read_author(mail("a" * (LONGEST - len(tail) + over) + tail))
    assert (author.address is not None) is good
    assert author.defect == ("" if good else "it is too long")


def test_two_fields_are_nobody_and_neither_is_none() -> None:
    twice = Message((("from", b"kim@example.org"), ("from", b"rae@example.org")))
    assert read_author(twice).defect == "it stands there twice"
    assert read_author(twice).name == "kim@example.org, rae@example.org"
    assert read_author(Message((("sender", b"rae@example.org"),))).defect == "it has none"


def test_of_a_thousand_fields_the_first_and_the_last_are_looked_at() -> None:
    fields = [b"rae@example.org", *[b"kim@example.org"] * 1000, b"eve@example.com"]
    author = read_author(Message(tuple(("from", field) for field in fields)))
    assert author.name.startswith("rae@example.org")
    assert author.name.endswith("eve@example.com")
    assert len(author.name) < 200


def test_a_name_in_an_old_charset_is_read_and_its_ascii_address_is_good() -> None:
    author = read_author(mail("Räe <rae@example.org>".encode("latin-1")))
    assert (str(author.address), author.name) == ("rae@example.org", "Räe")


@pytest.mark.parametrize(
    ("written", "domains"),
    [
        ("rae@example.org", {"example.org"}),
        ("Rae <rae@Example.ORG.>", {"example.org"}),
        ("rae@example.org, Eve <eve@example.com>", {"example.org", "example.com"}),
        ('"rae@example.org" <eve@example.com>', {"example.com"}),
        ("(rae@example.org) eve@example.com", {"example.com"}),
        ("rae@example.org <eve@example.com>", {"example.org", "example.com"}),
        ("Team: eve@example.com;", {"example.com"}),
        ("rae@[192.0.2.1]", {"?"}),
        ("rae@", {"?"}),
        ("nobody", set()),
        ("", set()),
    ],
)
def test_the_domains_of_answers(written: str, domains: set[str]) -> None:
    assert reply_domains(mail(ADDRESS, reply_to=written)) == domains


@given(st.lists(st.binary(max_size=200), max_size=3))
def test_no_bytes_make_the_parser_raise(fields: list[bytes]) -> None:
    message = Message(tuple((name, field) for field in fields for name in ("from", "reply-to")))
    author = read_author(message)
    assert (author.address is None) == bool(author.defect)
    assert reply_domains(message) == reply_domains(message)


@given(st.text('()"\\<>@.,:;[] \tab=?qé\x00', max_size=60))
def test_without_quotes_comments_and_escapes_the_tokens_are_the_text(text: str) -> None:
    bare = text.translate(str.maketrans("", "", '()"\\'))
    assert "".join(token.text for token in lex(bare)) == bare
    assert sum(len(token.text) for token in lex(text)) <= len(text)


@pytest.mark.parametrize(
    "text", ["(" * 200_000, "((" * 50_000 + "))" * 50_000, '"' * 100_001, '"\\"' * 50_000, "=?a?q?," * 30_000]
)
def test_deep_or_long_nonsense_takes_no_stack_and_little_time(text: str) -> None:
    assert read_author(mail(text)).address is None


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ([f"rae@{'a' * 8}.example"] * MOST_REPLY_TO, {"aaaaaaaa.example"}),
        (["rae@a.example"] * (MOST_REPLY_TO + 1), {"?"}),
        (["rae@a.example" + " " * (LONGEST_REPLY_TO - 15) + " ;"], {"a.example"}),
        (["rae@a.example" + " " * (LONGEST_REPLY_TO - 14) + " ;"], {"?"}),
    ],
)
def test_so_many_reply_to_are_read_and_more_are_to_somebody_else(fields: list[str], expected: set[str]) -> None:
    assert reply_domains(mail(EVE, reply_to=fields)) == expected


def test_of_several_long_from_fields_only_the_beginnings_are_looked_at() -> None:
    fields = [("from", ("\ufdfa" * 3_300 + f" <{EVE}>").encode())] * 25
    assert len(read_author(Message(tuple(fields))).name) <= 6 * 502
    late = [("from", EVE.encode())] * 24 + [("from", ADDRESS.encode())]
    assert ADDRESS in read_author(Message(tuple(late))).name, "the first and the last are what programs show"
