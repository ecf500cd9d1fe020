"""The owner's own rules: which findings they fit, and what they do to them."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.config import searching
from heartbeat.config.discipline import RuleSettings
from heartbeat.config.patterns import LONGEST, MOST_REPEATS, compiled
from heartbeat.config.searching import Allowance, Pattern
from heartbeat.decide.owner import TIME_LIMIT, OwnerRule, muted, reminder, warm, weighed
from heartbeat.model import Finding, Step, Urgency

NOW = datetime(2026, 6, 10, 8, tzinfo=UTC)
INSTANT = timedelta.resolution
MAIL = Finding(
    "k",
    "Invoice 7 from Rae",
    kind="vip-mail",
    body="Please pay\nby Friday.",
    source="[work] mail",
    data={"sender": "Rae@Example.org"},
)


def rule(do: Any = "mute", **fields: Any) -> OwnerRule:
    if "pattern" in fields:
        fields["pattern"] = regex.compile(fields["pattern"])
    return OwnerRule(do, **fields)


FITS: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"job": "mail"}, True),
    ({"job": "mai"}, False),
    ({"job": "Mail"}, False),
    ({"job": "*"}, True),
    ({"job": "m*l"}, True),
    ({"job": "*m"}, False),
    ({"job": "mai?"}, False),
    ({"kind": "vip-mail"}, True),
    ({"kind": "*-mail"}, True),
    ({"kind": "spoof*"}, False),
    ({"source": "[work] mail"}, True),
    ({"source": "[work]*"}, True),
    ({"source": "[w]*"}, False),
    ({"sender": "rae@example.org"}, True),
    ({"sender": "RAE@EXAMPLE.ORG"}, True),
    ({"sender": "ae@example.org"}, False),
    ({"sender": "@example.org"}, True),
    ({"sender": "@EXAMPLE.ORG"}, True),
    ({"sender": "@ample.org"}, False),
    ({"sender": "@org"}, False),
    ({"pattern": "Invoice \\d"}, True),
    ({"pattern": "invoice"}, False),
    ({"pattern": "(?i)invoice"}, True),
    ({"pattern": "by Fri"}, True),
    ({"pattern": "Rae.*Please"}, False),
    ({"job": "mail", "kind": "vip-mail", "sender": "@example.org", "pattern": "Rae"}, True),
    ({"job": "mail", "kind": "vip-mail", "sender": "@example.org", "pattern": "Bob"}, False),
    ({"job": "other", "kind": "vip-mail"}, False),
    ({"until": NOW + INSTANT}, True),
    ({"until": NOW}, False),
    ({"job": "mail", "until": NOW}, False),
]


@pytest.mark.parametrize(("fields", "fits"), FITS, ids=[str(fields) for fields, _ in FITS])
def test_a_rule_fits_when_all_that_it_names_does(fields: dict[str, Any], fits: bool) -> None:
    assert rule(**fields).fits("mail", MAIL, NOW) == fits


@pytest.mark.parametrize(
    "data", [None, "rae@example.org", 5, [], {}, {"sender": None}, {"sender": ["rae@example.org"]}, {"Sender": "@"}]
)
def test_data_of_any_other_form_has_no_sender(data: Any) -> None:
    finding = Finding("k", "title", data=data)
    assert not rule(sender="rae@example.org").fits("mail", finding, NOW)
    assert not rule(sender="@example.org").fits("mail", finding, NOW)


@pytest.mark.parametrize(
    ("sender", "fits"),
    [("a@sub.example.org", False), ("a@example.org.evil", False), ("example.org", False), ("x@y@example.org", True)],
)
def test_a_domain_is_exactly_what_stands_behind_the_last_at(sender: str, fits: bool) -> None:
    assert rule(sender="@example.org").fits("mail", Finding("k", "t", data={"sender": sender}), NOW) == fits


def test_a_pattern_that_takes_too_long_does_not_fit_and_ends_soon() -> None:
    slow = rule(pattern=r"(?:x|x)+(?:x|x)+y\b")
    began = time.monotonic()
    assert not slow.fits("mail", Finding("k", "x" * 60, body="y"), NOW)
    assert time.monotonic() - began < 2


SLOW = r"(?:x|x)+(?:x|x)+y\b"


def hostile(count: int) -> list[Finding]:
    return [Finding(f"k{number}", "x" * 60 + str(number), body="y") for number in range(count)]


def test_what_is_hostile_costs_no_more_than_a_few_searches_and_hides_nothing_from_other_rules(
    caplog: pytest.LogCaptureFixture,
) -> None:
    slow = OwnerRule("mute", 1, pattern=compiled(SLOW, 1))
    quick = OwnerRule("mute", 2, pattern=compiled("7$", 2))
    searches, findings = Allowance(), hostile(100)
    began = time.monotonic()
    with searches.granted():
        warm((slow, quick), "mail", findings, NOW)
    assert time.monotonic() - began < 100 * TIME_LIMIT / 4  # all of them would take 5 s
    began = time.monotonic()
    with searches.granted():
        reasons = [muted((slow, quick), "mail", finding, NOW) for finding in findings]
    assert time.monotonic() - began < 1
    assert sum(reason is not None for reason in reasons) == 10
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1
    assert told[0].startswith("rule_is_slow rule=1 pattern=")


def test_all_searches_together_have_their_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(searching, "monotonic", lambda: now[0])

    class Engine:
        pattern, asked = "a", 0

        def search(self, text: str, timeout: float) -> bool:
            self.asked += 1
            now[0] += min(0.04, timeout)  # just within its limit
            return True

    engine, searches = Engine(), Allowance()
    made = OwnerRule("mute", pattern=Pattern(engine, 1))
    with searches.granted():
        found = [made.fits("mail", finding, NOW) for finding in hostile(100)]
    assert (engine.asked, sum(found)) == (25, 25)
    assert now[0] == pytest.approx(1)
    with searches.granted():
        assert made.fits("mail", hostile(100)[99], NOW)
    # What was slow is not searched again.
    asked = engine.asked
    assert made.fits("mail", hostile(1)[0], NOW)
    assert engine.asked == asked


def test_a_title_that_takes_too_long_does_not_hide_what_the_body_says() -> None:
    assert OwnerRule("mute", pattern=compiled(SLOW)).fits("mail", Finding("k", "x" * 60, body="xxy"), NOW)


# Mute


def test_the_first_fitting_rule_mutes_and_says_so() -> None:
    rules = (
        rule("raise", number=1, job="mail"),
        rule(number=2, job="other"),
        rule(number=3, kind="vip-mail", sender="@example.org"),
        rule(number=4, job="mail"),
    )
    assert muted(rules, "mail", MAIL, NOW) == "muted by rule 3 (kind vip-mail, sender @example.org)"
    assert muted(rules[:2], "mail", MAIL, NOW) is None
    assert muted((), "mail", MAIL, NOW) is None


def test_what_is_critical_is_muted_too() -> None:
    finding = Finding("k", "t", urgency=Urgency.CRITICAL)
    assert muted((rule(job="*"),), "mail", finding, NOW) == "muted by rule 1 (job *)"


def test_a_reason_is_one_short_line_whatever_the_pattern() -> None:
    reason = muted((rule(pattern="(?x)\n" + " " * 900 + "Invoice"),), "mail", MAIL, NOW)
    assert reason is not None
    assert "\n" not in reason
    assert len(reason) < 200


# Raise and lower

LOW, NORMAL, HIGH, CRITICAL = Urgency
STEPS = [
    # do, to, from, becomes
    ("raise", None, LOW, NORMAL),
    ("raise", None, HIGH, CRITICAL),
    ("raise", None, CRITICAL, CRITICAL),
    ("raise", CRITICAL, LOW, CRITICAL),
    ("raise", NORMAL, HIGH, HIGH),
    ("raise", NORMAL, NORMAL, NORMAL),
    ("lower", None, CRITICAL, HIGH),
    ("lower", None, LOW, LOW),
    ("lower", LOW, CRITICAL, LOW),
    ("lower", HIGH, NORMAL, NORMAL),
]


@pytest.mark.parametrize(("do", "to", "before", "after"), STEPS)
def test_raise_only_raises_and_lower_only_lowers(do: Any, to: Urgency | None, before: Urgency, after: Urgency) -> None:
    finding = Finding("k", "t", urgency=before)
    changed, steps = weighed((rule(do, job="mail", to=to),), "mail", finding, NOW)
    assert changed.urgency is after
    assert len(steps) == (before is not after)


def test_rules_weigh_in_order_each_on_what_the_one_before_made_of_it() -> None:
    rules = (
        rule("raise", number=1, job="mail"),
        rule("mute", number=2, job="mail"),
        rule("raise", number=3, job="other"),
        rule("raise", number=4, kind="vip-*", to=CRITICAL),
        rule("lower", number=5, job="mail"),
    )
    finding, steps = weighed(rules, "mail", MAIL, NOW)
    assert finding.urgency is HIGH
    assert steps == (
        Step("raise", "high", "raised from normal to high by rule 1 (job mail)"),
        Step("raise", "critical", "raised from high to critical by rule 4 (kind vip-*)"),
        Step("lower", "high", "lowered from critical to high by rule 5 (job mail)"),
    )


def test_nothing_but_the_urgency_is_changed() -> None:
    finding, _ = weighed((rule("raise", job="*"),), "mail", MAIL, NOW)
    assert {name: getattr(finding, name) for name in Finding.__slots__ if name != "urgency"} == {
        name: getattr(MAIL, name) for name in Finding.__slots__ if name != "urgency"
    }


RULES = st.builds(OwnerRule, st.sampled_from(["raise", "lower"]), to=st.none() | st.sampled_from(Urgency))


@given(st.lists(RULES, max_size=6), st.sampled_from(Urgency))
def test_the_steps_lead_from_the_urgency_that_was_to_the_one_that_is(rules: list[Any], urgency: Urgency) -> None:
    finding, steps = weighed(tuple(rules), "mail", Finding("k", "t", urgency=urgency), NOW)
    reached, order = urgency, list(Urgency)
    for step in steps:
        assert (order.index(Urgency(step.outcome)) > order.index(reached)) == (step.rule == "raise")
        reached = Urgency(step.outcome)
    assert reached is finding.urgency


# Remind


def test_the_first_fitting_rule_reminds_so_long_after_it_was_told() -> None:
    rules = (
        rule("remind", number=1, job="other", after=timedelta(minutes=5)),
        rule("mute", number=2, job="mail"),
        rule("remind", number=3, job="mail", after=timedelta(hours=2)),
        rule("remind", number=4, job="mail", after=timedelta(minutes=1)),
    )
    told_at = NOW - timedelta(hours=1)
    assert reminder(rules, "mail", MAIL, told_at, NOW) == (
        told_at + timedelta(hours=2),
        "it still holds 2h after it was told: rule 3 (job mail)",
    )
    assert reminder(rules[:2], "mail", MAIL, told_at, NOW) is None


def test_a_rule_that_is_over_reminds_of_nothing() -> None:
    over = rule("remind", job="mail", after=timedelta(hours=2), until=NOW)
    assert reminder((over,), "mail", MAIL, NOW, NOW) is None
    assert reminder((over,), "mail", MAIL, NOW, NOW - INSTANT) is not None


# From the configuration


def test_a_rule_of_the_configuration_is_taken_over_whole() -> None:
    given_rule = {
        "do": "raise",
        "job": "mail",
        "kind": "k*",
        "source": "s",
        "sender": "@example.org",
        "pattern": "(?i)invoice",
        "until": "2026-06-10T10:00:00+02:00",
        "to": "high",
    }
    made = RuleSettings.model_validate(given_rule).rule(7)
    assert (made.do, made.number, made.job, made.kind, made.source) == ("raise", 7, "mail", "k*", "s")
    assert (made.sender, made.until, made.to, made.after) == ("@example.org", NOW, Urgency.HIGH, None)
    assert made.pattern.search("INVOICE", timeout=1)
    assert str(made) == "rule 7 (job mail, kind k*, source s, sender @example.org, pattern (?i)invoice)"
    remind = RuleSettings.model_validate({"do": "remind", "job": "*", "after": "2h"}).rule(1)
    assert (remind.after, remind.pattern, remind.to) == (timedelta(hours=2), None, None)


UNUSABLE = ["(", "*", "[", "(?<=a*)(?P<x", "x" * (LONGEST + 1), f"x{{{MOST_REPEATS + 1}}}"]
NESTED = ["(a{101}){100}", "((a{22}b){22}){22}", "(a|(b{5000})c){3}"]


@pytest.mark.parametrize("text", [*UNUSABLE, *NESTED])
def test_a_pattern_that_cannot_be_used_is_refused_with_a_remedy(text: str) -> None:
    with pytest.raises(ValueError, match=r"^cannot use the pattern .*; \w+") as caught:
        compiled(text)
    assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize(
    "text",
    [
        "x" * LONGEST,
        f"x{{{MOST_REPEATS}}}",
        r"\p{Lu}+",
        # Counts side by side are not multiplied, and those in sets or behind a backslash are none.
        r"[A-Za-z0-9._]{1,64}@[a-z0-9-]{1,63}\.[a-z]{2,24}",
        r"\b\d{4}-\d{4}-\d{4}-\d{4}\b",
        r"\{20260101\}",
        "[{20260101}]",
        "[]{99999}]",
        "(a{100}){100}(b{100}){100}",
    ],
)
def test_a_pattern_at_its_limit_is_used(text: str) -> None:
    assert compiled(text) is not None
