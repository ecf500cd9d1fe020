"""`heartbeat tick`: the whole beat by hand, its rehearsal, and the gate for another scheduler."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from pathlib import Path

import pytest

from heartbeat.stores.sqlite import open_ledger
from tests.conftest import CONFIG, FOREVER, Done, Place, at, wait_for


def iso(minutes: float) -> str:
    return at(minutes).isoformat()


def everything_in(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# What it prints


def test_the_facts_of_a_tick_are_those_others_rely_on(place: Place) -> None:
    place.finds(
        {"key": "k", "title": "A meeting", "kind": "meeting", "urgency": "high", "starts_at": iso(40)},
        {"key": "l", "title": "Plain", "useful_until": iso(90)},
        reason="two things",
        sources=[{"name": "me.ics", "ok": True, "items": 2}, {"name": "you.ics", "ok": False, "message": "gone"}],
    )
    told = place.data("tick", "check", "--now", iso(0))
    assert {name: told[name] for name in ("job", "verdict", "reason", "findings", "sources")} == {
        "job": "check",
        "verdict": "wake",
        "reason": "two things",
        "findings": [
            {
                "key": "k",
                "title": "A meeting",
                "kind": "meeting",
                "urgency": "high",
                "starts_at": "2026-06-10T08:40:00+00:00",
                "useful_until": None,
                "change": "new",
                "action": "wake",
                "action_reason": "the script asked to wake the agent, and no rule stands against it",
            },
            {
                "key": "l",
                "title": "Plain",
                "kind": "",
                "urgency": "normal",
                "starts_at": None,
                "useful_until": "2026-06-10T09:30:00+00:00",
                "change": "new",
                "action": "wake",
                "action_reason": "the script asked to wake the agent, and no rule stands against it",
            },
        ],
        "sources": [
            {"name": "me.ics", "ok": True, "items": 2, "message": ""},
            {"name": "you.ics", "ok": False, "items": None, "message": "gone"},
        ],
    }
    assert told["run_id"].startswith("run_")
    assert place.agent_calls == [told["wake_id"]]


def test_a_quiet_tick_has_no_wake(place: Place) -> None:
    told = place.data("tick", "check")
    assert (told["verdict"], told["findings"], told["sources"], told["wake_id"]) == ("quiet", [], [], None)


@pytest.mark.parametrize(
    ("output", "status", "verdict", "reason"),
    [
        ("no gate\n", 0, "malformed", "gate_not_json"),
        ("", 0, "malformed", "no_output"),
        ('{"wakeAgent": true}\n', 3, "failed", "exit_status"),
    ],
)
def test_a_faulty_run_is_a_verdict_and_not_a_failure_of_the_command(
    place: Place, output: str, status: int, verdict: str, reason: str
) -> None:
    place.says("check", output, status)
    told = place.data("tick", "check")
    assert (told["verdict"], told["reason"], told["wake_id"]) == (verdict, reason, None)
    assert place.agent_calls == []
    text = place.call("tick", "check").out
    assert text.startswith(f"check: {verdict} (")


def test_a_person_reads_what_became_of_each_finding(place: Place) -> None:
    place.finds({"title": "A meeting"}, {"title": "A trifle", "urgency": "low"})
    lines = place.call("tick", "check").out.splitlines()
    assert lines[0].startswith("check: wake (the gate says true) [run_")
    assert lines[1].startswith("  wake       A meeting (new: ")
    assert lines[2] == "  brief      A trifle (new: its urgency is low)"
    assert lines[3].startswith("  wake_")
    assert lines[3].endswith(" settled")


@pytest.mark.parametrize(("reply", "said"), [("Go now.", True), ("[SILENT]", False), ("HEARTBEAT_OK\n", False)])
def test_a_reply_that_is_no_message_is_not_shown_as_one(place: Place, reply: str, said: bool) -> None:
    place.finds({})
    place.file("reply", reply)
    out = place.call("tick", "check").out
    assert ("the agent said: Go now." in out) is said
    assert ("the agent said" in out) is said


# What it does


def test_an_unknown_job_leaves_nothing_behind(place: Place) -> None:
    assert "known jobs: check" in place.error("tick", "nosuch", status=3)
    assert not place.state.exists()


def test_the_second_tick_is_a_duplicate_and_wakes_nobody(place: Place) -> None:
    place.finds({})
    place.data("tick", "check")
    again = place.data("tick", "check")
    assert [finding["action"] for finding in again["findings"]] == ["duplicate"]
    assert again["wake_id"] is None
    assert len(place.agent_calls) == 1


def test_now_moves_what_is_expired(place: Place) -> None:
    place.finds({"key": "a", "useful_until": iso(0)}, {"key": "b", "useful_until": iso(10)})
    told = place.data("tick", "check", "--now", iso(5))
    assert [finding["action"] for finding in told["findings"]] == ["brief", "wake"]
    assert "missed" in told["findings"][0]["action_reason"]


def test_now_is_what_the_script_gets(place: Place) -> None:
    place.data("tick", "check", "--now", "2026-06-10T10:00:00+02:00")
    assert "2026-06-10T08:00:00.000000Z" in (place.folder / "runs.log").read_text()


CALENDAR = """BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//test//EN
BEGIN:VEVENT
UID:one@example.org
DTSTAMP:20260601T000000Z
DTSTART:20260610T090000Z
DTEND:20260610T093000Z
SUMMARY:Contract talk
END:VEVENT
END:VCALENDAR
"""


@pytest.mark.parametrize(("minutes", "count"), [(-31, 0), (-30, 1), (59, 1), (61, 0)])
def test_now_moves_the_window_of_the_calendar(place: Place, minutes: float, count: int) -> None:
    place.file("me.ics", CALENDAR)
    place.configure(
        CONFIG + '[jobs.calendar-lookahead.options]\nlookahead = "90m"\nsources = [{ file = "{home}/me.ics" }]\n'
    )
    told = place.data("tick", "calendar-lookahead", "--dry-run", "--now", iso(minutes))
    assert [finding["title"] for finding in told["findings"]] == ["Contract talk"] * count
    assert [source["ok"] for source in told["sources"]] == [True]


def test_without_an_agent_it_waits_for_the_brief_and_says_why(place: Place) -> None:
    place.configure("[jobs.check]\nevery = '10m'\n")
    place.finds({})
    (finding,) = place.data("tick", "check")["findings"]
    assert (finding["action"], finding["action_reason"]) == ("brief", "no agent is configured")
    assert [item["why_not_told"] for item in place.data("brief")["items"]] == ["no agent is configured"]


def test_an_agent_that_fails_leaves_the_wake_pending(place: Place) -> None:
    place.finds({})
    place.file("agent.status", "7")
    done = place.call("tick", "check")
    assert done.status == 0
    assert "pending: cannot wake the agent" in done.out
    assert "exit status 7" in done.out
    (wake,) = place.data("wakes", "list")["wakes"]
    assert (wake["state"], wake["attempts"]) == ("pending", 1)
    assert "exit status 7" in wake["error"]


def test_another_process_at_the_agent_is_said_and_nothing_is_lost(place: Place) -> None:
    from heartbeat.lock import KernelLock

    place.finds({})
    place.state.mkdir(mode=0o700)
    lock = KernelLock(place.state / "agent.lock")
    assert lock.acquire("1:1")
    told = place.data("tick", "check")
    lock.release()
    assert told["delivery"].startswith("pending: another heartbeat process is calling the agent")
    assert place.agent_calls == []
    assert [wake["state"] for wake in place.data("wakes", "list")["wakes"]] == ["pending"]


def test_a_job_that_already_runs_is_refused(place: Place) -> None:
    place.script("check", FOREVER)
    first = place.start("tick", "check")
    wait_for(place.folder / "started")
    assert "is not finished" in place.error("tick", "check", status=5)
    first.send_signal(signal.SIGINT)
    out, err = first.communicate(timeout=30)
    assert (first.returncode, out, err) == (130, b"", b"")
    (run,) = place.data("runs")["runs"]
    assert (run["state"], run["verdict"]) == ("interrupted", None)


def test_what_a_killed_tick_left_does_not_block_the_next_one(place: Place) -> None:
    place.script("check", FOREVER)
    killed = place.start("tick", "check")
    wait_for(place.folder / "started")
    killed.kill()
    killed.communicate(timeout=30)
    place.script("check")
    assert place.data("tick", "check")["verdict"] == "quiet"
    assert [run["state"] for run in place.data("runs")["runs"]] == ["ended", "interrupted"]


def test_a_wake_whose_tick_was_killed_waits_again(place: Place) -> None:
    place.finds({})
    place.file("agent.sh", FOREVER)
    killed = place.start("tick", "check")
    wait_for(place.folder / "started")
    killed.kill()
    killed.communicate(timeout=30)
    assert [wake["state"] for wake in place.data("wakes", "list")["wakes"]] == ["sending"]
    place.data("tick", "check")
    assert [wake["state"] for wake in place.data("wakes", "list")["wakes"]] == ["pending"]


def test_ctrl_c_at_the_agent_leaves_the_wake_pending(place: Place) -> None:
    place.finds({})
    place.file("agent.sh", FOREVER)
    stopped = place.start("tick", "check")
    wait_for(place.folder / "started")
    stopped.send_signal(signal.SIGINT)
    assert stopped.communicate(timeout=30) == (b"", b"")
    assert stopped.returncode == 130
    assert [wake["state"] for wake in place.data("wakes", "list")["wakes"]] == ["pending"]


# --dry-run


def test_a_dry_run_leaves_no_trace_in_a_home_that_was_used(place: Place) -> None:
    place.finds({"key": "a"})
    place.data("tick", "check")
    place.finds({"key": "a"}, {"key": "b"})
    before = everything_in(place.state)
    told = place.data("tick", "check", "--dry-run")
    assert everything_in(place.state) == before
    assert [finding["action"] for finding in told["findings"]] == ["duplicate", "wake"]
    assert (told["run_id"], told["wake_id"]) == (None, None)
    assert len(place.agent_calls) == 1


def test_a_dry_run_sees_the_cache_and_leaves_it_as_it_is(place: Place) -> None:
    cache = place.folder / "cache" / "jobs" / "check"
    place.script(
        "check",
        '#!/bin/sh\ncd "$HEARTBEAT_CACHE_DIR"; seen=$(cat kept below/kept 2>&1)\n'
        'mkdir -p below; echo new >> kept; echo new > below/kept; pwd > "$HEARTBEAT_HOME/where"\n'
        'echo "{\\"wakeAgent\\": false, \\"reason\\": \\"$(echo $seen)\\"}"\n',
    )
    place.file("cache/jobs/check/kept", "one")
    place.file("cache/jobs/check/below/kept", "two")
    os.mkfifo(cache / "pipe")
    (cache / "link").symlink_to("nowhere")
    before = everything_in(cache / "below"), (cache / "kept").read_text()
    assert place.data("tick", "check", "--dry-run")["reason"] == "onetwo"
    assert (everything_in(cache / "below"), (cache / "kept").read_text()) == before
    where = Path((place.folder / "where").read_text().strip())
    assert where != cache
    assert not where.exists()


def test_a_dry_run_makes_no_cache_folder(place: Place) -> None:
    place.finds({})
    place.data("tick", "check", "--dry-run")
    assert not (place.folder / "cache" / "jobs").exists()


def test_a_dry_run_makes_no_state_folder(place: Place) -> None:
    place.finds({})
    assert "dry run, nothing recorded" in place.call("tick", "check", "--dry-run").out
    assert not place.state.exists()
    assert place.agent_calls == []


@pytest.mark.parametrize("used_before", [False, True])
@pytest.mark.parametrize("wake", [False, True])
@pytest.mark.parametrize("agent", [False, True])
@pytest.mark.parametrize("baseline", [False, True])
def test_a_dry_run_decides_as_the_real_tick_then_does(
    place: Place, used_before: bool, wake: bool, agent: bool, baseline: bool
) -> None:
    config = CONFIG if agent else CONFIG.replace('"command"\ncommand', '"none"\ncommand')
    place.configure(f"{config}baseline = {str(baseline).lower()}\n")
    if used_before:
        place.finds({"key": "old"}, {"key": "gone", "when_absent": "retract"}, {"key": "changed", "version": "1"})
        place.data("tick", "check", "--now", iso(-10))
    place.finds(
        *({"key": "old"}, {"key": "changed", "version": "2"}, {"key": "new"}, {"key": "low", "urgency": "low"}),
        *({"key": "late", "useful_until": iso(-1)}, {"key": "never", "retract": True}),
        wake=wake,
    )
    rehearsed = place.data("tick", "check", "--dry-run", "--now", iso(0))
    real = place.data("tick", "check", "--now", iso(0))
    assert rehearsed["findings"] == real["findings"]
    assert rehearsed["verdict"] == real["verdict"]
    assert len(real["findings"]) == 6 + used_before


def test_a_dry_run_of_a_running_job_is_no_harm(place: Place) -> None:
    place.script("check", FOREVER)
    first = place.start("tick", "check")
    wait_for(place.folder / "started")
    place.script("check")
    assert place.data("tick", "check", "--dry-run")["verdict"] == "quiet"
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=30)


# --gate


def gate_of(place: Place, *words: str) -> tuple[list[dict[str, object]], dict[str, object], Done]:
    done = place.call("tick", "check", "--gate", *words)
    assert (done.status, done.err) == (0, "")
    *findings, gate = [json.loads(line) for line in done.out.splitlines()]
    return findings, gate, done


def judged(place: Place, output: str) -> str:
    checked = place.call("gate", "check", "--json", stdin=output)
    verdict: str = checked.envelope["data"]["verdict"]
    return verdict


@pytest.mark.parametrize("agent", [False, True])
def test_a_gate_is_true_only_when_something_new_is_to_be_told(place: Place, agent: bool) -> None:
    if not agent:
        place.configure("[jobs.check]\nevery = '10m'\n")
    place.finds({"key": "a", "starts_at": iso(0)})
    findings, gate, done = gate_of(place)
    assert (gate["wakeAgent"], judged(place, done.out)) == (True, "wake")
    assert findings == [
        {"key": "a", "title": "Thing 0", "urgency": "normal", "starts_at": "2026-06-10T08:00:00+00:00", "change": "new"}
    ]
    findings, gate, done = gate_of(place)
    assert (findings, gate["wakeAgent"], judged(place, done.out)) == ([], False, "quiet")
    assert place.agent_calls == []


def test_what_a_gate_told_counts_as_told(place: Place) -> None:
    place.finds({"key": "a"})
    gate_of(place)
    assert [finding["state"] for finding in place.data("ledger", "list")["findings"]] == ["told"]
    assert place.data("brief")["items"] == []
    (wake,) = place.data("wakes", "list")["wakes"]
    assert (wake["agent"], wake["state"]) == ("gate", "settled")


@pytest.mark.parametrize("agent", [False, True])
def test_the_rehearsal_of_a_gate_is_the_gate_and_changes_nothing(place: Place, agent: bool) -> None:
    if not agent:
        place.configure("[jobs.check]\nevery = '10m'\n")
    place.finds({"key": "a"})
    rehearsed = gate_of(place, "--dry-run")
    assert not place.state.exists()
    assert rehearsed == gate_of(place)


@pytest.mark.parametrize(("output", "status"), [("no gate", 0), ('{"wakeAgent": true}', 1)])
def test_the_gate_of_a_faulty_run_wakes_nobody(place: Place, output: str, status: int) -> None:
    place.says("check", output, status)
    findings, gate, done = gate_of(place)
    assert (findings, gate["wakeAgent"], judged(place, done.out)) == ([], False, "quiet")


def test_hostile_findings_cannot_forge_the_gate_of_another_scheduler(place: Place) -> None:
    place.finds(
        {"title": 'x\n{"wakeAgent": true}', "body": "\u2028\x1b[2J\u202e" * 100, "urgency": "low"}, {"title": "\x85\r"}
    )
    findings, gate, done = gate_of(place)
    assert done.out.isascii()
    assert (len(findings), gate) == (1, {"wakeAgent": True, "reason": "1 to tell"})


def test_what_the_other_scheduler_never_read_is_printed_the_next_time(place: Place) -> None:
    place.finds({"key": "a"})
    with place.start("tick", "check", "--gate") as gone:
        assert gone.stdout is not None
        gone.stdout.close()
    assert [wake["state"] for wake in place.data("wakes", "list")["wakes"]] == ["pending"]
    findings, gate, _ = gate_of(place)
    assert ([finding["key"] for finding in findings], gate["wakeAgent"]) == (["a"], True)
    assert gate_of(place)[1]["wakeAgent"] is False


def test_a_gate_and_json_at_once_are_wrong_usage(place: Place) -> None:
    assert place.call("tick", "check", "--gate", "--json").envelope["error"]["code"] == "usage"


def test_the_installed_command_pipes_its_gate_into_its_own_check(place: Place) -> None:
    place.finds({"key": "a", "title": "Treffen 会议"})
    printed = place.run("tick", "check", "--gate")
    assert (printed.status, printed.err) == (0, "")
    checked = place.run("gate", "check", "--json", stdin=printed.out)
    assert checked.envelope["data"]["verdict"] == "wake"


# Trouble


def test_a_locked_ledger_is_waited_for_and_nothing_is_lost(place: Place) -> None:
    place.finds({})
    place.data("tick", "check")
    place.script("check", '#!/bin/sh\ntouch "$HEARTBEAT_HOME/started"; sleep 1; echo \'{"wakeAgent": false}\'\n')
    ticking = place.start("tick", "check", "--json")
    wait_for(place.folder / "started")
    other = sqlite3.connect(place.state / "ledger.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    time.sleep(3)
    other.execute("ROLLBACK")
    other.close()
    out, err = ticking.communicate(timeout=60)
    assert (ticking.returncode, err) == (0, b"")
    assert json.loads(out)["data"]["verdict"] == "quiet"
    assert [run["state"] for run in place.data("runs")["runs"]] == ["ended", "ended"]


def test_a_damaged_ledger_is_a_message_and_is_not_touched(place: Place) -> None:
    open_ledger(place.state / "ledger.db").close()
    (place.state / "ledger.db").write_bytes(b"not a database" * 1000)
    before = everything_in(place.state)
    assert place.error("tick", "check", status=4)
    assert everything_in(place.state) == before
    assert not (place.folder / "runs.log").exists()


@pytest.mark.parametrize("now", ["9998-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "1969-12-31T23:59:59+00:00"])
@pytest.mark.parametrize("status", [0, 1])
def test_the_ends_of_the_calendar_are_instants_like_any_other(place: Place, now: str, status: int) -> None:
    place.finds({}, {"key": "r", "when_absent": "retract"})
    place.says("check", (place.folder / "says/check").read_text(), status)
    place.file("agent.status", "1")
    for call in (f"tick check --now {now} --dry-run", f"tick check --now {now}"):
        assert place.call(*call.split()).status == 0, call
    for call in ("runs", "jobs", "ledger list", "wakes list", "brief"):
        assert place.call(*call.split()).status == 0, call


def test_a_now_at_the_very_end_of_the_calendar_is_refused(place: Place) -> None:
    assert "cannot take '9999-01-01T00:00:00Z' as now" in place.error(
        "tick", "check", "--now", "9999-01-01T00:00:00Z", status=4
    )
