# ruff: noqa: RUF001  # look-alikes are what is tested
"""Who is a VIP, who only looks like one, and which entries are refused."""

from __future__ import annotations

import pytest

from heartbeat.sources.mail.names import LONGEST_LOOK, canonical_domain, readable_domain, skeleton
from heartbeat.sources.mail.vips import LONGEST, MOST, read_vips
from tests.mail.mails import ADDRESS, EVE, RAE, kind, mail, rules


@pytest.mark.parametrize(
    ("entry", "sender"),
    [
        (RAE, ADDRESS),
        (ADDRESS, f"Somebody Else <{ADDRESS}>"),
        (f"<{ADDRESS}>", ADDRESS),
        (f'"Boss, Rae" <{ADDRESS}>', ADDRESS),
        (f"Boss, Rae <{ADDRESS}>", ADDRESS),
        (f"  {ADDRESS}  ", ADDRESS),
        ("Rae.Boss@Partner.Example.org.", ADDRESS),
        (ADDRESS, "RAE.BOSS@PARTNER.EXAMPLE.ORG"),
        (ADDRESS, "rae.boss+news@partner.example.org"),
        (ADDRESS, "rae.boss+a+b@partner.example.org"),
        ("rae.boss+news@partner.example.org", "rae.boss+News@partner.example.org"),
        (ADDRESS, '"rae.boss"@partner.example.org'),
        ("@partner.example.org", "anybody@partner.example.org"),
        ("@Partner.Example.org.", "anybody@partner.example.org"),
        ("Partner <@partner.example.org>", "anybody@partner.example.org"),
        ("rae@bücher.example", "rae@xn--bcher-kva.example"),
        ("rae@xn--bcher-kva.example", "rae@bücher.example"),
        ("rae@XN--BCHER-KVA.example", "rae@BÜCHER.example"),
        ("@bücher.example", "x@xn--bcher-kva.example"),
        ("räe@example.org", "RÄE@example.org"),
        ("räe@example.org", "ra\u0308e@example.org"),
        ("rae@intranet", "rae@intranet"),
    ],
)
def test_an_entry_means_exactly_its_address_or_domain(entry: str, sender: str) -> None:
    assert kind(mail(sender), rules([entry])) == "vip"


@pytest.mark.parametrize(
    ("entry", "sender"),
    [
        ("@partner.example.org", "x@mail.partner.example.org"),
        ("@partner.example.org", "x@example.org"),
        ("@partner.example.org", "x@mypartner.example.org"),
        ("@partner.example.org", "x@partner.example.organic"),
        ("@example.com", "x@example.com.br"),
        (ADDRESS, "kim@partner.example.org"),
        (ADDRESS, "xrae.boss@partner.example.org"),
        (ADDRESS, "rae.boss@partner.example.com"),
        (ADDRESS, '"barae.boss@partner.example.org" <barae.boss@partner.example.org>'),
        ("rae.boss+news@partner.example.org", ADDRESS),
        ("rae.boss+news@partner.example.org", "rae.boss+sport@partner.example.org"),
        ("rae@bücher.example", "rae@bucher-shop.example"),
        ("Kim <kim@example.org>", "Kim Jones <kim.jones@example.com>"),
        (RAE, "Rae Miller <rae@example.com>"),
        (RAE, "rae.boss@example.com"),
        (RAE, '"rae.boss@example.com" <rae.boss@example.com>'),
    ],
)
def test_others_are_others_and_no_forgers(entry: str, sender: str) -> None:
    assert kind(mail(sender), rules([entry])) == "none"


@pytest.mark.parametrize(
    "sender",
    [
        # the address in another's name
        f'"{ADDRESS}" <{EVE}>',
        f"{ADDRESS} <{EVE}>",
        f"<{ADDRESS}> <{EVE}>",
        f'"Rae <{ADDRESS}>" <{EVE}>',
        f"=?UTF-8?Q?{ADDRESS}?= <{EVE}>",
        f"=?UTF-8?Q?Rae_=3C{ADDRESS.replace('@', '=40')}=3E?= <{EVE}>",
        f"=?UTF-8?B?cmFlLmJvc3NAcGFydG5lci5leGFtcGxlLm9yZw==?= <{EVE}>",
        f"=?UTF-8?B?cmFlLmJvc3NAcGFydA==?= =?UTF-8?B?bmVyLmV4YW1wbGUub3Jn?= <{EVE}>",
        f"=?ISO-2022-JP?Q?{ADDRESS}?= <{EVE}>",
        f"=?UTF-8?Q?{ADDRESS}=00?= <{EVE}>",
        f"=?UTF-8?Q?{ADDRESS}=0D=0A?= <{EVE}>",
        f"=?UTF-8?Q?rae.boss=00@partner.example.org?= <{EVE}>",
        f"{EVE} ({ADDRESS})",
        f"({ADDRESS}) {EVE}",
        f"Eve ({ADDRESS}) <{EVE}>",
        f"Eve (({ADDRESS})) <{EVE}>",
        f'"{ADDRESS}"@attacker.example.com',
        f'<"{ADDRESS}"@attacker.example.com>',
        f'"rae.boss @ partner.example.org" <{EVE}>',
        f'"RAE.BOSS@PARTNER.EXAMPLE.ORG" <{EVE}>',
        f'"mailto:{ADDRESS}, urgent" <{EVE}>',
        f'"rae.boss@partner.example.org.uk" <{EVE}>',
        f'"rae.\u200bboss@part\u202ener.example.org" <{EVE}>',
        f'"rаe.boss@partner.example.org" <{EVE}>',
        f'"rae.boss＠partner.example.org" <{EVE}>',
        f'"rae。boss@partner。example。org" <{EVE}>',
        # the address with something at its edges
        f'"{ADDRESS}"eve <{EVE}>',
        f'x"{ADDRESS}" <{EVE}>',
        f"=?utf-8?q?rae.boss=40partner.example.org?=x <{EVE}>",
        f'".{ADDRESS}" <{EVE}>',
        f'"-{ADDRESS}-" <{EVE}>',
        f'"_{ADDRESS}_" <{EVE}>',
        f'"Rae. {ADDRESS}" <{EVE}>',
        f'"{ADDRESS}\'s phone" <{EVE}>',
        f'"rae . boss @ partner . example . org" <{EVE}>',
        f'"rae.boss@partner,example,org" <{EVE}>',
        f'"rae.boss@partner.example, org" <{EVE}>',
        # the name
        f"Rae\u3164Boss <{EVE}>",
        f"Rae\u115fBoss <{EVE}>",
        f"\uffa0Rae\u1160Boss <{EVE}>",
        f"Rae Boss <{EVE}>",
        f'"Boss, Rae" <{EVE}>',
        f"{EVE} (Rae Boss)",
        f"rae boss <{EVE}>",
        f"RaeBoss <{EVE}>",
        f"Rae K. Boss <{EVE}>",
        f'"Rae Boss (CEO)" <{EVE}>',
        '"Rae Boss via Team" <team@lists.example.org>',
        f"=?UTF-8?Q?Rae_Boss?= <{EVE}>",
        f"Rae B0ss <{EVE}>",
        f"Rаe Bоss <{EVE}>",
        f"Ｒａｅ Ｂｏｓｓ <{EVE}>",
        f"𝐑𝐚𝐞 𝐁𝐨𝐬𝐬 <{EVE}>",
        f"Ráe Böss <{EVE}>",
        f"R\u200bae Bo\u00adss <{EVE}>",
        "Rae Boss <rae.private@example.net>",
        "Rae Boss <assistant@partner.example.org>",
        "Rae Boss",
        "Rae Boss <>",
        # the address that is not quite it
        "rae.boss@partner.example.org.attacker.example.com",
        "x@partner.example.org.attacker.example.com",
        "rae.boss@раrtner.example.org",
        "rae.boss@xn--prtner-3nf.example.org",
        "rae.boss@ｐartner.example.org",
        "rae.boss@pàrtner.example.org",
        "rae.boss@partner.examp1e.org",
        "rae.boss@partner.example.0rg",
        "rae.boss@partner.exarnple.org",
        "billing@partner.examp1e.org",
        "rae.b0ss@partner.example.org",
        "rаe.boss@partner.example.org",
        "rаe.boss+x@partner.example.org",
        "räe.boss@partner.example.org",
        # a From that is broken
        f"{ADDRESS}, {EVE}",
        f"{EVE}, {ADDRESS}",
        f"Rae <{ADDRESS}>, Eve <{EVE}>",
        f"Team: {ADDRESS};",
        f"Team: {EVE}, {ADDRESS};",
        f"{ADDRESS};{EVE}",
        f"{ADDRESS})<{EVE}>",
        f"{ADDRESS}(<{EVE}>",
        f"({ADDRESS} <{EVE}>",
        f'"{ADDRESS} <{EVE}>',
        f"<{ADDRESS}",
        f"{ADDRESS}>",
        f"<<{ADDRESS}>>",
        f"{ADDRESS}@attacker.example.com",
        "rae.boss(x)@partner.example.org",
        "rae.boss@(x)partner.example.org",
        'rae."boss"@partner.example.org',
        "rae.boss @partner.example.org",
        f"[Urgent] Rae <{ADDRESS}>",
        f"Rae\x00 <{ADDRESS}>",
        f"=?UTF-8?Q?Rae=0D=0A?= <{ADDRESS}>",
        f"=?UTF-8?Q?Rae_Boss_<{ADDRESS}>?=",
        f"\\{ADDRESS}",
        f"rae.boss@partner.example.net <{ADDRESS}>",
        f"{ADDRESS} {ADDRESS} <{ADDRESS}>",
        f"<{ADDRESS}> <{ADDRESS}>",
        f"Rae Boss, PhD <{ADDRESS}>",
        f"Rae <{ADDRESS}>,",
    ],
)
def test_whoever_looks_like_a_vip_is_suspect(sender: str) -> None:
    assert kind(mail(sender)) == "spoof"


@pytest.mark.parametrize(
    "sender",
    [
        f'"anybody@partner.example.org" <{EVE}>',
        f"x@partner.example.org <{EVE}>",
        f"{EVE}, x@partner.example.org",
        "x@partner.examp1e.org",
        "x@partner.example.org.attacker.example.com",
        '"x@partner.example.org"@attacker.example.com',
        "x @partner.example.org",
    ],
)
def test_a_whole_domain_is_imitated_too(sender: str) -> None:
    assert kind(mail(sender), rules(["@partner.example.org"])) == "spoof"


@pytest.mark.parametrize("sender", ["x@xn--bcher-kva.example.attacker.example.com", f'"rae@bücher.example" <{EVE}>',
                                    f'"rae@xn--bcher-kva.example" <{EVE}>', "rae@bucher.example"])  # fmt: skip
def test_a_domain_with_letters_of_its_own_is_imitated_in_either_spelling(sender: str) -> None:
    assert kind(mail(sender), rules(["rae@bücher.example"])) == "spoof"


def test_a_vip_may_write_another_vips_address_into_the_name() -> None:
    assert kind(mail(f'"{ADDRESS}" <kim@example.org>'), rules([RAE, "kim@example.org"])) == "vip"


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("Rae Boss", "a name alone proves nothing"),
        ("partner.example.org", "a name alone proves nothing"),
        ("", "it is no text"),
        ("  ", "it is no text"),
        (7, "it is no text"),
        (None, "it is no text"),
        ({"env": "X"}, "it is no text"),
        ("Rae <>", "an address has an @"),
        ("Rae <rae>", "an address has an @"),
        ("@", "it is no domain"),
        ("@org", "it is no domain"),
        ("@*.example.org", "it is no domain"),
        ("@exa mple.org", "it is no domain"),
        ("@example..org", "it is no domain"),
        ("*@example.org", "it is no address"),
        ("rae@", "it is no address"),
        ("rae@example.org, kim@example.org", "it is no address"),
        ("rae@@example.org", "it is no address"),
        ('"a@b"@example.org', "it is no address"),
        ("Rae rae@example.org", "it is no address"),
        ("a" * LONGEST + "@example.org", "it is longer than 320 characters"),
    ],
)
def test_an_entry_that_says_nothing_is_refused_and_costs_only_itself(entry: object, why: str) -> None:
    vips, (fault,) = read_vips([entry, ADDRESS])
    assert [vip.shown for vip in vips] == [ADDRESS]
    assert fault.startswith("cannot use vip 1, ")
    assert why in fault


def test_the_option_must_be_a_list() -> None:
    vips, (fault,) = read_vips("Rae Boss <rae@example.org>")
    assert vips == []
    assert "it is no list" in fault


@pytest.mark.parametrize(("count", "faults"), [(MOST, 0), (MOST + 1, 1)])
def test_there_may_be_so_many_entries(count: int, faults: int) -> None:
    vips, told = read_vips([f"n{number}@example.org" for number in range(count)])
    assert (len(vips), len(told)) == (MOST, faults)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("paypal", "paypaI"), ("rae", "rаe"), ("boss", "b0ss"), ("modern", "modem"), ("vv", "w"), ("clean", "dean"),
        ("Bücher", "bucher"), ("ﬁne", "fine"), ("ǆ", "dž"), ("Straße", "strasse"), ("Ωmega", "ωmega"), ("a-b", "a–b"),
    ],
)  # fmt: skip
def test_what_looks_the_same_has_one_skeleton(one: str, other: str) -> None:
    assert skeleton(one) == skeleton(other)


@pytest.mark.parametrize(("one", "other"), [("rae", "rat"), ("kim", "tim"), ("example", "sample"), ("山田", "山口")])
def test_what_looks_different_has_two(one: str, other: str) -> None:
    assert skeleton(one) != skeleton(other)


@pytest.mark.parametrize("label", ["xn--", "xn--999999999999", "xn--\u00e9", "xn--a" * 12])
def test_a_label_that_is_no_punycode_stays_as_it_is(label: str) -> None:
    assert readable_domain(f"{label}.example")
    assert readable_domain("xn--partner-.example") != "xn--partner-.example"


def test_an_encoded_label_of_plain_letters_is_not_the_plain_one() -> None:
    assert canonical_domain("xn--partner-.example.org") != canonical_domain("partner.example.org")
    assert kind(mail("rae.boss@xn--partner-.example.org")) == "spoof"


@pytest.mark.parametrize(("before", "seen"), [(LONGEST_LOOK - 1, True), (LONGEST_LOOK, False)])
def test_so_many_letters_are_compared_and_what_is_invisible_is_none_of_them(before: int, seen: bool) -> None:
    assert ("z" in skeleton("\u200b" * 9_000 + "y" * before + "z")) is seen
    assert len(skeleton("\ufdfa" * 10_000)) <= 2 * LONGEST_LOOK, "one letter that is eighteen once taken apart"


@pytest.mark.parametrize(
    "sender",
    [
        f"=?utf-8?Q?{ADDRESS}?= <{ADDRESS}>",
        f"'{ADDRESS}' <{ADDRESS}>",
        f"'RAE.BOSS@Partner.Example.org' <{ADDRESS}>",
        f"{ADDRESS} <{ADDRESS}>",
        f'"{ADDRESS}" <{ADDRESS}>',
    ],
)
def test_an_address_that_is_its_own_name_is_one_address(sender: str) -> None:
    assert kind(mail(sender)) == "vip"


@pytest.mark.parametrize(
    "sender",
    [
        "Kim <\u212aim@korp.example>",
        "Kim <kim@\u212aorp.example>",
        "Kim <kim@KORP.example\u037e>",
        "kim@\u212aorp.example",
    ],
)
@pytest.mark.parametrize("entry", ["kim@korp.example", "@korp.example"])
def test_a_letter_that_only_becomes_one_of_ascii_makes_no_vip(sender: str, entry: str) -> None:
    assert kind(mail(sender), rules([entry])) == "spoof"
