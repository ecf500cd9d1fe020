# ruff: noqa: RUF001  # look-alikes are what is tested
"""The verdict on a mail, and in which order its rules speak."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heartbeat.sources.mail.raw import read_message
from tests.mail.mails import ADDRESS, EVE, MINE, NOW, RAE, kind, mail, rules, verdict

PASS = f"{MINE}; dmarc=pass header.from=partner.example.org"
FAIL = f"{MINE}; dmarc=fail header.from=partner.example.org"


@pytest.mark.parametrize(
    ("fields", "authserv_id", "expected"),
    [
        ({}, "", "vip"),
        ({}, MINE, "spoof"),  # configured and missing: warn
        ({"authentication_results": PASS}, MINE, "vip"),
        ({"authentication_results": PASS}, "", "vip"),
        ({"authentication_results": PASS}, "other.example", "spoof"),
        ({"authentication_results": FAIL}, MINE, "spoof"),
        ({"authentication_results": FAIL}, "", "spoof"),
        ({"authentication_results": [FAIL, PASS]}, MINE, "spoof"),
        ({"authentication_results": f"{MINE}; spf=pass smtp.mailfrom={EVE}"}, MINE, "spoof"),
        ({"authentication_results": f"{MINE}; spf=pass smtp.mailfrom={EVE}"}, "", "vip"),
        ({"reply_to": "else@example.com"}, "", "spoof"),
        ({"reply_to": "else@example.com", "authentication_results": PASS}, "", "spoof"),  # nobody is trusted
        ({"reply_to": "else@example.com", "authentication_results": PASS}, MINE, "vip"),
        ({"reply_to": ADDRESS}, "", "vip"),
        ({"reply_to": "Else <else@Partner.example.org.>"}, "", "vip"),
        ({"reply_to": f"{ADDRESS}, else@example.com"}, "", "spoof"),
        ({"reply_to": "x@mail.partner.example.org"}, "", "spoof"),
        ({"reply_to": "nonsense"}, "", "vip"),
        ({"sender": EVE}, "", "vip"),
    ],
)
def test_the_exact_address_is_a_vip_unless_something_speaks_against_it(
    fields: dict[str, str], authserv_id: str, expected: str
) -> None:
    assert kind(mail(RAE, **fields), rules(authserv_id=authserv_id)) == expected
    assert kind(mail(RAE, **fields), rules(["@partner.example.org"], authserv_id=authserv_id)) == expected


@pytest.mark.parametrize(
    ("fields", "person", "domain"),
    [
        ({"auto_submitted": "auto-replied"}, "none", "none"),
        ({"auto_submitted": "Auto-Generated (rejected)"}, "none", "none"),
        ({"auto_submitted": "auto-replied; owner-email=x@example.org"}, "none", "none"),
        ({"auto_submitted": "no"}, "vip", "vip"),
        ({"auto_submitted": "No; x=y"}, "vip", "vip"),
        ({"auto_submitted": " no (by hand)"}, "vip", "vip"),
        ({"auto_submitted": ""}, "vip", "vip"),
        ({"precedence": "bulk"}, "vip", "none"),
        ({"precedence": "LIST"}, "vip", "none"),
        ({"precedence": "junk"}, "vip", "none"),
        ({"precedence": "first-class"}, "vip", "vip"),
        ({"list_id": "Team <team.lists.example.org>"}, "vip", "none"),
        ({"list_unsubscribe": "<https://example.org/u>"}, "vip", "none"),
    ],
)
def test_automatic_and_bulk_mail(fields: dict[str, str], person: str, domain: str) -> None:
    message = mail(RAE, **fields)
    assert kind(message, rules([RAE])) == person
    assert kind(message, rules(["@partner.example.org"])) == domain
    assert kind(message, rules(["@partner.example.org", RAE])) == person, "the person counts before the domain"
    assert kind(message, rules([RAE], with_bulk=True)) == "vip"
    assert kind(message, rules(["@partner.example.org"], with_bulk=True)) == "vip"


def test_a_list_that_rewrote_from_is_the_author() -> None:
    rewritten = mail('"Team list" <team@lists.example.org>', reply_to=ADDRESS, list_id="<team.lists.example.org>")
    assert kind(rewritten) == "none"
    assert kind(rewritten, rules(["team@lists.example.org"])) == "spoof", "answers go elsewhere, unconfirmed"
    assert kind(mail("team@lists.example.org", sender=RAE), rules(["team@lists.example.org"])) == "vip"


def test_a_pattern_may_match_what_is_automatic_bulk_or_broken() -> None:
    wanted = rules([RAE, "@partner.example.org"], ["(?i)urgent"])
    for fields in ({"auto_submitted": "auto-replied"}, {"precedence": "bulk"}):
        assert kind(mail("news@partner.example.org", subject="URGENT", **fields), wanted) == "pattern"
    assert kind(mail("nonsense", subject="urgent"), wanted) == "pattern"
    assert kind(mail("", subject="urgent"), wanted) == "pattern"


def test_forged_comes_before_vip_and_vip_before_pattern() -> None:
    wanted = rules([RAE], ["urgent"])
    assert kind(mail(f'"{ADDRESS}" <{EVE}>', subject="urgent"), wanted) == "spoof"
    assert kind(mail(RAE, subject="urgent", reply_to=EVE), wanted) == "spoof"
    assert kind(mail(RAE, subject="urgent"), wanted) == "vip"
    assert kind(mail("kim@example.org", subject="urgent"), wanted) == "pattern"
    assert kind(mail("kim@example.org", subject="lunch"), wanted) == "none"


@pytest.mark.parametrize("sender", [RAE, f"Rae Boss <{EVE}>", "kim@example.org"])
@pytest.mark.parametrize(("late", "told"), [(0, True), (1, False)])
def test_what_is_older_than_the_limit_is_nothing(sender: str, late: int, told: bool) -> None:
    wanted = rules([RAE], ["urgent"])
    arrival = NOW - wanted.max_age - timedelta(seconds=late)
    message = replace(mail(sender, subject="urgent"), arrived_at=arrival)
    assert (verdict(message, wanted) is not None) is told


@pytest.mark.parametrize(
    "date", ["1 Jan 2001 00:00:00 +0000", "10 Jun 2036 07:00:00 +0000", "soon", "", "1 Jan 1970 00:00:00 +0000"]
)
def test_a_date_of_the_sender_hides_nothing_that_just_arrived(date: str) -> None:
    assert kind(mail(RAE, date=date)) == "vip"


def test_the_subject_is_the_first_and_may_be_missing() -> None:
    wanted = rules(patterns=["urgent"])
    assert kind(mail("kim@example.org", subject=["lunch", "urgent"]), wanted) == "none"
    assert kind(mail("kim@example.org", subject=["urgent", "lunch"]), wanted) == "pattern"
    assert kind(mail("kim@example.org"), wanted) == "none"
    assert kind(mail("kim@example.org", subject="x" * 1000 + "urgent"), wanted) == "none", "beyond the cut"


def test_the_reason_names_the_real_sender() -> None:
    found = verdict(mail(f"Rae Boss <{EVE}>"))
    assert found is not None
    assert EVE in found.why
    found = verdict(mail("rаe.boss@partner.example.org"))
    assert found is not None
    assert "r\\u0430e.boss@partner.example.org" in found.why, "so that the strange letter is seen"


NAMES = st.one_of(
    st.text(st.characters(exclude_characters="\n", codec="utf-8")),
    st.lists(
        st.sampled_from(
            [
                ADDRESS,
                "Rae",
                "Boss",
                " ",
                '"',
                "(",
                ")",
                "<",
                ">",
                ",",
                ";",
                ":",
                "\\",
                "=?UTF-8?Q?",
                "?=",
                "\x00",
                "@",
                ".",
            ]
        )
    ).map("".join),
)


@given(NAMES)
@example(f"{ADDRESS} (")
@example(f"<{ADDRESS}> (")
@example(f'{ADDRESS} "')
@example(f"<{ADDRESS}>,")
@example(f"x: {ADDRESS};")
def test_no_name_around_anothers_address_makes_it_a_vip(name: str) -> None:
    for sender in (f"{name}<{EVE}>", f"{name} <{EVE}>", f"{EVE} ({name})", f"<{EVE}> {name}", f"<{EVE}{name}"):
        assert kind(mail(sender)) != "vip"
        assert kind(mail(sender), rules(["@partner.example.org"])) != "vip"


WORD = st.text("abcdefghijklmnopqrstuvwxyzäöüßéñ山田АБВ0123456789!#$%&'*+-/^_`{|}~", min_size=1, max_size=12)
QUOTED = st.text(
    st.characters(exclude_categories=("Cc", "Cs"), exclude_characters='"\\=', codec="utf-8"), max_size=40
).map('"{}"'.format)  # fmt: skip
COMMENT = st.text("abc déf,<>@.", max_size=20).map("({})".format)
ENCODED = st.binary(min_size=1, max_size=20).map(
    lambda data: "=?ISO-8859-15?Q?" + "".join(f"={byte | 0xA0:02X}" for byte in data) + "?="
)
PHRASE = st.lists(st.one_of(WORD, QUOTED, COMMENT, ENCODED)).map(" ".join)


@given(
    PHRASE, st.sampled_from([ADDRESS, ADDRESS.upper(), "rae.boss+x@partner.example.org", f"{ADDRESS}."]), st.booleans()
)
def test_the_exact_address_in_a_well_formed_from_is_always_a_vip(phrase: str, address: str, folded: bool) -> None:
    sender = f"{phrase}{chr(13) + chr(10) if folded else ''} <{address}>"
    assert kind(mail(sender)) == "vip"
    assert kind(mail(sender), rules(["@partner.example.org"])) == "vip"


FIELD = st.sampled_from(
    [b"From: ", b"Subject: ", b"Date: ", b"Received: ", b"Reply-To: ", b"Authentication-Results: ", b"Precedence: "]
)


@given(st.lists(st.tuples(FIELD, st.binary(max_size=80), st.sampled_from([b"\r\n", b"\n", b"\r", b""]))))
def test_no_header_whatsoever_raises(parts: list[tuple[bytes, bytes, bytes]]) -> None:
    message = read_message(b"".join(b"".join(part) for part in parts))
    assert kind(message, rules([RAE, "@example.org"], ["a"], MINE)) in ("vip", "pattern", "spoof", "none")
