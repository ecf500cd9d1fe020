"""Authentication-Results count only in the topmost answer of the owner's server, and only about the author's domain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.sources.mail import auth
from heartbeat.sources.mail.auth import LONGEST_FIELD, MOST_FIELDS, Vouch, read_results, vouch
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
        ([f"{MINE}; spf=none; dkim=none", f"{MINE}; {PASS}"], Vouch.NONE),
        ([f"{MINE}; none", f"{MINE}; {PASS}"], Vouch.NONE),
        ([f"{MINE}; dmarc=none", f"{MINE}; {PASS}"], Vouch.NONE),
        ([f"{MINE}; {PASS}", f"{MINE}; {FAIL}"], Vouch.PASS),
        ([f"evil.example; {PASS}"], Vouch.NONE),
        ([f"evil.example; {PASS}", f"{MINE}; {FAIL}"], Vouch.FAIL),
        ([f"evil.example; {FAIL}", f"{MINE}; {PASS}"], Vouch.PASS),
        ([f"x{MINE}; {PASS}", f"{MINE}.evil.example; {PASS}"], Vouch.NONE),
        ([f"evil.example ({MINE}); {PASS}"], Vouch.NONE),
        ([f'"{MINE}"; {PASS}'], Vouch.PASS),
        ([f'"x {MINE}"; {PASS}'], Vouch.NONE),
        ([f'x"{MINE}"; {PASS}'], Vouch.NONE),
        ([PASS], Vouch.NONE),
        ([""], Vouch.NONE),
        ([], Vouch.NONE),
    ],
)
def test_only_the_topmost_answer_of_the_configured_server_counts(fields: list[str], expected: Vouch) -> None:
    assert word(*fields) is expected


SPF, DKIM = f"spf=pass smtp.mailfrom={EVIL}", f"dkim=pass header.d={DOMAIN}"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ([SPF, DKIM], Vouch.PASS),
        ([DKIM, SPF, "dmarc=none"], Vouch.PASS),
        ([SPF, "dkim=none", PASS], Vouch.PASS),
        ([SPF, DKIM, FAIL], Vouch.FAIL),
        ([FAIL, SPF, DKIM], Vouch.FAIL),
        (["iprev=pass", "spf=fail smtp.mailfrom=x.example", DKIM], Vouch.PASS),
        (["dkim=none", f"spf=fail smtp.mailfrom={DOMAIN}"], Vouch.FAIL),
        # What a sender may have written below the server's own.
        ([SPF, "dkim=none", DKIM], Vouch.NONE),
        ([f"{SPF}; dkim=none", PASS], Vouch.NONE),
        ([SPF, f"{SPF}; {PASS}"], Vouch.NONE),
    ],
)
def test_filters_that_write_a_field_each_are_one_answer(fields: list[str], expected: Vouch) -> None:
    assert word(*(f"{MINE}; {field}" for field in fields)) is expected
    unnamed = expected if expected is Vouch.FAIL else Vouch.NONE
    assert word(*(f"{MINE}; {field}" for field in fields), authserv_id="") is unnamed


@pytest.mark.parametrize("between", ["received", "subject", "authentication-results"])
def test_the_run_of_fields_ends_at_any_other(between: str) -> None:
    name = "authentication-results"
    fields = [(name, f"{MINE}; {SPF}"), (between, "other.example; spf=none"), (name, f"{MINE}; {DKIM}")]
    assert vouch(Message(tuple((name, text.encode()) for name, text in fields)), MINE, DOMAIN) is Vouch.NONE


@pytest.mark.parametrize(
    ("configured", "name", "expected"),
    [
        ("*.messagingengine.com", "mx6.messagingengine.com", Vouch.PASS),
        ("*.MessagingEngine.com", "MX2.messagingengine.com", Vouch.PASS),
        ("*.messagingengine.com", "a.b.messagingengine.com", Vouch.NONE),
        ("*.messagingengine.com", "messagingengine.com", Vouch.NONE),
        ("*.messagingengine.com", ".messagingengine.com", Vouch.NONE),
        ("*.messagingengine.com", "mx.messagingengine.com.evil.example", Vouch.NONE),
        ("*.messagingengine.com", "xmessagingengine.com", Vouch.NONE),
        ("mx.*.com", "mx.evil.com", Vouch.NONE),
    ],
)
def test_a_star_stands_for_the_first_label(configured: str, name: str, expected: Vouch) -> None:
    assert word(f"{name}; {PASS}", authserv_id=configured) is expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ([f"spf=pass (sender IP is 192.0.2.1) smtp.mailfrom=x.example; {PASS};compauth=pass reason=100"], Vouch.PASS),
        ([f"spf=fail smtp.mailfrom={EVIL}; {FAIL};compauth=fail reason=000", f"spf=none; {PASS}; compauth=pass"],
         Vouch.FAIL),
        ([f"spf=none; {PASS}"], Vouch.NONE),
        ([f"mx.evil.example; {PASS}; compauth=pass"], Vouch.NONE),
        ([f"dkim=none; {FAIL}", f"spf=none; {PASS}; compauth=pass"], Vouch.NONE),
        ([], Vouch.NONE),
    ],
)  # fmt: skip
def test_exchange_online_has_no_name_but_a_result_of_its_own_on_top(fields: list[str], expected: Vouch) -> None:
    assert word(*fields, authserv_id="exchange-online") is expected


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (f'dmarc=pass header.from="{DOMAIN}"', Vouch.PASS),
        (f'dkim=pass header.i="@{DOMAIN}"', Vouch.PASS),
        (f'dmarc=pass reason="x" header.from={DOMAIN}', Vouch.PASS),
        (f'dmarc=fail header.from="{DOMAIN}"', Vouch.FAIL),
        (f'dmarc=pass header.from="{EVIL}"', Vouch.NONE),
        (f'dmarc=pass header.from="{DOMAIN};"', Vouch.NONE),
        (f'dmarc=pass header.from="{DOMAIN}".{EVIL}', Vouch.NONE),
        (f'dmarc=pass reason="header.from={DOMAIN}"', Vouch.NONE),
    ],
)
def test_a_value_in_quotes_is_read(result: str, expected: Vouch) -> None:
    assert word(f"{MINE}; {result}") is expected


@pytest.mark.parametrize(("more", "expected"), [(0, Vouch.PASS), (1, Vouch.NONE)])
def test_a_field_that_is_too_long_says_nothing(more: int, expected: Vouch) -> None:
    start = f"{MINE}; {PASS}; x="
    long = start + "x" * (LONGEST_FIELD - len(start) + more)
    assert word(long) is expected
    assert word(long, f"{MINE}; {DKIM}") is expected, "nor does what stands below it"


@pytest.mark.parametrize(("above", "expected"), [(MOST_FIELDS - 1, Vouch.PASS), (MOST_FIELDS, Vouch.NONE)])
def test_so_many_fields_are_looked_at(above: int, expected: Vouch) -> None:
    assert word(*["other.example; none"] * above, f"{MINE}; {PASS}") is expected


@pytest.mark.parametrize("piece", ["()", " ", "=", "(", '""', ";", "a.b=", 'a.b="c"', "\\"])
def test_a_flood_is_read_in_a_time_that_grows_with_its_length(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted is what the pattern for equals signs has to look at: a run of blanks would cost its square."""
    looked: list[str] = []

    class Counting:
        def sub(self, _with: str, text: str) -> str:
            looked.append(text)
            return text

    monkeypatch.setattr(auth, "_EQUALS", Counting())
    word(*[piece * (LONGEST_FIELD // len(piece))] * (MOST_FIELDS + 5))
    assert len(looked) <= MOST_FIELDS
    assert all(len(text) <= LONGEST_FIELD and "  " not in text for text in looked)


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
