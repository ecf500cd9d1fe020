"""From a finding to a person, through the real rules, ledger and outbox: what waits, for whom, and how long."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from heartbeat.beat import tick
from heartbeat.clock import utc_now
from heartbeat.errors import AgentError, AgentOnHold
from heartbeat.model import (
    OWNER,
    Action,
    Call,
    Change,
    Decision,
    LedgerFinding,
    Message,
    Reply,
    State,
    Usage,
    Wake,
)
from heartbeat.outbox import decide_held, deliver, deliver_due
from tests.conftest import CONFIG, Bench, at

PHONE = '[channels.phone]\nkind = "file"\npath = "phone.md"\n'
CRITICAL, OWN = {"urgency": "critical"}, {"origin": "owner"}


class Double:
    """An agent of the test's own: answers, or fails, as it is told."""

    name = "command"

    def __init__(self, *answers: str | Exception) -> None:
        self.answers = list(answers)
        self.calls: list[Call] = []

    def call(self, call: Call) -> Reply:
        self.calls.append(call)
        answer = self.answers.pop(0) if self.answers else "noted"
        if isinstance(answer, Exception):
            raise answer
        return Reply(answer, "session-1", Usage(100, 10, 0.5))


def configure(bench: Bench, *parts: str) -> None:
    bench.place.configure(CONFIG.replace("[budget]", "\n".join((*parts, "[budget]"))))


def found(bench: Bench, *findings: dict[str, Any], minutes: float = 0, **more: Any) -> list[str]:
    """The wakes that wait for what a run finds."""
    bench.place.finds(*findings)
    return list(bench.tick(minutes, **more).wakes)


def send(bench: Bench, wake_id: str, minutes: float, **more: Any) -> Wake:
    bench.now = at(minutes)
    deliver(bench.house(**more), wake_id)
    return bench.ledger.wake(wake_id)


def messages(bench: Bench) -> list[Message]:
    return bench.ledger.messages()[::-1]


def states(bench: Bench) -> dict[str, State]:
    return {item.finding.key: item.state for item in bench.ledger.findings()}


# The owner's rules, from the configuration to the ledger


def test_what_is_found_in_the_quiet_is_held_and_told_when_it_ends_in_one_wake(bench: Bench) -> None:
    # NOW is 10:00 in Berlin.
    configure(bench, '[quiet]\nwindows = [{ start = "09:00", end = "11:00" }]')
    assert found(bench, {"key": "a"}) == []
    assert found(bench, {"key": "a"}, {"key": "b"}, minutes=10) == []
    assert states(bench) == {"a": State.HELD, "b": State.HELD}
    bench.now = at(60) - timedelta.resolution
    assert decide_held(bench.house()) == ()
    bench.now = at(60)
    (wake_id,) = decide_held(bench.house())
    assert [item.finding.key for item in bench.ledger.wake(wake_id).findings] == ["a", "b"]
    agent = Double()
    assert send(bench, wake_id, 60, agent=agent).state == "settled"
    assert states(bench) == {"a": State.TOLD, "b": State.TOLD}
    assert "quiet hours until 11:00" in bench.ledger.finding(bench.ledger.findings(key="a")[0].id).events[0].reason


def test_what_the_owner_says_for_the_time_being_counts_at_once(bench: Bench) -> None:
    bench.ledger.override("quiet", "", at(60), at(0))
    assert found(bench, {"key": "a"}) == []
    bench.ledger.take_back("quiet")
    bench.now = at(1)
    assert decide_held(bench.house()) == ()
    (wake_id,) = decide_held(bench.house(), everything=True)
    assert send(bench, wake_id, 1, agent=Double()).state == "settled"


def test_a_wake_that_is_tried_again_in_the_quiet_waits_for_its_end(bench: Bench) -> None:
    (wake_id,) = found(bench, {"key": "a"})
    failing = Double(AgentError("down", retryable=True))
    assert send(bench, wake_id, 0, agent=failing).state == "pending"
    bench.ledger.override("quiet", "", at(60), at(1))
    waiting = send(bench, wake_id, 2, agent=failing)
    assert (waiting.state, waiting.next_attempt_at, waiting.attempts) == ("pending", at(60), 1)
    assert len(failing.calls) == 1
    assert send(bench, wake_id, 60, agent=failing).state == "settled"


@pytest.mark.parametrize(
    "fields", [CRITICAL, {"useful_until": at(31).isoformat()}], ids=["critical", "the last call is over"]
)
def test_a_wake_that_cannot_wait_for_the_end_of_the_quiet_is_tried_in_it(bench: Bench, fields: dict[str, Any]) -> None:
    (wake_id,) = found(bench, {"key": "a"}, {"key": "b", **fields})
    bench.ledger.override("quiet", "", at(600), at(1))
    assert send(bench, wake_id, 2, agent=Double()).state == "settled"


def test_what_is_critical_joins_a_wake_that_waits_and_takes_it_along_at_once(bench: Bench) -> None:
    (wake_id,) = found(bench, {"key": "a"})
    bench.ledger.override("quiet", "", at(600), at(0))
    assert send(bench, wake_id, 1, agent=Double()).next_attempt_at == at(600)
    assert found(bench, {"key": "a"}, {"key": "b", **CRITICAL}, minutes=2) == [wake_id]
    bench.now = at(2)
    agent = Double()
    assert deliver_due(lambda: bench.house(agent=agent)) == 1
    assert states(bench) == {"a": State.TOLD, "b": State.TOLD}


def test_an_agent_that_asks_for_time_gets_it_and_nobody_calls_it_meanwhile(bench: Bench) -> None:
    (wake_id,) = found(bench, {"key": "a"})
    agent = Double(AgentOnHold("its limit is used up", seconds=3600))
    held = send(bench, wake_id, 0, agent=agent)
    assert (held.state, held.next_attempt_at, held.failures) == ("pending", at(60), 0)
    assert [attempt.outcome for attempt in held.history] == ["held"]
    assert found(bench, {"key": "a"}, {"key": "b"}, minutes=10) == []
    assert states(bench)["b"] is State.HELD
    assert bench.ledger.incidents() == []
    bench.ledger.release_wakes(lambda _: True, at(30))  # as a start of the daemon does
    assert send(bench, wake_id, 30, agent=agent).next_attempt_at == at(60)
    assert len(agent.calls) == 1
    assert send(bench, wake_id, 60, agent=agent).state == "settled"


def test_a_retry_by_hand_ends_the_hold(bench: Bench) -> None:
    (wake_id,) = found(bench, {"key": "a"})
    agent = Double(AgentOnHold("its limit is used up", seconds=3600))
    send(bench, wake_id, 0, agent=agent)
    bench.ledger.retry_wake(wake_id, at(5))
    assert send(bench, wake_id, 5, agent=agent).state == "settled"


@pytest.mark.parametrize("seconds", [None, 0.0, 1e12])
def test_a_hold_of_any_length_ends(bench: Bench, seconds: float | None) -> None:
    (wake_id,) = found(bench, {"key": "a"})
    held = send(bench, wake_id, 0, agent=Double(AgentOnHold("busy", seconds=seconds)))
    assert held.next_attempt_at is not None
    assert at(0) < held.next_attempt_at <= at(8 * 24 * 60)


@pytest.mark.parametrize(
    "error", [AgentError("down", retryable=True), AgentError("broken", retryable=False), AgentOnHold("busy")]
)
def test_what_is_critical_goes_to_the_owner_when_the_agent_fails(bench: Bench, error: Exception) -> None:
    configure(bench, PHONE)
    (wake_id,) = found(bench, {"key": "a", "title": "The cellar is under water", **CRITICAL})
    diverted = send(bench, wake_id, 0, agent=Double(error))
    assert (diverted.state, diverted.agent) == ("pending", OWNER)
    assert send(bench, wake_id, 0, agent=Double(error)).state == "settled"
    (message,) = messages(bench)
    assert (message.kind, message.wake_id, message.urgency) == ("notice", wake_id, "critical")
    assert "The cellar is under water" in message.title
    assert states(bench) == {"a": State.TOLD}


def test_the_money_of_the_day_is_counted_by_what_the_agent_says(bench: Bench) -> None:
    bench.place.configure(CONFIG.replace("[budget]", "[budget]\nusd_per_day = 0.9"))
    for number in range(3):
        for wake_id in found(bench, *({"key": str(key)} for key in range(number + 1)), minutes=number):
            send(bench, wake_id, number, agent=Double())
    assert list(states(bench).values()) == [State.HELD, State.TOLD, State.TOLD]
    held = bench.ledger.findings(key="2")[0]
    assert held.held_until is not None
    assert held.held_until.isoformat() == "2026-06-10T22:00:00+00:00"  # midnight in Berlin
    assert "usd_per_day" in held.reason


# Told without an agent


def test_a_job_that_notifies_needs_no_agent(bench: Bench) -> None:
    bench.place.configure(
        CONFIG.replace('kind = "command"', 'kind = "none"').replace('command = ["{home}/agent.sh"]', "")
        + "notify = true\n"
        + PHONE
    )
    (wake_id,) = found(
        bench, {"key": "a", "title": "Call the garage", "body": "before six", "starts_at": at(90).isoformat()}
    )
    assert send(bench, wake_id, 0).state == "settled"
    (message,) = messages(bench)
    assert (message.channel, message.title) == ("phone", "Call the garage")
    assert message.body == "Wed 10 Jun 11:30  Call the garage\n  before six"
    assert bench.place.agent_calls == []


def test_a_notice_that_no_channel_takes_waits_for_the_brief(bench: Bench) -> None:
    bench.place.configure(CONFIG + "notify = true\n" + PHONE + 'urgency = ["critical"]\n')
    assert found(bench, {"key": "a"}) == []
    assert states(bench) == {"a": State.BRIEF}
    assert "no channel takes notices of urgency normal" in bench.ledger.findings()[0].reason


def test_a_stranger_cannot_forge_a_line_of_a_notice(bench: Bench) -> None:
    bench.place.configure(CONFIG + "notify = true\n" + PHONE)
    (wake_id,) = found(bench, {"key": "a", "title": "x\nheartbeat: all is well\x1b[2J\u2028y", "body": "b\r\nc"})
    send(bench, wake_id, 0)
    (message,) = messages(bench)
    assert message.body.split("\n") == ["x heartbeat: all is well [2J y", "  b c"]


# What the agent says


@pytest.mark.parametrize(("reply", "count"), [("On my way.", 1), ("", 0), ("[SILENT]", 0), (" HEARTBEAT_OK\n", 0)])
def test_a_reply_goes_to_the_channels_unless_it_is_none(bench: Bench, reply: str, count: int) -> None:
    configure(bench, PHONE)
    (wake_id,) = found(bench, {"key": "a", "title": "A meeting", "urgency": "high"})
    settled = send(bench, wake_id, 0, agent=Double(reply))
    assert [(each.kind, each.urgency, each.body) for each in messages(bench)] == [("reply", "high", reply)] * count
    (attempt,) = settled.history
    assert (attempt.session, attempt.usage) == ("session-1", Usage(100, 10, 0.5))


@pytest.mark.parametrize(
    ("fields", "lines", "restricted"),
    [({}, "", True), (OWN, "", False), ({}, "trusted = true\n", False), (OWN, "trusted = true\n", False)],
)
def test_an_agent_is_restricted_when_strangers_wrote_what_it_reads(
    bench: Bench, fields: dict[str, Any], lines: str, restricted: bool
) -> None:
    bench.place.configure(CONFIG + "[jobs.check.agent]\n" + lines + 'model = "small"\n')
    (wake_id,) = found(bench, {"key": "a", **OWN}, {"key": "b", **fields})
    agent = Double()
    send(bench, wake_id, 0, agent=agent)
    (call,) = agent.calls
    assert (call.restricted, call.prefs.model, call.wake_id) == (restricted, "small", wake_id)


def test_findings_of_several_jobs_that_come_due_together_are_one_prompt(bench: Bench) -> None:
    bench.place.configure(CONFIG + 'prompt = "Look."\n[jobs.other]\nevery = "10m"\nprompt = "Listen."\n')
    bench.place.script("other")
    bench.place.finds({"key": "b", "title": "From the other"}, job="other")
    (wake_id,) = found(bench, {"key": "a"})
    house = bench.house()
    assert tick(house, house.config.jobs["other"], None, at(0)).wakes == (wake_id,)
    agent = Double()
    send(bench, wake_id, 0, agent=agent)
    prompt = agent.calls[0].prompt
    assert prompt.startswith("For what the job check found: Look.\n\nFor what the job other found: Listen.\n")
    document = json.loads(prompt[prompt.index("\n{") : prompt.rindex("}") + 1])
    assert [(item["job"], item["title"]) for item in document["findings"]] == [
        ("check", "Thing 0"),
        ("other", "From the other"),
    ]
    assert states(bench) == {"a": State.TOLD, "b": State.TOLD}


def test_a_condition_that_ended_in_the_quiet_is_told_by_the_brief_and_wakes_nobody(bench: Bench) -> None:
    bench.ledger.override("quiet", "", at(60), at(0))
    assert found(bench, {"key": "a", "when_absent": "forget"}) == []
    bench.place.says("check", {"wakeAgent": False})
    assert bench.tick(10).wakes == ()
    (kept,) = bench.ledger.findings()
    assert (kept.state, kept.held_until) == (State.BRIEF, None)
    assert "ended while it was held" in kept.reason
    bench.now = at(60)
    assert decide_held(bench.house()) == ()
    assert found(bench, {"key": "a", "when_absent": "forget"}, minutes=70) != []


def test_why_names_the_channels_that_told_it(bench: Bench) -> None:
    bench.place.configure(CONFIG + "notify = true\n" + PHONE)
    (wake_id,) = found(bench, {"key": "a"})
    send(bench, wake_id, 0)
    (message,) = bench.ledger.messages_of(wake_id)
    shown = bench.place.call("why", wake_id).out
    assert f"by phone, {message.id}" in shown
    assert "handed to the owner's channels" in shown
    assert f"{message.id}  pending by phone" in bench.place.call("wakes", "get", wake_id).out


# What stands against a wake when it is to be tried


def test_what_comes_while_a_wake_fails_shares_one_wake_behind_it(bench: Bench) -> None:
    (first,) = found(bench, {"key": "a"})
    agent = Double(AgentError("down", retryable=True, retry_after=3600.0))
    assert send(bench, first, 0, agent=agent).failures == 1
    (second,) = found(bench, {"key": "a"}, {"key": "b"}, minutes=10)
    assert found(bench, {"key": "a"}, {"key": "b"}, {"key": "c"}, minutes=20) == [second]
    bench.now = at(20)
    assert deliver_due(lambda: bench.house(agent=agent)) == 0
    (urgent,) = found(bench, {"key": "soon", "useful_until": at(50).isoformat()}, minutes=21)[:1]
    assert urgent == second  # it makes the wake that waits one with no end of its use for all, so it waits on
    bench.now = at(60)
    assert deliver_due(lambda: bench.house(agent=agent)) == 2
    assert [len(bench.ledger.wake(each).findings) for each in (first, second)] == [1, 3]
    assert states(bench)["soon"] is State.BRIEF
    assert {states(bench)[key] for key in "abc"} == {State.TOLD}


@pytest.mark.parametrize("fields", [CRITICAL, {"useful_until": at(50).isoformat()}], ids=["critical", "soon useless"])
def test_what_cannot_wait_does_not_wait_behind_a_wake_that_fails(bench: Bench, fields: dict[str, Any]) -> None:
    (first,) = found(bench, {"key": "a"})
    agent = Double(AgentError("down", retryable=True, retry_after=3600.0))
    send(bench, first, 0, agent=agent)
    (second,) = found(bench, {"key": "a"}, {"key": "b", **fields}, minutes=10)
    bench.now = at(10)
    assert deliver_due(lambda: bench.house(agent=agent)) == 1
    assert bench.ledger.wake(second).state == "settled"


def test_what_is_critical_is_tried_first(bench: Bench) -> None:
    (first,) = found(bench, {"key": "a"})
    bench.place.configure(f"{CONFIG}[jobs.check.agent]\nmodel = 'other'\n")
    (second,) = found(bench, {"key": "a"}, {"key": "b", **CRITICAL}, minutes=1)
    agent = Double()
    bench.now = at(1)
    assert deliver_due(lambda: bench.house(agent=agent)) == 2
    assert [call.wake_id for call in agent.calls] == [second, first]


def test_a_retry_costs_no_more_than_the_money_of_the_day(bench: Bench) -> None:
    bench.place.configure(CONFIG.replace("[budget]", "[budget]\nusd_per_day = 0.9"))
    (wake_id,) = found(bench, {"key": "a"})
    agent = Double(*(AgentError("down", retryable=True, usage=Usage(1, 1, 0.5)) for _ in range(5)))
    for minutes in (0, 10, 20, 30):
        waiting = send(bench, wake_id, minutes, agent=agent)
    assert (len(agent.calls), waiting.state) == (2, "pending")
    assert waiting.next_attempt_at == at(14 * 60)  # midnight in Berlin
    assert "usd_per_day" in waiting.error


def test_an_agent_that_keeps_failing_is_an_incident_before_it_is_given_up(bench: Bench) -> None:
    (wake_id,) = found(bench, {"key": "a"})
    agent = Double(*(AgentError("down", retryable=True) for _ in range(3)))
    for minutes in (0, 10):
        send(bench, wake_id, minutes, agent=agent)
    assert bench.ledger.incidents() == []
    assert send(bench, wake_id, 20, agent=agent).state == "pending"
    assert [each.subject for each in bench.ledger.incidents(open_only=True)] == ["agent:command"]
    assert send(bench, wake_id, 30, agent=agent).state == "settled"
    assert bench.ledger.incidents(open_only=True) == []


def test_an_agent_that_is_known_to_fail_is_not_asked_to_tell_something_critical(bench: Bench) -> None:
    configure(bench, PHONE)
    bench.ledger.fault("agent:command", "agent_failed", "it hangs", at(0))
    (wake_id,) = found(bench, {"key": "a", "title": "FIRE", **CRITICAL})
    agent = Double()
    assert send(bench, wake_id, 0, agent=agent).agent == OWNER
    assert send(bench, wake_id, 0, agent=agent).state == "settled"
    assert (agent.calls, messages(bench)[0].title) == ([], "[critical] FIRE")


def test_an_agent_that_asks_for_time_for_hours_is_an_incident(bench: Bench) -> None:
    (wake_id,) = found(bench, {"key": "a"})
    agent = Double(*(AgentOnHold("no money left", seconds=3600) for _ in range(9)))
    for hours in range(6):
        send(bench, wake_id, hours * 60, agent=agent)
        assert len(bench.ledger.incidents()) == (hours == 6)
    send(bench, wake_id, 360, agent=agent)
    (incident,) = bench.ledger.incidents(open_only=True)
    assert (incident.subject, incident.code) == ("agent:command", "agent_on_hold")
    bench.ledger.retry_wake(wake_id, at(361))
    agent.answers.clear()
    assert send(bench, wake_id, 361, agent=agent).state == "settled"
    assert bench.ledger.incidents(open_only=True) == []


@pytest.mark.parametrize(("seconds", "minutes"), [(0.0, 1), (0.01, 1), (60.0, 1), (61.0, 61 / 60), (None, 15)])
def test_a_hold_lasts_a_minute_at_least(bench: Bench, seconds: float | None, minutes: float) -> None:
    (wake_id,) = found(bench, {"key": "a"})
    assert send(bench, wake_id, 0, agent=Double(AgentOnHold("busy", seconds=seconds))).next_attempt_at == at(minutes)


def test_a_retry_by_hand_frees_what_was_held_for_the_agent(bench: Bench) -> None:
    (wake_id,) = found(bench, {"key": "a"})
    send(bench, wake_id, 0, agent=Double(AgentOnHold("busy", seconds=36_000)))
    assert found(bench, {"key": "a"}, {"key": "b"}, minutes=5) == []
    bench.ledger.retry_wake(wake_id, at(10))
    bench.now = at(10)
    assert len(decide_held(bench.house())) == 1
    assert states(bench)["b"] is State.WAKE


def test_what_is_of_no_use_any_more_is_left_out_of_a_wake_that_is_late(bench: Bench) -> None:
    (wake_id,) = found(bench, {"key": "train", "useful_until": at(20).isoformat()}, {"key": "mail"})
    agent = Double(AgentError("down", retryable=True))
    send(bench, wake_id, 0, agent=agent)
    assert send(bench, wake_id, 60, agent=agent).state == "settled"
    assert states(bench) == {"train": State.BRIEF, "mail": State.TOLD}
    assert '"train"' not in agent.calls[1].prompt
    assert "missed" in bench.ledger.findings(key="train")[0].reason


def test_an_agent_is_trusted_only_when_all_the_jobs_that_wake_it_trust_it(bench: Bench) -> None:
    bench.place.configure(CONFIG + '[jobs.other]\nevery = "10m"\n')
    bench.place.script("other")
    bench.place.finds({"key": "b"}, job="other")
    (wake_id,) = found(bench, {"key": "a", **OWN})
    house = bench.house()
    assert tick(house, house.config.jobs["other"], None, at(0)).wakes == (wake_id,)
    bench.place.configure(
        CONFIG + '[jobs.check.agent]\ntrusted = true\ntools = ["Bash"]\n[jobs.other]\nevery = "10m"\n'
    )
    agent = Double()
    send(bench, wake_id, 1, agent=agent)
    assert agent.calls[0].restricted is True


# Who is told what


def test_the_most_urgent_comes_first_and_gives_the_message_its_title(bench: Bench) -> None:
    bench.place.configure(CONFIG + "notify = true\n" + PHONE)
    many = [{"key": str(number), "title": f"Mail {number}"} for number in range(60)]
    (wake_id,) = found(bench, *many, {"key": "fire", "title": "FIRE", "urgency": "critical"})
    send(bench, wake_id, 0)
    (message,) = messages(bench)
    assert (message.title, message.urgency) == ("[critical] FIRE (and 60 more)", "critical")
    assert message.body.splitlines()[0] == "[critical] FIRE"
    assert len(message.body.splitlines()) == 61


def test_each_channel_gets_what_it_takes(bench: Bench) -> None:
    diary = '[channels.diary]\nkind = "file"\npath = "diary.md"\nurgency = ["normal"]\n'
    bench.place.configure(CONFIG + "notify = true\n" + PHONE + 'urgency = ["high", "critical"]\n' + diary)
    (wake_id,) = found(bench, {"key": "a", "title": "Calm"}, {"key": "b", "title": "Loud", "urgency": "high"})
    send(bench, wake_id, 0)
    assert {(each.channel, each.title) for each in messages(bench)} == {("phone", "[high] Loud"), ("diary", "Calm")}


def test_a_reminder_is_told_as_one(bench: Bench) -> None:
    bench.place.configure(CONFIG + PHONE + '[[rules]]\ndo = "remind"\njob = "check"\nafter = "1h"\n')
    (first,) = found(bench, {"key": "a"})
    send(bench, first, 0, agent=Double())
    (again,) = found(bench, {"key": "a"}, minutes=61)
    agent = Double()
    send(bench, again, 61, agent=agent)
    assert '"change": "reminder"' in agent.calls[0].prompt
    assert messages(bench)[1].title == "again: Thing 0"


# By hand, and for another scheduler


def test_a_tick_by_hand_tells_the_owner_when_the_agent_fails_at_something_critical(bench: Bench) -> None:
    configure(bench, PHONE)
    bench.place.file("agent.status", "1")
    bench.place.finds({"key": "a", "title": "The cellar is under water", **CRITICAL})
    assert "settled to the owner's channels" in bench.place.call("tick", "check").out
    assert "The cellar is under water" in (bench.place.folder / "phone.md").read_text()


def test_what_a_gate_held_is_handed_over_when_its_time_has_come(bench: Bench) -> None:
    place = bench.place
    bench.ledger.override("quiet", "", utc_now() + timedelta(hours=1), utc_now())
    place.finds({"key": "a"})
    assert '"wakeAgent": false' in place.call("tick", "check", "--gate").out
    bench.ledger.override("loud", "", utc_now() + timedelta(hours=1), utc_now())
    bench.ledger.decide_held(lambda held, _: [still_held(each) for each in held], utc_now(), everything=True)
    told = place.call("tick", "check", "--gate").out
    assert '"key": "a"' in told
    assert '"wakeAgent": true' in told
    assert place.agent_calls == []


def still_held(item: LedgerFinding) -> Decision:
    """Until now, so that it is due."""
    return Decision(item.finding, Action.HOLD, Change.SAME, "quiet_hours", "it is quiet", until=utc_now())


def test_a_hold_is_ended_by_hand(bench: Bench) -> None:
    (wake_id,) = found(bench, {"key": "a"})
    assert bench.place.call("wakes", "release").out == "no agent is on hold\n"
    bench.ledger.hold_agent("command", utc_now() + timedelta(hours=5), "busy", utc_now())
    assert "released: command" in bench.place.call("wakes", "release").out
    assert bench.place.data("wakes", "release") == {"released": []}
    assert send(bench, wake_id, 10, agent=Double()).state == "settled"


# What is reported again while it waits


def test_a_finding_that_becomes_critical_is_told_at_once_also_in_the_quiet(bench: Bench) -> None:
    bench.place.finds({"key": "a"}, wake=False)
    assert bench.tick(0).wakes == ()
    bench.ledger.override("quiet", "", at(60), at(0))
    (wake_id,) = found(bench, {"key": "a", **CRITICAL}, minutes=1)
    assert send(bench, wake_id, 1, agent=Double()).state == "settled"
    assert bench.ledger.findings()[0].finding.urgency == "critical"


def test_a_last_call_comes_nearer_with_the_end_of_use(bench: Bench) -> None:
    bench.ledger.override("quiet", "", at(600), at(0))
    assert found(bench, {"key": "a"}) == []
    assert found(bench, {"key": "a", "useful_until": at(120).isoformat()}, minutes=1) == []
    bench.now = at(1)
    assert decide_held(bench.house()) == ()
    assert bench.ledger.findings()[0].held_until == at(90)


def test_a_wake_that_was_put_off_is_looked_at_again_when_it_is_of_use_for_another_time(bench: Bench) -> None:
    (wake_id,) = found(bench, {"key": "a"})
    bench.ledger.override("quiet", "", at(600), at(0))
    assert send(bench, wake_id, 1, agent=Double()).next_attempt_at == at(600)
    found(bench, {"key": "a", "useful_until": at(120).isoformat()}, minutes=2)
    waiting = send(bench, wake_id, 2, agent=Double())
    assert (waiting.useful_until, waiting.next_attempt_at) == (at(120), at(90))
    found(bench, {"key": "a", "useful_until": at(240).isoformat()}, minutes=3)
    assert bench.ledger.wake(wake_id).useful_until == at(240)


# What changes while something waits, or is with the agent


class Meanwhile(Double):
    """An agent during whose first call the script reports something else; then it answers, or fails."""

    def __init__(self, bench: Bench, *findings: dict[str, Any], then: Exception | str) -> None:
        super().__init__(then)
        self.bench, self.findings = bench, findings

    def call(self, call: Call) -> Reply:
        if not self.calls:
            self.wakes = found(self.bench, *self.findings)
        return super().call(call)


def moves(bench: Bench, key: str = "a") -> list[tuple[str, str, State, str]]:
    """Every row under the key, oldest first."""
    return [(item.finding.version, item.change, item.state, item.rule) for item in bench.ledger.findings(key=key)[::-1]]


DOWN, V1, V2 = AgentError("down", retryable=True), {"key": "a", "version": "1"}, {"key": "a", "version": "2"}
GONE = {"key": "a", "version": "1", "retract": True}


@pytest.mark.parametrize("waits_for", ["the quiet", "the brief", "the agent"])
def test_what_is_back_before_anybody_was_told_that_it_was_called_off_is_not_called_off(
    bench: Bench, waits_for: str
) -> None:
    (wake_id,) = found(bench, V1)
    send(bench, wake_id, 0, agent=Double())
    if waits_for == "the quiet":
        bench.ledger.override("quiet", "", at(60), at(1))
    bench.place.finds(GONE, wake=waits_for != "the brief")
    wakes = bench.tick(1).wakes
    assert len(wakes) == (waits_for == "the agent")
    assert found(bench, V1 | CRITICAL, minutes=2) == []
    assert moves(bench) == [("1", "new", State.TOLD, "settled"), ("1", "retraction", State.WITHDRAWN, "returned")]
    assert [bench.ledger.wake(each).state for each in wakes] == ["cancelled"] * len(wakes)
    assert found(bench, V1, minutes=3) == [], "it stands under its key again"
    bench.now = at(60)
    assert decide_held(bench.house()) == ()
    (second,) = found(bench, GONE, minutes=61)
    assert send(bench, second, 61, agent=Double()).state == "settled"
    assert moves(bench)[-1] == ("1", "retraction", State.TOLD, "settled")


def test_what_is_back_in_another_version_before_its_retraction_was_told_is_an_update(bench: Bench) -> None:
    (wake_id,) = found(bench, V1)
    send(bench, wake_id, 0, agent=Double())
    bench.ledger.override("quiet", "", at(60), at(1))
    found(bench, GONE, minutes=1)
    (second,) = found(bench, V2 | CRITICAL, minutes=2)
    send(bench, second, 2, agent=Double())
    assert moves(bench) == [
        ("1", "new", State.TOLD, "settled"),
        ("1", "retraction", State.WITHDRAWN, "returned"),
        ("2", "update", State.TOLD, "settled"),
    ]


def test_what_is_called_off_and_back_in_one_run_is_not_told_as_gone(bench: Bench) -> None:
    (wake_id,) = found(bench, V1)
    send(bench, wake_id, 0, agent=Double())
    assert found(bench, GONE, V1, GONE, GONE, V1, minutes=1) == []
    assert moves(bench) == [
        ("1", "new", State.TOLD, "settled"),
        *[("1", "retraction", State.WITHDRAWN, "returned")] * 2,
    ]
    assert bench.ledger.findings(key="a")[-1].current


def test_a_retraction_that_is_being_sent_cannot_be_called_back(bench: Bench) -> None:
    (wake_id,) = found(bench, V1)
    send(bench, wake_id, 0, agent=Double())
    (second,) = found(bench, GONE, minutes=1)
    agent = Meanwhile(bench, V1, then="noted")
    send(bench, second, 1, agent=agent)
    assert [change for _, change, _, _ in moves(bench)] == ["new", "retraction", "new"]


@pytest.mark.parametrize(("newer", "change"), [(V2, "update"), (GONE, "retraction")])
def test_what_failed_is_not_told_after_something_newer_under_its_key(
    bench: Bench, newer: dict[str, Any], change: str
) -> None:
    (wake_id,) = found(bench, V1)
    agent = Meanwhile(bench, newer, then=DOWN)
    failed = send(bench, wake_id, 0, agent=agent)
    assert (failed.state, failed.error) == ("cancelled", "all it carried was taken back")
    (second,) = agent.wakes
    assert send(bench, second, 1, agent=agent).state == "settled"
    assert moves(bench) == [
        ("1", "new", State.WITHDRAWN, "replaced"),
        (newer["version"], change, State.TOLD, "settled"),
    ]
    assert bench.ledger.due_wakes(at(600)) == []


def test_a_critical_wake_that_carries_nothing_any_more_goes_to_nobody(bench: Bench) -> None:
    configure(bench, PHONE)
    (wake_id,) = found(bench, V1 | CRITICAL)
    agent = Meanwhile(bench, GONE, then=DOWN)
    assert send(bench, wake_id, 0, agent=agent).state == "cancelled"
    assert send(bench, agent.wakes[0], 1, agent=agent).state == "settled"
    assert [row[2] for row in moves(bench)] == [State.WITHDRAWN, State.TOLD]


def test_what_came_back_while_its_retraction_failed_is_not_called_off_in_silence(bench: Bench) -> None:
    (wake_id,) = found(bench, V1)
    send(bench, wake_id, 0, agent=Double())
    (second,) = found(bench, GONE, minutes=1)
    agent = Meanwhile(bench, V1, then=DOWN)
    assert send(bench, second, 1, agent=agent).state == "cancelled"
    assert [row[1:3] for row in moves(bench)][1:] == [("retraction", State.WITHDRAWN), ("update", State.WAKE)]
    (third,) = found(bench, GONE, minutes=2)
    assert send(bench, third, 2, agent=agent).state == "settled"
    assert moves(bench)[-1] == ("1", "retraction", State.TOLD, "settled")


@pytest.mark.parametrize("retryable", [True, False], ids=["and is tried again", "and gives up"])
def test_what_the_agent_fails_on_is_told_though_a_newer_version_was_muted(bench: Bench, *, retryable: bool) -> None:
    configure(bench, '[[rules]]\ndo = "mute"\nkind = "spam"')
    (wake_id,) = found(bench, V1)
    agent = Meanwhile(bench, V2 | {"kind": "spam"}, then=AgentError("no", retryable=retryable))
    send(bench, wake_id, 0, agent=agent)
    if retryable:
        assert send(bench, wake_id, 60, agent=agent).state == "settled"
    state = (State.TOLD, "settled") if retryable else (State.BRIEF, "agent_failed")
    assert moves(bench) == [("1", "new", *state), ("2", "update", State.DROPPED, "muted")]


def test_what_waits_behind_a_muted_version_is_not_told_after_one_that_is_not(bench: Bench) -> None:
    configure(bench, '[[rules]]\ndo = "mute"\nkind = "spam"')
    (wake_id,) = found(bench, V1)
    agent = Meanwhile(bench, V2 | {"kind": "spam"}, then=AgentError("no", retryable=False))
    send(bench, wake_id, 0, agent=agent)
    found(bench, {"key": "a", "version": "3"}, minutes=1)
    assert [row[1:3] for row in moves(bench)] == [
        ("new", State.WITHDRAWN),
        ("update", State.DROPPED),
        ("update", State.WAKE),
    ]


def test_what_a_muted_retraction_does_not_take_back_may_be_reported_again_in_the_same_run(bench: Bench) -> None:
    bench.place.configure(CONFIG + '[[rules]]\ndo = "mute"\nkind = "noise"\n')
    (wake_id,) = found(bench, {"key": "a"})
    send(bench, wake_id, 0, agent=Double())
    assert found(bench, {"key": "a", "kind": "noise", "retract": True}, {"key": "a"}, minutes=1) == []
    assert [item.state for item in bench.ledger.findings()] == [State.TOLD]
