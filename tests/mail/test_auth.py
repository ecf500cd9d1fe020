"""Authentication-Results count only from the owner's server, only the topmost, and only about the author's domain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.sources.mail.auth import Vouch, read_results, vouch
from heartbeat.sources.mail.message import Message
from tests.mail.mails import MINE

DOMAIN = "partner.example.org"
EVIL = "attacker.example.com"


def word(*fields: str, authserv_id: str = MINE, domain: str = DOMAIN) -> Vouch:
    return vouch(Message(tuple(("authentication-results", field.encode()) for field in fields)), authserv_id, domain)


@pytest.mark.parametrize(
    "result",
    [
        f"dmarc=pass header.from={DOMAIN}",
        f"dmarc=pass (p=reject sp=none dis=none) header.from={DOMAIN}",
        f"DMARC=PASS HEADER.FROM={DOMAIN.upper()}.",
        f"dmarc = pass header.from = {DOMAIN}",
        f"dmarc/1=pass header.from={DOMAIN}",
        f"dkim=pass header.d={DOMAIN}",
        f"dkim=pass (2048-bit key) header.d={DOMAIN} header.s=s1",
        f"dkim=pass header.i=@{DOMAIN} header.s=s1 header.b=abc",
        "dkim=pass header.d=example.org",
        f"dkim=pass header.d=mail.{DOMAIN}",
        f"spf=pass smtp.mailfrom={DOMAIN}",
        f"spf=pass (ok) smtp.mailfrom=rae.boss@{DOMAIN}",
        f"spf=pass smtp.mailfrom=bounce@em.{DOMAIN}",
        f"dkim=fail header.d={EVIL}; dkim=pass header.d={DOMAIN}",
        f"dmarc=none header.from={DOMAIN}; dkim=pass header.d={DOMAIN}",
        f"dmarc=temperror header.from={DOMAIN}; spf=pass smtp.mailfrom={DOMAIN}",
        f"spf=fail smtp.mailfrom=list.example.com; dkim=pass header.d={DOMAIN}",
        f"dmarc=fail header.from={EVIL}; dkim=pass header.d={DOMAIN}",
    ],
)
def test_what_vouches(result: str) -> None:
    assert word(f"{MINE}; {result}") is Vouch.PASS
    assert word(f"{MINE.upper()} 1; {result}") is Vouch.PASS
    assert word(f"(comment) {MINE} (x); {result}") is Vouch.PASS
    assert word(f"{MINE}; {result}", authserv_id="") is Vouch.NONE, "nobody is trusted"


@pytest.mark.parametrize(
    "result",
    [
        "none",
        "",
        f"dmarc=none header.from={DOMAIN}",
        "dmarc=pass",  # for whom?
        f"dmarc=pass header.from={EVIL}",
        f"dmarc=pass header.from={DOMAIN}.{EVIL}",
        f"dmarc=pass header.from={EVIL} header.from={DOMAIN}",
        f"dkim=pass header.d={EVIL}",
        f"dkim=pass header.d={EVIL} header.i=@{DOMAIN}",
        "dkim=pass header.d=org",
        f"dkim=pass header.d=x{DOMAIN}",
        f"dkim=pass smtp.mailfrom={DOMAIN}",
        "dkim=pass",
        f"spf=pass smtp.mailfrom={EVIL}",
        f"spf=pass smtp.mailfrom={DOMAIN}@{EVIL}",
        f"spf=pass smtp.helo={DOMAIN}",
        f"spf=softfail smtp.mailfrom={DOMAIN}",
        f"dkim=neutral header.d={DOMAIN}; spf=none smtp.mailfrom={DOMAIN}",
        f"arc=pass header.d={DOMAIN}",
        f"x-dmarc=pass header.from={DOMAIN}",
        f"(dmarc=pass header.from={DOMAIN})",
        f"dkim=none (x; dmarc=pass header.from={DOMAIN})",
        f"dkim=none ((x); dmarc=pass header.from={DOMAIN})",
        f'dkim=none reason="x; dmarc=pass header.from={DOMAIN}"',
        f'dkim=none reason="\\"; dmarc=pass header.from={DOMAIN}; \\""',
        f'spf=none smtp.mailfrom="x; dmarc=pass header.from={DOMAIN};"@{EVIL}',
        f'spf=none reason="never ends; dmarc=pass header.from={DOMAIN}',
        f"spf=none (never ends; dmarc=pass header.from={DOMAIN}",
        f'dmarc="pass" header.from={DOMAIN}',
    ],
)
def test_what_does_not_vouch(result: str) -> None:
    assert word(f"{MINE}; {result}") is Vouch.NONE


@pytest.mark.parametrize(
    "result",
    [
        f"dmarc=fail header.from={DOMAIN}",
        f"dmarc=fail (p=none) header.from={DOMAIN}; dkim=none; spf=fail smtp.mailfrom={EVIL}",
        "dmarc=fail",
        f"dmarc=fail header.from={DOMAIN}; dkim=pass header.d={DOMAIN}",
        f"dmarc=pass header.from={DOMAIN}; dmarc=fail header.from={DOMAIN}",
        f"dkim=fail header.d={DOMAIN}",
        f"spf=fail smtp.mailfrom={DOMAIN}",
        f"spf=hardfail smtp.mailfrom={DOMAIN}; dkim=pass header.d={EVIL}",
    ],
)
def test_what_warns_with_a_trusted_server_and_without(result: str) -> None:
    assert word(f"{MINE}; {result}") is Vouch.FAIL
    assert word(f"any.example; {result}", authserv_id="") is Vouch.FAIL
    assert word(result or "none", authserv_id="") is Vouch.FAIL, "some servers write no name"


PASS = f"dmarc=pass header.from={DOMAIN}"
FAIL = f"dmarc=fail header.from={DOMAIN}"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ([f"{MINE}; {FAIL}", f"{MINE}; {PASS}"], Vouch.FAIL),  # the sender's own pass, below
        ([f"{MINE}; spf=none", f"{MINE}; {PASS}"], Vouch.NONE),
        ([f"{MINE}; {PASS}", f"{MINE}; {FAIL}"], Vouch.PASS),
        ([f"evil.example; {PASS}"], Vouch.NONE),
        ([f"evil.example; {PASS}", f"{MINE}; {FAIL}"], Vouch.FAIL),
        ([f"evil.example; {FAIL}", f"{MINE}; {PASS}"], Vouch.PASS),
        ([f"x{MINE}; {PASS}", f"{MINE}.evil.example; {PASS}"], Vouch.NONE),
        ([f"evil.example ({MINE}); {PASS}"], Vouch.NONE),
        ([f'"{MINE}"; {PASS}'], Vouch.NONE),
        ([PASS], Vouch.NONE),
        ([""], Vouch.NONE),
        ([], Vouch.NONE),
    ],
)
def test_only_the_topmost_of_the_configured_server_counts(fields: list[str], expected: Vouch) -> None:
    assert word(*fields) is expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ([f"a; {FAIL}", f"b; {PASS}"], Vouch.FAIL),
        ([f"a; {PASS}", f"b; {FAIL}"], Vouch.NONE),  # an earlier station, or the sender
        ([], Vouch.NONE),
    ],
)
def test_without_a_configured_server_the_topmost_failure_warns(fields: list[str], expected: Vouch) -> None:
    assert word(*fields, authserv_id="") is expected


def test_a_unicode_domain_is_compared_as_what_it_is() -> None:
    assert word(f"{MINE}; dmarc=pass header.from=bücher.example", domain="xn--bcher-kva.example") is Vouch.PASS


@given(st.text('();"\\=./ \tdmarcpas@' + "é\x00"))
def test_no_text_raises_and_nothing_vouches_by_chance(text: str) -> None:
    name, results = read_results(text)
    assert "=" not in name
    assert all(result.method != "" or result.result != "" or text for result in results)
    assert word(f"{MINE}; {text}") is not Vouch.PASS
