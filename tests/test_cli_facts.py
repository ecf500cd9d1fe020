"""What is, what comes, what was, and why: `jobs`, `next`, `runs`, `why`, `ledger`, `wakes`, `health`, `gate check`."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from heartbeat.outbox import deliver_due
from heartbeat.stores.sqlite import open_ledger
from tests.conftest import CONFIG, NOW, Bench, Place, at


def iso(minutes: float) -> str:
    return at(minutes).isoformat()


def is_instant(text: object) -> bool:
    return isinstance(text, str) and datetime.fromisoformat(text).tzinfo is not None


# jobs and next


def test_a_job_is_shown_with_its_last_run_and_its_next_slot(place: Place) -> None:
    place.configure(CONFIG + "[jobs.due-queue]\nenabled = false\n")
    told = place.data("tick", "check")
    check, queue = place.data("jobs")["jobs"]
    assert is_instant(check.pop("last_run_at"))
    assert check == {
        "job": "check",
        "enabled": True,
        "paused": False,
        "schedule": "every 10m",
        "zone": "Europe/Berlin",
        "overdue_since": None,
        "is_read": False,
        "next_at": None,
        "at_once": True,
        "script": f"{place.folder}/jobs/check.sh",
        "last_run_id": told["run_id"],
        "verdict": "quiet",
    }
    assert (queue["enabled"], queue["last_run_id"], queue["last_run_at"]) == (False, None, None)
    assert (queue["verdict"], queue["next_at"]) == (None, None)
    lines = place.call("jobs").out.splitlines()
    assert [line.split()[0] for line in lines] == ["JOB", "check", "due-queue"]
    assert "disabled" in lines[2]


@pytest.mark.parametrize(
    ("schedule", "start", "expected"),
    [
        (
            'cron = "30 2 * * *"',
            "2026-03-28T12:00:00+01:00",
            ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"],
        ),
        (
            'cron = "30 2 * * *"',
            "2026-10-24T12:00:00+02:00",
            ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"],
        ),
        (
            'cron = "*/30 2 * * *"',
            "2026-10-25T02:00:00+02:00",
            ["2026-10-25T02:30:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T02:30:00+01:00"],
        ),
        (
            'every = "1h"',
            "2026-10-25T00:30:00Z",
            ["2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00+01:00"],
        ),
        ('at = "2026-10-25T02:30:00+01:00"', "2026-10-24T00:00:00Z", ["2026-10-25T02:30:00+01:00"]),
        ('at = "2026-10-25T02:30:00+01:00"', "2026-10-25T02:30:00+01:00", []),
        ('every = "1h"', "9999-12-31T22:00:00Z", ["9999-12-31T23:00:00+00:00"]),
        ('cron = "0 0 * * *"', "9999-12-31T23:59:59Z", []),
    ],
)
def test_the_next_instants_follow_the_owners_clock_over_its_changes(
    place: Place, schedule: str, start: str, expected: list[str]
) -> None:
    place.configure(CONFIG.replace('every = "10m"', schedule))
    coming = place.data("next", "check", "--from", start, "-n", str(max(1, len(expected))))["next"]
    note = "the daemon has not read this yet"
    assert coming == [{"job": "check", "at": instant, "note": note} for instant in expected]
    assert place.call("next", "check", "--from", start).status == 0


def test_next_brings_the_jobs_together_in_time_and_leaves_out_what_is_disabled(place: Place) -> None:
    place.configure(
        CONFIG.replace('every = "10m"', 'cron = "5 * * * *"')
        + '[jobs.due-queue]\ncron = "4 * * * *"\n'
        + "[jobs.calendar-lookahead]\nenabled = false\n"
    )
    coming = place.data("next", "--from", iso(0), "-n", "3")["next"]
    assert [entry["job"] for entry in coming] == ["due-queue", "check", "due-queue"]
    assert place.data("next", "calendar-lookahead")["next"] == []
    assert len(place.data("next", "-n", "1000")["next"]) == 1000


def test_an_interval_that_has_begun_is_counted_from_its_anchor(place: Place, bench: Bench) -> None:
    bench.ledger.enlist([("check", "every 600s")], at(3))
    coming = place.data("next", "check", "--from", iso(5), "-n", "2")["next"]
    assert {entry["note"] for entry in coming} == {""}
    assert [entry["at"] for entry in coming] == ["2026-06-10T10:13:00+02:00", "2026-06-10T10:23:00+02:00"]


# runs


def test_runs_come_newest_first_with_all_that_is_known(place: Place, bench: Bench) -> None:
    bench.tick(0)
    place.says("check", "", 3)
    bench.tick(1)
    failed, quiet = place.data("runs")["runs"]
    assert {name: failed[name] for name in ("verdict", "exit_code", "signal", "trigger", "slot_at", "state")} == {
        "verdict": "failed",
        "exit_code": 3,
        "signal": None,
        "trigger": "manual",
        "slot_at": None,
        "state": "ended",
    }
    assert failed["started_at"] == "2026-06-10T08:01:00+00:00"
    assert is_instant(failed["ended_at"])
    assert quiet["verdict"] == "quiet"
    assert len(place.data("runs", "-n", "1")["runs"]) == 1
    assert [run["id"] for run in place.data("runs", "check")["runs"]] == [failed["id"], quiet["id"]]


def test_the_runs_of_a_job_nobody_knows_are_not_found(place: Place) -> None:
    assert place.data("runs", "check")["runs"] == []
    assert "known jobs: check" in place.error("runs", "chekc", status=3)


def test_the_runs_of_a_job_that_was_removed_are_still_shown(place: Place) -> None:
    place.data("tick", "check")
    place.configure("")
    assert len(place.data("runs", "check")["runs"]) == 1


# why


def why(place: Place, subject: str) -> tuple[str, list[dict[str, str]]]:
    answer = place.data("why", subject)
    assert list(answer) == ["id", "kind", "steps"]
    assert answer["id"] == subject
    assert all(list(step) == ["rule", "outcome", "reason"] for step in answer["steps"])
    assert place.call("why", subject).out.startswith(f"{answer['kind']} {subject}\n")
    return answer["kind"], answer["steps"]


def rules(steps: list[dict[str, str]]) -> list[tuple[str, str]]:
    return [(step["rule"], step["outcome"]) for step in steps]


def test_why_of_a_run_tells_it_step_by_step(place: Place) -> None:
    place.finds({"key": "a"}, {"key": "b", "urgency": "low"}, sources=[{"name": "s", "ok": True}])
    told = place.data("tick", "check")
    kind, steps = why(place, told["run_id"])
    assert kind == "run"
    assert rules(steps) == [
        ("claim", "manual"),
        ("run", "ended"),
        ("judge", "wake"),
        ("source", "ok"),
        ("decide", "wake"),
        ("decide", "brief"),
    ]


def test_why_of_a_faulty_run_shows_what_it_printed_and_what_to_mend(place: Place) -> None:
    place.says("check", '{"wake_agent": true}')
    told = place.data("tick", "check")
    _, steps = why(place, told["run_id"])
    assert rules(steps) == [("claim", "manual"), ("run", "ended"), ("judge", "malformed"), ("output", "stdout")]
    assert "hint: " in steps[2]["reason"]
    assert steps[3]["reason"] == '{"wake_agent": true}'


def test_why_of_a_finding_names_every_rule_that_was_looked_at_and_what_came_of_it(place: Place) -> None:
    place.finds({"key": "a"})
    told = place.data("tick", "check")
    place.data("tick", "check")
    (finding,) = place.data("ledger", "list")["findings"]
    kind, steps = why(place, finding["id"])
    assert kind == "finding"
    assert rules(steps) == [
        ("reported", "new"),
        *((rule, "passed") for rule in ("baseline", "fault", "quiet", "muted", "low", "expired", "no_agent")),
        *((rule, "passed") for rule in ("quiet_hours", "agent_hold", "spending", "budget")),
        ("wake", "wake"),
        ("record", "wake"),
        ("act", "accepted"),
        ("settle", "settled"),
        ("duplicate", "duplicate"),
    ]
    assert told["wake_id"] in steps[-4]["reason"]


def test_why_of_a_finding_that_was_told_again_shows_each_wake_in_its_place(place: Place, bench: Bench) -> None:
    place.configure(CONFIG + '[[rules]]\ndo = "remind"\nkind = "*"\nafter = "10m"\n')
    place.finds({"key": "a"})
    for minute in (0, 11):
        bench.tick(minute)
        deliver_due(bench.house)
    (finding,) = place.data("ledger", "list")["findings"]
    _, steps = why(place, finding["id"])
    told = [rule for rule, _ in rules(steps) if rule in ("remind", "record", "act", "settle")]
    assert told == ["record", "act", "settle", "remind", "record", "act", "settle"]
    first, second = (step["reason"].split()[1] for step in steps if step["rule"] == "record")
    assert [wake["id"] for wake in place.data("wakes", "list")["wakes"]] == [second, first]


def test_why_of_a_wake_that_failed_names_the_error_and_the_next_attempt(place: Place) -> None:
    place.finds({"title": "A meeting"})
    place.file("agent.status", "7")
    told = place.data("tick", "check")
    kind, steps = why(place, told["wake_id"])
    assert (kind, rules(steps)) == ("wake", [("record", "wake"), ("act", "failed"), ("settle", "pending")])
    assert "'A meeting'" in steps[0]["reason"]
    assert "exit status 7" in steps[1]["reason"]
    assert steps[2]["reason"].startswith("next attempt ")


def test_why_of_an_incident_tells_when_it_opened_and_closed(place: Place) -> None:
    place.says("check", "no gate")
    for _ in range(3):
        place.data("tick", "check")
    place.says("check", {"wakeAgent": False})
    place.data("tick", "check")
    (incident,) = place.data("brief")["incidents"]
    kind, steps = why(place, incident["id"])
    assert kind == "incident"
    assert rules(steps) == [("opened", "gate_not_json"), ("told", "no"), ("resolved", "recovered")]
    assert "job:check" in steps[0]["reason"]


DIARY = '[channels.diary]\nkind = "file"\npath = "diary.md"\n'


def test_why_of_an_incident_that_is_open_tells_the_faults_in_a_row_and_when_you_are_told(place: Place) -> None:
    place.says("check", "no gate")
    for _ in range(4):
        place.data("tick", "check")
    (incident,) = place.data("brief")["incidents"]
    _, steps = why(place, incident["id"])
    assert rules(steps) == [("opened", "gate_not_json"), ("faults", "4x"), ("told", "no"), ("tell", "due")]
    assert steps[1]["reason"] == "4 in a row, never well yet; 3 in a row are an incident"
    _, steps = why(place, "check")
    assert rules(steps)[2:4] == [("faults", "4x"), ("back-off", "until")]


def test_why_of_a_message_and_of_a_queue_item_tells_their_lives(place: Place) -> None:
    place.configure(CONFIG + "[jobs.due-queue]\nnotify = true\n" + DIARY)
    item = place.data("queue", "add", "--message", "Take pills", "--due", "0s")
    kind, steps = why(place, item["id"])
    assert (kind, rules(steps)) == ("item", [("item", "due"), ("finding", "none")])
    wake = place.data("tick", "due-queue")["wake_id"]
    (message,) = place.data("messages", "list")["messages"]
    kind, steps = why(place, message["id"])
    settled = ("settle", message["state"])
    assert (kind, rules(steps)) == ("message", [("made", "notice"), ("of", "wake"), ("tried", "1x"), settled])
    assert wake in steps[1]["reason"]
    (finding,) = place.data("ledger", "list")["findings"]
    _, (item_step, found) = why(place, item["id"])
    assert (item_step["outcome"], found["outcome"]) == ("told", "told")
    assert finding["id"] in found["reason"]


def test_why_of_an_item_that_comes_again_tells_its_next_time_and_each_telling(place: Place) -> None:
    place.configure(CONFIG + "[jobs.due-queue]\nnotify = true\n" + DIARY)
    item = place.data("queue", "add", "--message", "Stretch", "--due", "2026-06-10T08:00:00Z", "--every", "365d")
    place.data("tick", "due-queue")
    _, steps = why(place, item["id"])
    assert rules(steps) == [("item", "told"), ("next", "due"), ("finding", "told")]


def test_why_of_a_brief_tells_when_it_was_made_and_of_how_much(place: Place) -> None:
    place.finds({"key": "a", "urgency": "low"})
    place.data("tick", "check")
    brief = place.data("brief", "--consume")["id"]
    kind, (step,) = why(place, brief)
    assert (kind, step["rule"]) == ("brief", "made")
    assert step["reason"].endswith("asked for: it told of 1 finding")


def test_why_of_a_job_tells_how_it_stands(place: Place) -> None:
    kind, steps = why(place, "check")
    assert (kind, rules(steps)) == ("job", [("job", "enabled"), ("last run", "none"), ("next", "at once")])


@pytest.mark.parametrize(
    ("subject", "where"),
    [
        ("run_none", "heartbeat runs"),
        ("fnd_none", "heartbeat ledger list"),
        ("wake_none", "heartbeat wakes list"),
        ("msg_none", "heartbeat messages list"),
        ("brief_none", "heartbeat brief"),
        ("inc_none", "heartbeat incidents"),
        ("item_1", "heartbeat queue list"),
        ("chekc", "the configured jobs are: check"),
        ("", "heartbeat slots"),
        ("_", "heartbeat slots"),
    ],
)
def test_why_of_what_is_not_there_says_so_and_where_to_look(place: Place, subject: str, where: str) -> None:
    for _ in range(2):
        message = place.error("why", subject, status=3)
        assert message.startswith("cannot ")
        assert where in message
        place.data("tick", "check")


@pytest.mark.parametrize(
    "words",
    [
        *(("why", f"{kind}\udce9\x1b") for kind in ("", "run_", "fnd_", "wake_", "inc_")),
        ("ledger", "get", "\udcff"),
        ("wakes", "retry", "\udcff"),
        ("wakes", "cancel", "\udcff"),
        ("queue", "cancel", "\udcff"),
    ],
)
def test_what_is_named_by_bytes_that_are_no_text_is_not_found(place: Place, words: tuple[str, ...]) -> None:
    place.data("tick", "check")
    assert place.error(*words, status=3).startswith("cannot ")


def test_why_of_a_finding_outlives_its_first_run_and_its_wake(place: Place, bench: Bench) -> None:
    place.finds({"key": "a"})
    bench.tick(0)
    deliver_due(bench.house)
    bench.tick(40 * 24 * 60)
    assert bench.ledger.prune(bench.now, timedelta(days=30), 1000)["runs"] == 1
    (finding,) = place.data("ledger", "list")["findings"]
    kind, steps = why(place, finding["id"])
    assert (kind, steps[0]["rule"]) == ("finding", "reported")


# ledger


def test_the_ledger_shows_each_finding_with_its_history(place: Place) -> None:
    place.finds({"key": "a", "title": "A meeting", "data": {"n": [1]}, "when_absent": "retract"})
    told = place.data("tick", "check")
    (listed,) = place.data("ledger", "list")["findings"]
    found = place.data("ledger", "get", listed["id"])
    events = found.pop("events")
    assert [(event["state"], event["rule"]) for event in events] == [("wake", "wake"), ("told", "settled")]
    assert [event["run_id"] for event in events] == [told["run_id"], None]
    assert [event["wake_id"] for event in events] == [told["wake_id"], told["wake_id"]]
    assert found == listed
    assert (found["key"], found["title"], found["data"]) == ("a", "A meeting", {"n": [1]})
    assert (found["state"], found["change"], found["current"], found["when_absent"]) == ("told", "new", True, "retract")
    assert json.loads(place.call("ledger", "get", listed["id"]).out)["key"] == "a"


def test_the_ledger_can_be_asked_for_a_job_a_state_or_a_key(place: Place) -> None:
    place.finds({"key": "a"}, {"key": "b", "urgency": "low"})
    place.data("tick", "check")

    def keys(*words: str) -> list[str]:
        return [finding["key"] for finding in place.data("ledger", "list", *words)["findings"]]

    assert (keys(), keys("--state", "told"), keys("--state", "brief")) == (["b", "a"], ["a"], ["b"])
    assert (keys("--key", "a"), keys("--job", "check"), keys("--job", "other")) == (["a"], ["b", "a"], [])
    assert keys("-n", "1") == ["b"]
    assert keys("--key", "\udcff") == keys("--job", "\udcff") == []


def test_an_export_is_every_finding_as_a_line_of_json(place: Place) -> None:
    place.finds(*({"key": f"k{number}", "title": "x\ny\u2028z"} for number in range(120)))
    place.data("tick", "check")
    lines = place.call("ledger", "export").out.splitlines()
    exported = [json.loads(line) for line in lines]
    assert {finding["key"] for finding in exported} == {f"k{number}" for number in range(120)}
    assert all(finding["events"] for finding in exported)
    assert place.data("ledger", "export")["findings"] == exported
    assert place.call("ledger", "export", "--job", "other").out == ""


def test_a_damaged_ledger_is_set_aside_only_on_request(place: Place) -> None:
    place.data("tick", "check")
    assert "it is sound" in place.error("ledger", "quarantine", status=5)
    (place.state / "ledger.db").write_bytes(b"junk" * 4096)
    for suffix in ("-wal", "-shm"):
        (place.state / f"ledger.db{suffix}").unlink(missing_ok=True)
    assert place.call("brief").status == 4
    aside = place.data("ledger", "quarantine")["aside"]
    assert Path(aside).read_bytes() == b"junk" * 4096
    assert place.data("brief")["items"] == []


# wakes


def test_a_wake_is_shown_with_what_it_carries_and_how_it_stands(place: Place) -> None:
    place.finds({"key": "a", "title": "A meeting", "useful_until": iso(90)})
    place.file("reply", "On my way.")
    told = place.data("tick", "check", "--now", iso(0))
    (wake,) = place.data("wakes", "list")["wakes"]
    (finding,) = wake.pop("findings")
    assert (finding["key"], finding["title"]) == ("a", "A meeting")
    assert is_instant(wake.pop("created_at"))
    assert is_instant(wake.pop("settled_at"))
    assert wake == {
        "id": told["wake_id"],
        "job": "check",
        "run_id": told["run_id"],
        "agent": "command",
        "state": "settled",
        "next_attempt_at": None,
        "attempts": 1,
        "failures": 0,
        "brief_id": None,
        "useful_until": "2026-06-10T09:30:00+00:00",
        "reply": "On my way.",
        "error": "",
    }
    shown = place.data("wakes", "get", wake["id"])
    assert shown["messages"] == []
    (attempt,) = shown.pop("history")
    assert (shown["id"], attempt["number"], attempt["outcome"], attempt["usd"]) == (wake["id"], 1, "accepted", None)
    text = place.call("wakes", "get", wake["id"]).out
    assert "settled for command" in text
    assert text.endswith("On my way.\n")


def test_a_pending_wake_is_cancelled_and_taken_up_again(place: Place) -> None:
    place.finds({"key": "a"})
    place.file("agent.status", "1")
    wake = place.data("tick", "check")["wake_id"]
    cancelled = place.data("wakes", "cancel", wake)
    assert (cancelled["state"], cancelled["next_attempt_at"]) == ("cancelled", None)
    assert [finding["state"] for finding in place.data("ledger", "list")["findings"]] == ["dropped"]
    assert "is cancelled" in place.error("wakes", "cancel", wake, status=5)
    assert place.data("wakes", "retry", wake)["state"] == "pending"
    assert is_instant(place.data("wakes", "retry", wake)["next_attempt_at"])
    assert [each["id"] for each in place.data("wakes", "list", "--state", "pending")["wakes"]] == [wake]
    assert place.data("wakes", "list", "--state", "failed")["wakes"] == []


def test_a_settled_wake_is_neither_cancelled_nor_tried_again(place: Place) -> None:
    place.finds({"key": "a"})
    wake = place.data("tick", "check")["wake_id"]
    for verb in ("retry", "cancel"):
        assert "it is settled" in place.error("wakes", verb, wake, status=5)


# health and gate check


def test_health_is_absent_where_nothing_was_started(place: Place) -> None:
    answer: dict[str, Any] = {
        "target": "heartbeat",
        "state": "absent",
        "live": True,
        "summary": "heartbeat was never started here",
        "known": True,
        "since": None,
        "problems": [],
        "pid": None,
        "uptime_seconds": None,
        "last_beat_at": None,
        "recent_starts": 0,
        "restarts": None,
        "facts": {},
    }
    assert place.data("health") == answer
    done = place.run("health", "--json")
    assert (done.status, done.envelope["data"], done.envelope["command"]) == (0, answer, "health")
    assert place.call("health").out == "absent: heartbeat was never started here\n"
    assert place.call("health", "--assert-live").status == 0


@pytest.mark.parametrize(
    ("output", "status", "verdict", "findings"),
    [
        ('{"wakeAgent": true, "findings": [{"key": "k", "title": "t"}]}\n', 0, "wake", 1),
        ('{"wakeAgent": false}', 0, "quiet", 0),
        ("[1]", 4, "malformed", 0),
        ("", 4, "malformed", 0),
        ('{"wakeAgent": true,}', 4, "malformed", 0),
    ],
)
def test_an_author_is_told_the_verdict_and_what_to_mend(
    place: Place, output: str, status: int, verdict: str, findings: int
) -> None:
    done = place.call("gate", "check", "--json", stdin=output)
    data: dict[str, Any] = done.envelope["data"]
    assert (done.status, data["verdict"], data["findings"]) == (status, verdict, findings)
    assert all(isinstance(data[name], str) for name in ("reason", "hint"))
    assert bool(data["hint"]) is (verdict == "malformed")
    text = place.call("gate", "check", stdin=output)
    assert (text.status, text.out.startswith(f"{verdict}: ")) == (status, True)


def test_an_incident_that_is_open_is_told_once(place: Place) -> None:
    with open_ledger(place.state / "ledger.db") as ledger:
        ledger.fault("agent:command", "agent_failed", "it is gone", NOW)
    (incident,) = place.data("brief", "--consume")["incidents"]
    assert incident.pop("id").startswith("inc_")
    assert incident == {
        "subject": "agent:command",
        "code": "agent_failed",
        "message": "it is gone",
        "opened_at": "2026-06-10T08:00:00+00:00",
        "resolved_at": None,
    }
    assert place.data("brief")["incidents"] == []
