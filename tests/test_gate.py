"""The wake gate: the conformance cases, and what they cannot say."""

import base64
import dataclasses
import hashlib
import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from heartbeat.gate import DIALECTS, MAX_LINE, check, findings, judge, text_finding
from heartbeat.model import Captured, Execution, Finding, Gate, Judgement, Source, Urgency, Verdict, WhenAbsent

ROOT = Path(__file__).parent.parent
GATES = ROOT / "gates"
START = datetime(2026, 6, 10, 8, tzinfo=UTC)
TRUE = b'{"wakeAgent": true}\n'
FALSE = b'{"wakeAgent": false}\n'


def cases(*names: str) -> list[Any]:
    lines = [line for name in names for line in (GATES / "cases" / name).read_bytes().splitlines()]
    return [pytest.param(case, id=case["name"]) for case in map(json.loads, lines)]


ALL = cases("observed.jsonl", "contract.jsonl", "dialects.jsonl")
OBSERVED = cases("observed.jsonl")


def stdout_of(case: dict[str, Any]) -> bytes:
    if "stdout_b64" in case:
        return base64.b64decode(case["stdout_b64"])
    if "stdout_repeat" in case:
        return b"".join(unit.encode() * count for unit, count in case["stdout_repeat"])
    return str(case["stdout"]).encode()


def execution(stdout: bytes | Captured = b"", stderr: bytes = b"", **ending: Any) -> Execution:
    captured = stdout if isinstance(stdout, Captured) else Captured(head=stdout)
    ended_well = not {"signal", "timed_out", "start_error"} & ending.keys()
    return Execution(
        START,
        START + timedelta(seconds=60),
        **{"exit_code": 0 if ended_well else None, **ending},
        stdout=captured,
        stderr=Captured(head=stderr),
    )


def run(stdout: bytes | Captured = b"", dialect: str = "strict", unique: str = "", **ending: Any) -> Judgement:
    return judge(execution(stdout, **ending), token="", require_token=False, dialect=dialect, unique=unique)


def judge_case(case: dict[str, Any]) -> Judgement:
    ending: dict[str, Any] = {key: case[key] for key in ("signal", "timed_out", "start_error") if key in case}
    if "exit" in case:
        ending["exit_code"] = case["exit"]
    return judge(
        execution(stdout_of(case), case.get("stderr", "").encode(), **ending),
        token=case.get("token", ""),
        require_token=case.get("require_token", False),
        dialect=case.get("dialect", "strict"),
    )


def gate_line(**keys: Any) -> bytes:
    return json.dumps({"wakeAgent": False, **keys}).encode() + b"\n"


def one_finding(**keys: Any) -> bytes:
    return gate_line(findings=[{"key": "k", "title": "t", **keys}])


def the_gate(judgement: Judgement) -> Gate:
    assert judgement.gate is not None, judgement
    return judgement.gate


def the_finding(judgement: Judgement) -> Finding:
    (finding,) = the_gate(judgement).findings
    return finding


def assert_storable(judgement: Judgement) -> None:
    """Every text can be encoded, and every value is JSON."""
    json.dumps(dataclasses.asdict(judgement), default=str, ensure_ascii=False, allow_nan=False).encode()


# The conformance suite


@pytest.mark.parametrize("case", ALL)
def test_every_case_has_its_verdict(case: dict[str, Any]) -> None:
    judgement = judge_case(case)
    assert judgement.verdict == case["verdict"]
    if "reason" in case:
        assert judgement.code == case["reason"]
    if "findings" in case:
        assert len(judgement.gate.findings if judgement.gate else ()) == case["findings"]
    assert case.get("hint", "") in judgement.hint
    assert judgement.reason
    assert_storable(judgement)


@pytest.mark.parametrize("case", OBSERVED)
def test_the_dialect_hermes_does_what_hermes_does(case: dict[str, Any]) -> None:
    stdout = stdout_of(case)
    nothing = not stdout.decode("utf-8", "replace").strip()
    says = {True: Verdict.WAKE, False: Verdict.QUIET}.get(case["hermes_wakes"], Verdict.FAILED)
    assert run(stdout, "hermes").verdict is (Verdict.QUIET if nothing else says)


@pytest.mark.parametrize("case", [case for case in ALL if case.values[0]["verdict"] == "malformed"])
def test_whatever_is_malformed_comes_with_a_hint(case: dict[str, Any]) -> None:
    assert judge_case(case).hint


def test_the_cases_are_named_once_and_their_keys_are_explained() -> None:
    names = [case.values[0]["name"] for case in ALL]
    assert len(names) == len(set(names))
    readme = (GATES / "cases" / "README.md").read_text(encoding="utf-8")
    unexplained = {key for case in ALL for key in case.values[0] if f"`{key}`" not in readme}
    assert not unexplained


def test_the_manual_names_every_code_of_the_cases() -> None:
    manual = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    codes = {case.values[0].get("reason", case.values[0]["verdict"]) for case in ALL}
    assert not {code for code in codes if f"`{code}`" not in manual}


# Endings


@pytest.mark.parametrize(
    ("ending", "phrase"),
    [
        ({"exit_code": 3}, "exit status 3"),
        ({"signal": 9}, "SIGKILL (signal 9)"),
        ({"signal": 250}, "signal 250"),
        ({"timed_out": True}, "after 1m"),
        ({"start_error": "cannot start '/x': no such file"}, "cannot start '/x': no such file"),
        ({"exit_code": None}, "exit status unknown"),
    ],
)
def test_a_bad_ending_says_how_it_ended(ending: dict[str, Any], phrase: str) -> None:
    assert phrase in run(TRUE, **ending).reason


@pytest.mark.parametrize("ending", [{"exit_code": 1}, {"signal": 15}, {"timed_out": True}])
def test_a_gate_printed_before_a_bad_ending_is_kept_and_wakes_nobody(ending: dict[str, Any]) -> None:
    judgement = run(b"above\n" + one_finding(), **ending)
    assert judgement.verdict in (Verdict.FAILED, Verdict.TIMEOUT)
    assert the_finding(judgement) == Finding(key="k", title="t")
    assert judgement.context == "above\n"


def test_a_bad_ending_without_a_gate_keeps_none() -> None:
    assert run(b"{", exit_code=1).gate is None


def test_an_unknown_dialect_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"cannot judge in the dialect 'Hermes'.*strict, hermes, nanoclaw"):
        run(TRUE, "Hermes")


# Output too long to be kept whole


def test_a_gate_in_the_tail_is_found_although_the_middle_was_left_out() -> None:
    judgement = run(Captured(b"begin\n", b"end\n" + TRUE, 500))
    assert judgement.verdict is Verdict.WAKE
    assert judgement.context == "begin\n\n[500 bytes left out]\nend\n"


@pytest.mark.parametrize("tail", [TRUE, b" " + TRUE + b"\n\n", b"\n\n", b""])
def test_a_last_line_whose_beginning_was_left_out_is_no_gate(tail: bytes) -> None:
    judgement = run(Captured(b"mail: \n" + FALSE, tail, 7))
    assert (judgement.verdict, judgement.code) == (Verdict.MALFORMED, "gate_line_too_long")
    assert "7 bytes" in judgement.reason


def test_long_text_above_the_gate_keeps_head_and_tail() -> None:
    limit = findings.CONTEXT_LIMIT
    exact = "x" * (limit - 1) + "\n"
    assert run(exact.encode() + TRUE).context == exact
    longer = run(b"A" + exact.encode() + TRUE).context
    head, tail = longer.split("\n[1 characters left out]\n")
    assert (head, tail) == ("A" + exact[: limit // 2 - 1], exact[-limit // 2 :])


# The one finding of a text


def test_a_true_without_findings_tells_the_text_above_it() -> None:
    finding = the_finding(run(b"\n  disk full on /home\r\nused: 99%\n" + TRUE))
    assert finding == Finding(
        key="text:" + hashlib.sha256(b"\n  disk full on /home\r\nused: 99%\n").hexdigest(),
        title="disk full on /home",
        body="disk full on /home\r\nused: 99%",
        when_absent=WhenAbsent.FORGET,
    )


@pytest.mark.parametrize("above", [b"", b"\n \t\r\n"])
def test_a_true_without_text_tells_its_reason(above: bytes) -> None:
    finding = the_finding(run(above + b'{"wakeAgent": true, "reason": "backup is late"}\n'))
    assert (finding.title, finding.body) == ("backup is late", "backup is late")
    assert finding.key == "text:" + hashlib.sha256(b"backup is late").hexdigest()


def test_a_true_without_text_or_reason_says_so() -> None:
    assert the_finding(run(TRUE)).title == "<nothing said>"


def test_the_same_text_has_the_same_key_and_another_text_another() -> None:
    keys = [
        the_finding(run(text + TRUE, unique=unique)).key
        for text, unique in ((b"a\n", "1"), (b"a\n", "2"), (b"b\n", ""))
    ]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize("dialect", ["hermes", "nanoclaw"])
def test_in_a_foreign_dialect_a_unique_text_makes_every_true_new(dialect: str) -> None:
    keys = {the_finding(run(TRUE, dialect, unique=unique)).key for unique in ("", "run_1", "run_2")}
    assert len(keys) == 3
    assert the_finding(run(TRUE, dialect)) == the_finding(run(TRUE, dialect))


def test_a_title_is_cut_at_its_limit() -> None:
    assert text_finding("x" * 500, "").title == "x" * 500
    assert text_finding("x" * 501, "").title == "x" * 499 + "…"


def test_a_body_is_cut_at_its_limit_and_says_what_is_missing() -> None:
    assert text_finding("x" * 4000, "").body == "x" * 4000
    body = text_finding("x" * 4001, "").body
    kept = body.count("x")
    assert len(body) <= 4000
    assert body.endswith(f"\n[{4001 - kept} more characters]")


def test_the_key_covers_the_text_beyond_the_cut() -> None:
    long = "x" * 100_000
    assert text_finding(f"{long}a", "").key != text_finding(f"{long}b", "").key


# What a gate carries


def test_a_finding_is_read_field_by_field_and_its_instants_become_utc() -> None:
    finding = the_finding(
        run(
            one_finding(
                version="2",
                kind="meeting",
                body="Room 3",
                urgency="critical",
                useful_until="2026-06-10T09:00:00+02:00",
                starts_at="20260610T0700Z",
                occurred_at="2026-06-10 08:30:00.1234567-0330",
                source="home.ics",
                url="https://example.org/42",
                origin="owner",
                retract=True,
                when_absent="retract",
                data={"room": [3]},
            )
        )
    )
    assert finding == Finding(
        key="k",
        title="t",
        version="2",
        kind="meeting",
        body="Room 3",
        urgency=Urgency.CRITICAL,
        useful_until=datetime(2026, 6, 10, 7, tzinfo=UTC),
        starts_at=datetime(2026, 6, 10, 7, tzinfo=UTC),
        occurred_at=datetime(2026, 6, 10, 12, 0, 0, 123456, tzinfo=UTC),
        source="home.ics",
        url="https://example.org/42",
        origin="owner",
        retract=True,
        when_absent=WhenAbsent.RETRACT,
        data={"room": [3]},
    )
    assert finding.starts_at is not None
    assert finding.starts_at.tzinfo is UTC


def test_null_is_the_same_as_leaving_an_optional_key_out() -> None:
    optional = {field.name: None for field in dataclasses.fields(Finding) if field.name not in ("key", "title")}
    assert the_finding(run(one_finding(**optional))) == Finding(key="k", title="t")


def test_reason_sources_and_data_are_handed_on() -> None:
    sources = [{"name": "inbox", "ok": False, "items": 0, "message": "refused"}, {"name": "cal", "ok": True}]
    judgement = run(gate_line(reason="nothing new", sources=sources, data={"n": 1}))
    assert the_gate(judgement) == Gate(
        wake=False,
        reason="nothing new",
        sources=(Source("inbox", ok=False, items=0, message="refused"), Source("cal", ok=True)),
        data={"n": 1},
    )
    assert judgement.reason == "nothing new"


@pytest.mark.parametrize("number", ["1e999", "-1e999", "9" * 5000])
def test_a_number_too_large_to_carry_is_handed_on_as_its_text(number: str) -> None:
    data = the_gate(check(b'{"wakeAgent": false, "data": [%s]}\n' % number.encode())).data
    assert json.loads(json.dumps(data, allow_nan=False)) == [number]


def test_a_long_number_that_python_carries_stays_a_number() -> None:
    assert the_gate(check(b'{"wakeAgent": false, "data": %s}\n' % (b"9" * 640))).data == 10**640 - 1


@pytest.mark.parametrize(
    ("stdout", "phrases"),
    [
        (
            gate_line(findings=[{"key": "a", "title": "t"}, {"key": "disk", "title": "x" * 501}]),
            ("line 1", "findings[1]", "'disk'", "title", "501", "500"),
        ),
        (one_finding(data="x" * 16_383), ("findings[0]", "'k'", "data", "16385", "16384")),
        (one_finding(urgency="urgent"), ("findings[0]", "urgency", "'urgent'")),
        (one_finding(starts_at="2026-06-10T08:00:00"), ("starts_at", "2026-06-10T08:00:00", "no offset")),
        (one_finding(starts_at="2026-02-30T08:00:00Z"), ("starts_at", "2026-02-30T08:00:00Z", "calendar")),
        (gate_line(findings=[{"title": "t"}]), ("findings[0]", "key is missing")),
        (gate_line(sources=[{"name": "inbox", "ok": "yes"}]), ("sources[0]", "'inbox'", "ok", "'yes'")),
        (gate_line(reason=5), ("reason", "the number 5")),
        (one_finding(absences=11), ("findings[0]", "absences", "11", "1 to 10")),
        (one_finding(absences=True), ("findings[0]", "absences", "true")),
        (one_finding(scope="x" * 201), ("findings[0]", "scope", "201", "200")),
        (gate_line(scopes="all"), ("scopes", "'all'", "an array")),
        (gate_line(scopes=["a", "x" * 201]), ("scopes[1]", "200")),
        (gate_line(scopes=["a"] * 5_001), ("scopes", "5001", "5000")),
        (b'a\nb\n{"wakeAgent": NaN}\n', ("line 3", "NaN")),
        (b'{"wakeAgent": false, "x": -Infinity}\n', ("-Infinity",)),
        (b'{"wakeAgent": true,, }\n', ("line 1", "column 20")),
        (b'{"wakeAgent": true, "x": {"b": 1, "b": 2}}\n', ("'b'", "twice")),
        (b'{"wakeAgent": true, "reason": "look \\ud83d"}\n', ("ud83d", "look")),
        (b'{"wakeAgent": true, "r": "\xe9"}\n', ("0xE9", "byte 27")),
        (b"[1]\n", ("an array",)),
        (b"x" * (MAX_LINE + 1), (str(MAX_LINE), str(MAX_LINE + 1))),
    ],
)
def test_a_reason_says_what_is_wrong_and_where(stdout: bytes, phrases: tuple[str, ...]) -> None:
    reason = check(stdout).reason
    assert [phrase for phrase in phrases if phrase not in reason] == []


def test_neither_token_is_shown() -> None:
    judgement = judge(
        execution(gate_line(token="s3cret-given")), token="s3cret-run", require_token=True, dialect="strict"
    )
    assert judgement.code == "token_wrong"
    assert "s3cret" not in judgement.reason + judgement.hint


def test_a_required_token_that_was_never_made_lets_no_gate_pass() -> None:
    for line in (TRUE, gate_line(token=""), gate_line(token="anything")):
        assert judge(execution(line), token="", require_token=True, dialect="strict").verdict is Verdict.MALFORMED


def test_check_demands_no_token_and_accepts_any() -> None:
    assert check(TRUE).verdict is Verdict.WAKE
    assert check(gate_line(token="anything")).verdict is Verdict.QUIET


# The foreign dialects


def test_hermes_tells_the_whole_output_with_its_gate_line() -> None:
    judgement = run(b"alert\r\n" + TRUE, "hermes")
    assert judgement.context == 'alert\n{"wakeAgent": true}\n'
    assert the_finding(judgement).body == 'alert\n{"wakeAgent": true}'


@pytest.mark.parametrize(
    "ending", [{"exit_code": 7}, {"signal": 9}, {"timed_out": True}, {"start_error": "cannot start"}]
)
def test_hermes_tells_an_error_with_what_was_printed(ending: dict[str, Any]) -> None:
    judgement = run(b"found it\n" + FALSE, "hermes", stderr=b"boom\n", **ending)
    finding = the_finding(judgement)
    assert finding.title.startswith("the script failed: ")
    assert "boom" in finding.body
    assert "found it" in finding.body


def test_nanoclaw_tells_nothing_but_the_data() -> None:
    judgement = run(b'noise\n{"wakeAgent": true, "data": {"alerts": 2}}\n', "nanoclaw")
    assert judgement.context == '{\n  "alerts": 2\n}'
    assert the_gate(judgement).data == {"alerts": 2}
    assert "noise" not in the_finding(judgement).body


@pytest.mark.parametrize("data", ["null", "0", "-0.0", "false", '""'])
def test_nanoclaw_shows_no_data_that_is_empty(data: str) -> None:
    assert run(b'{"wakeAgent": true, "data": %s}\n' % data.encode(), "nanoclaw").context == ""


@pytest.mark.parametrize("data", ["[]", "{}", '"0"', "1", "true"])
def test_nanoclaw_shows_data_that_is_not_empty(data: str) -> None:
    assert run(b'{"wakeAgent": true, "data": %s}\n' % data.encode(), "nanoclaw").context == data


# The schema

SCHEMA = json.loads((GATES / "wake.schema.json").read_bytes())


def is_accepted(case: Any) -> bool:
    values = case.values[0]
    return values["verdict"] in ("wake", "quiet") and values.get("dialect", "strict") == "strict"


def test_the_schema_is_valid() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("case", [case for case in ALL if is_accepted(case)])
def test_the_schema_takes_every_gate_that_is_accepted(case: dict[str, Any]) -> None:
    line = stdout_of(case).removeprefix(b"\xef\xbb\xbf").rstrip(b" \t\r\n").rpartition(b"\n")[2]
    Draft202012Validator(SCHEMA).validate(json.loads(line, parse_int=float))


REFUSED_BY_SCHEMA = {"key_missing", "value_not_boolean", "field_invalid", "finding_invalid"}
BEYOND_A_SCHEMA = ("finding/data-", "instant/refused-")  # bytes, and dates that no calendar has


@pytest.mark.parametrize(
    "case",
    [
        case
        for case in cases("contract.jsonl")
        if case.values[0].get("reason") in REFUSED_BY_SCHEMA and not case.values[0]["name"].startswith(BEYOND_A_SCHEMA)
    ],
)
def test_the_schema_refuses_what_the_gate_refuses_for_its_shape(case: dict[str, Any]) -> None:
    value = json.loads(stdout_of(case).rstrip().rpartition(b"\n")[2])
    assert not Draft202012Validator(SCHEMA).is_valid(value)


def test_the_schema_and_the_code_have_the_same_limits_and_words() -> None:
    fields = SCHEMA["$defs"]["finding"]["properties"]
    limits = {name: field["maxLength"] for name, field in fields.items() if "maxLength" in field}
    assert limits == findings.TEXT_LIMITS
    assert [field.name for field in dataclasses.fields(Finding)] == list(fields)
    assert {field.name for field in dataclasses.fields(Source)} == set(SCHEMA["$defs"]["source"]["properties"])
    assert fields["urgency"]["enum"] == [*Urgency, None]
    assert fields["when_absent"]["enum"] == [*WhenAbsent, None]
    assert fields["origin"]["enum"] == [*findings.ORIGINS, None]
    assert SCHEMA["$defs"]["instant"]["pattern"] == findings.INSTANT


# Properties

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # the machine may be busy

FRAGMENTS = [
    *(b'{"wakeAgent": true}', b'{"wakeAgent": false}', b'"wakeAgent"', b"true", b"false", b"null", b"NaN", b"1e999"),
    *(b"{", b"}", b"[", b"]", b",", b":", b'"', b"'", b"\\", b"\\ud800", b"\\u0000", b"`", b"#", b" ", b"\t", b"0"),
    *(b"\n", b"\r", b"\x0b", b"\x0c", b"\x1c", b"\x00", b"\x1b[0m", b"\xff", b"\xc2\x85", b"\xe2\x80\xa8"),
    *(
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
        b'"findings"',
        b'"key"',
        b'"title"',
        b'"token"',
        b'"data"',
        b"[" * 40,
        b"9" * 700,
    ),
]
OUTPUT = st.binary(max_size=200) | st.lists(st.sampled_from(FRAGMENTS), max_size=25).map(b"".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
LINES = st.lists(st.binary(max_size=30), max_size=5).map(lambda lines: b"".join(line + b"\n" for line in lines))


@UNHURRIED
@given(OUTPUT, OUTPUT, st.sampled_from(DIALECTS), st.sampled_from([{}, {"exit_code": 1}, {"timed_out": True}]))
def test_any_bytes_have_a_verdict_that_can_be_stored(stdout: bytes, stderr: bytes, dialect: str, ending: Any) -> None:
    assert_storable(run(stdout, dialect, stderr=stderr, **ending))


@UNHURRIED
@given(OUTPUT)
def test_only_a_last_line_that_says_so_wakes_or_is_quiet(stdout: bytes) -> None:
    judgement = check(stdout)
    if judgement.verdict is not Verdict.MALFORMED:
        line = stdout.removeprefix(b"\xef\xbb\xbf").rstrip(b" \t\r\n").rpartition(b"\n")[2]
        assert json.loads(line)["wakeAgent"] is (judgement.verdict is Verdict.WAKE)


@UNHURRIED
@given(st.booleans(), st.dictionaries(st.text(alphabet="abcXYZé_\u2028", min_size=1), JSON, max_size=4), st.booleans())
def test_whatever_stands_beside_it_the_boolean_decides(wake: bool, beside: dict[str, Any], ascii_only: bool) -> None:
    line = json.dumps({**beside, "wakeAgent": wake}, ensure_ascii=ascii_only)
    assert check(line.encode()).verdict is (Verdict.WAKE if wake else Verdict.QUIET)


@UNHURRIED
@given(LINES, st.sampled_from([TRUE, FALSE, one_finding(), gate_line(data=[1])]))
def test_lines_above_never_change_the_verdict_of_a_valid_gate(above: bytes, gate: bytes) -> None:
    assert check(above + gate).verdict is check(gate).verdict


@UNHURRIED
@given(
    st.booleans(),
    st.text(alphabet=st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\{}\u2028\x0b\r\u0085')),
)
def test_what_a_stranger_wrote_into_a_text_never_changes_the_verdict(wake: bool, text: str) -> None:
    gate = {
        "wakeAgent": wake,
        "reason": text,
        "data": {text: [text]},
        "sources": [{"name": "a", "ok": True, "message": text}],
    }
    judgement = check(json.dumps(gate, ensure_ascii=False).encode())
    assert judgement.verdict is (Verdict.WAKE if wake else Verdict.QUIET)
    assert the_gate(judgement).reason == text


@UNHURRIED
@given(OUTPUT, st.sampled_from([{"exit_code": 1}, {"signal": 9}, {"timed_out": True}, {"start_error": "x"}]))
def test_no_bad_ending_wakes_or_is_quiet(stdout: bytes, ending: dict[str, Any]) -> None:
    assert run(stdout, **ending).verdict in (Verdict.FAILED, Verdict.TIMEOUT)
    assert run(stdout, "nanoclaw", **ending).verdict in (Verdict.FAILED, Verdict.TIMEOUT)


@UNHURRIED
@given(OUTPUT)
def test_without_the_token_nothing_passes_for_a_gate(stdout: bytes) -> None:
    judgement = judge(execution(stdout), token="c0ffee", require_token=True, dialect="strict")
    assert judgement.verdict is Verdict.MALFORMED


MIB = 1024 * 1024


@pytest.mark.parametrize(
    "stdout",
    [
        pytest.param(b"x\n" * 4 * MIB + TRUE, id="short lines"),
        pytest.param(b"\n" * 8 * MIB, id="blank lines"),
        pytest.param(b"\xff" * 8 * MIB + b"\n" + TRUE, id="not UTF-8"),
        pytest.param(b"[" * 8 * MIB, id="one line of brackets"),
        pytest.param(b'{"a":' + b"[" * (MIB - 5), id="a gate that never closes"),
        pytest.param(b'{"wakeAgent":true,"a":[' + b"[]," * (MIB // 3 - 10) + b"0]}", id="flat brackets"),
        pytest.param(b'{"wakeAgent":true,"a":[' + b"0," * (MIB // 2 - 20) + b"0]}", id="numbers"),
        pytest.param(b"{" + b",".join(b'"%d":1' % i for i in range(90_000)) + b',"5":1}', id="a duplicate among many"),
        pytest.param(b'\\"' * (MIB // 2), id="escapes"),
        pytest.param(b'"' * MIB, id="quotes"),
        pytest.param(b"{wake" + b", " * (MIB // 2 - 10), id="commas"),
        pytest.param(b"{\n" * 4 * MIB + b"}", id="braces above"),
        pytest.param("\u200b".encode() * (MIB // 3), id="invisible"),
    ],
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_longest_output_is_judged_at_once(stdout: bytes, dialect: str) -> None:
    begun = time.process_time()
    run(stdout, dialect)
    assert time.process_time() - begun < 4  # a tenth of this is usual; anything quadratic takes minutes
