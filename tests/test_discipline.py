"""From a finding to a person, through the real rules, ledger and outbox: what waits, for whom, and how long."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from heartbeat.beat import tick
from heartbeat.errors import AgentError, AgentOnHold
from heartbeat.model import OWNER, Call, Message, Reply, State, Usage, Wake
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
    assert deliver_due(bench.house(agent=Double())) == 1
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
