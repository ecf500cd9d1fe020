"""The helper for tick scripts in Python: what it reads from the environment, and the gate it prints."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat import gate, tick
from heartbeat.errors import Invalid
from heartbeat.model import Verdict


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NOW", "ZONE", "OPTIONS", "TOKEN", "CACHE_DIR", "OWNER_EMAILS"):
        monkeypatch.delenv(f"HEARTBEAT_{name}", raising=False)


def printed(capsys: pytest.CaptureFixture[str]) -> bytes:
    return capsys.readouterr().out.encode("ascii")


def test_now_is_the_instant_heartbeat_gave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTBEAT_NOW", "2026-06-10T10:00:00+02:00")
    assert tick.now() == datetime(2026, 6, 10, 8, tzinfo=UTC)


def test_by_hand_now_is_the_clock() -> None:
    assert abs(tick.now() - datetime.now(UTC)) < timedelta(minutes=1)


@pytest.mark.parametrize("text", ["tomorrow", "2026-06-10T10:00:00", "1781078400"])
def test_a_now_that_is_no_instant_is_refused_and_quoted(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("HEARTBEAT_NOW", text)
    with pytest.raises(Invalid, match=f"cannot read HEARTBEAT_NOW '{text}'.*write it like"):
        tick.now()


def test_the_zone_is_the_owners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTBEAT_ZONE", "Asia/Kolkata")
    assert datetime(2026, 6, 10, tzinfo=tick.zone()).utcoffset() == timedelta(hours=5, minutes=30)


def test_by_hand_the_zone_is_the_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    assert datetime(2026, 6, 10, tzinfo=tick.zone()).utcoffset() == timedelta(hours=-4)


@pytest.mark.parametrize("name", ["Mars/Olympus", "../../etc/passwd", "Europe"])
def test_a_zone_that_nobody_knows_is_refused(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("HEARTBEAT_ZONE", name)
    with pytest.raises(Invalid, match="cannot use HEARTBEAT_ZONE"):
        tick.zone()


def test_owner_emails_come_in_lower_case(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARTBEAT_OWNER_EMAILS", "Me@Example.org,also.me@example.com")
    assert tick.owner_emails() == ("me@example.org", "also.me@example.com")


HEADER = """#!/usr/bin/env python3
# /// script
# [tool.heartbeat]
# every = "5m"
#
# [tool.heartbeat.options]
# path = "/"  # where to look
# least = 5
# ///
"""


@pytest.mark.parametrize(
    ("given_options", "expected"),
    [
        (None, {"path": "/", "least": 5}),
        ("", {"path": "/", "least": 5}),
        ('{"least": 7}', {"path": "/", "least": 7}),
    ],
)
def test_options_not_given_come_from_the_header(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given_options: str | None, expected: dict[str, Any]
) -> None:
    script = tmp_path / "check.py"
    script.write_text(HEADER)
    if given_options is not None:
        monkeypatch.setenv("HEARTBEAT_OPTIONS", given_options)
    assert tick.options(str(script)) == expected


def test_a_script_without_a_header_has_only_the_options_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "check.py"
    script.write_text("print('no header')\n")
    monkeypatch.setenv("HEARTBEAT_OPTIONS", '{"a": 1}')
    assert tick.options(str(script)) == {"a": 1}
    assert tick.options() == {"a": 1}


@pytest.mark.parametrize("text", ["{", "[]", "null", '"canary"'])
def test_options_that_are_no_object_are_refused_without_being_quoted(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("HEARTBEAT_OPTIONS", text)
    with pytest.raises(Invalid, match="must be one JSON object") as caught:
        tick.options()
    assert "canary" not in str(caught.value)


def test_the_cache_folder_is_none_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tick.cache_dir() is None
    monkeypatch.setenv("HEARTBEAT_CACHE_DIR", "/var/cache/x")
    assert tick.cache_dir() == "/var/cache/x"


def test_nothing_found_is_a_quiet_gate_and_no_more(capsys: pytest.CaptureFixture[str]) -> None:
    tick.finish()
    assert printed(capsys) == b'{"wakeAgent": false}\n'


def test_a_finding_asks_for_the_agent_and_the_gate_carries_the_token(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEARTBEAT_TOKEN", "t0k3n")
    start = datetime(2026, 6, 10, 10, tzinfo=timezone(timedelta(hours=2)))
    tick.finish(
        [{"key": "k", "title": "T", "starts_at": start, "useful_until": start.astimezone(UTC)}],
        sources=[{"name": "s", "ok": True, "items": 1, "message": ""}],
        reason="one",
        data={"n": 0},
    )
    assert json.loads(printed(capsys)) == {
        "wakeAgent": True,
        "reason": "one",
        "findings": [
            {
                "key": "k",
                "title": "T",
                "starts_at": "2026-06-10T10:00:00+02:00",
                "useful_until": "2026-06-10T08:00:00Z",
            }
        ],
        "sources": [{"name": "s", "ok": True, "items": 1, "message": ""}],
        "data": {"n": 0},
        "token": "t0k3n",
    }


def test_findings_can_be_left_for_the_brief(capsys: pytest.CaptureFixture[str]) -> None:
    tick.finish([{"key": "k", "title": "T"}], wake=False)
    assert gate.check(printed(capsys)).verdict is Verdict.QUIET


@given(title=st.text(st.characters(exclude_categories=()), min_size=1, max_size=40))
def test_any_title_becomes_one_ascii_line_that_is_a_valid_gate(title: str) -> None:
    line = tick._one_ascii_line({"wakeAgent": True, "findings": [{"key": "k", "title": title}]})
    assert "\n" not in line
    judgement = gate.check(line.encode("ascii"))
    assert judgement.gate is not None
    # A lone surrogate cannot be sent; everything else arrives as it was.
    assert judgement.gate.findings[0].title == title.encode("utf-8", "replace").decode()


@pytest.mark.parametrize("value", [datetime(2026, 6, 10), {1, 2}, b"x"])  # noqa: DTZ001  # that is the case
def test_what_a_gate_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(Invalid, match="use JSON values and aware datetimes"):
        tick.finish([{"key": "k", "title": "T", "data": value}])


def run_script(folder: Path, body: str) -> subprocess.CompletedProcess[str]:
    script = folder / "check.py"
    script.write_text(f"from heartbeat import tick\nfrom heartbeat.errors import Invalid\n{body}\ntick.run(main)\n")
    return subprocess.run(
        [sys.executable, "-P", script], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False
    )


def test_a_script_that_ends_well_exits_with_0(tmp_path: Path) -> None:
    done = run_script(tmp_path, "def main(): tick.finish(reason='fine')")
    assert (done.returncode, done.stdout, done.stderr) == (0, '{"wakeAgent": false, "reason": "fine"}\n', "")


def test_an_expected_error_is_one_line_and_no_gate(tmp_path: Path) -> None:
    done = run_script(tmp_path, "def main(): raise Invalid('cannot use x;\\nwrite y')")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "cannot use x; write y\n")


def test_an_unexpected_error_tells_its_place_and_not_its_data(tmp_path: Path) -> None:
    done = run_script(tmp_path, "def main():\n    secret = 'canary'\n    raise KeyError(secret)")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "cannot finish: KeyError in check.py line 5\n"
