"""The outbox: from a wake in the ledger to an agent that is a real program, and back."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from heartbeat import beat
from heartbeat.agents.command import REPLY_LIMIT
from heartbeat.errors import AgentError, LedgerError
from heartbeat.model import Call, Reply, State, Wake
from heartbeat.outbox import deliver, deliver_due
from tests.conftest import CONFIG, FOREVER, Bench, Place, at, wait_for

BLOCK = re.compile(r"-----BEGIN FINDINGS (\w+)-----\n(.*)\n-----END FINDINGS \1-----", re.DOTALL)


def wake(bench: Bench, *findings: dict[str, Any], minutes: float = 0, **more: Any) -> str:
    """A wake that waits, and its id."""
    bench.place.finds(*(findings or ({"key": "k", "title": "A meeting"},)), **more)
    (wake_id,) = bench.tick(minutes).wakes
    return wake_id


def send(bench: Bench, wake_id: str, minutes: float = 0, **more: Any) -> Wake:
    """One attempt at that time; the wake as it stands then."""
    bench.now = at(minutes)
    state = deliver(bench.house(**more), wake_id)
    sent = bench.ledger.wake(wake_id)
    assert state == sent.state
    return sent


def agent(bench: Bench, body: str) -> None:
    bench.place.file("agent.sh", f"#!/bin/sh\n{body}\n")


def states(bench: Bench) -> list[State]:
    return [finding.state for finding in bench.ledger.findings()]


# The agent accepts


@pytest.mark.parametrize("reply", ["On my way.", "", "[SILENT]", "HEARTBEAT_OK", "two\nlines", "ünïcode 😀"])
def test_a_wake_is_settled_with_the_agents_reply_and_its_findings_are_told(bench: Bench, reply: str) -> None:
    bench.place.file("reply", f"\n{reply}\n")
    sent = send(bench, wake(bench), 1)
    assert (sent.state, sent.reply, sent.attempts, sent.settled_at) == ("settled", reply, 1, at(1))
    assert [(attempt.number, attempt.outcome) for attempt in sent.history] == [(1, "accepted")]
    assert states(bench) == [State.TOLD]


def test_the_agent_gets_the_wake_id_and_the_findings(bench: Bench) -> None:
    bench.place.configure(CONFIG + 'prompt = "Prepare me."\n')
    wake_id = wake(bench, {"key": "k", "title": "A meeting"}, data={"n": 1})
    send(bench, wake_id)
    assert bench.place.agent_calls == [wake_id]
    prompt = (bench.place.folder / "prompt.txt").read_text()
    assert prompt.startswith("Prepare me.\n")
    block = BLOCK.search(prompt)
    assert block is not None
    document = json.loads(block[2])
    assert (document["wake_id"], document["job"], document["data"]) == (wake_id, "check", {"n": 1})
    assert [finding["title"] for finding in document["findings"]] == ["A meeting"]


def test_the_mark_around_the_findings_is_another_for_each_wake(bench: Bench) -> None:
    marks = set()
    for number in range(3):
        send(bench, wake(bench, {"key": f"k{number}"}))
        block = BLOCK.search((bench.place.folder / "prompt.txt").read_text())
        assert block is not None
        marks.add(block[1])
    assert len(marks) == 3


def test_a_prompt_of_a_megabyte_arrives_whole(bench: Bench) -> None:
    text = "x" * 1_000_000
    send(bench, wake(bench, data=text))
    block = BLOCK.search((bench.place.folder / "prompt.txt").read_text())
    assert block is not None
    assert json.loads(block[2])["data"] == text


def test_an_agent_that_does_not_read_its_prompt_may_still_accept(bench: Bench) -> None:
    agent(bench, "echo done")
    sent = send(bench, wake(bench, data="x" * 1_000_000))
    assert (sent.state, sent.reply) == ("settled", "done")


def test_a_reply_of_any_length_is_read_and_its_beginning_kept(bench: Bench) -> None:
    agent(bench, "cat > /dev/null; head -c 5000000 /dev/zero | tr '\\0' 'a'")
    sent = send(bench, wake(bench))
    mark = "\n[cut here]"
    assert (sent.state, sent.reply) == ("settled", "a" * (REPLY_LIMIT - len(mark)) + mark)


def test_a_reply_that_is_no_text_is_kept_as_far_as_it_goes(bench: Bench) -> None:
    agent(bench, "printf 'a\\377\\000b'")
    sent = send(bench, wake(bench))
    assert sent.state == "settled"
    assert sent.reply.startswith("a\ufffd")


# Where the prompt goes


def test_a_prompt_file_is_for_the_owner_alone_and_gone_afterwards(bench: Bench) -> None:
    bench.place.configure(CONFIG.replace('agent.sh"]', 'agent.sh", "--file={prompt_file}"]'))
    agent(
        bench,
        'file="${1#--file=}"\ncd "$HEARTBEAT_HOME"\nls -l "$file" | cut -c1-10 > mode\necho "$file" > file\n'
        'cp "$file" prompt.txt\nread line && exit 9\nexit 0',
    )
    assert send(bench, wake(bench, {"title": "Treffen 会议"})).state == "settled"
    assert (bench.place.folder / "mode").read_text() == "-rw-------\n"
    assert not Path((bench.place.folder / "file").read_text().strip()).exists()
    assert "Treffen 会议" in (bench.place.folder / "prompt.txt").read_text()


def test_a_prompt_among_the_arguments_is_one_argument(bench: Bench) -> None:
    bench.place.configure(CONFIG.replace('agent.sh"]', 'agent.sh", "-p", "{prompt}", "last"]'))
    agent(bench, '[ $# = 3 ] && [ "$3" = last ] && printf %s "$2" > "$HEARTBEAT_HOME/prompt.txt"')
    hostile = "$(touch pwned) `touch pwned` '; touch pwned\n--flag"
    assert send(bench, wake(bench, {"title": hostile})).state == "settled"
    block = BLOCK.search((bench.place.folder / "prompt.txt").read_text())
    assert block is not None
    assert json.loads(block[2])["findings"][0]["title"] == hostile
    assert not list(bench.place.folder.rglob("pwned"))


def test_a_prompt_too_long_for_an_argument_is_a_failure_that_says_what_to_do(bench: Bench) -> None:
    bench.place.configure(CONFIG.replace('agent.sh"]', 'agent.sh", "{prompt}"]'))
    sent = send(bench, wake(bench, data="x" * 1_000_000))
    assert sent.state == "failed"
    assert "write {prompt_file}" in sent.error
    assert len(sent.error) < 500


# The agent fails


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("exit 7", "ended with exit status 7"),
        ("echo first >&2; echo 'no quota left' >&2; exit 1", "it said: no quota left"),
        ("kill -9 $$", "ended with signal 9"),
        ("sleep 600", "took longer than 1s and was ended"),
        ("sleep 600 & exit 3", "ended with exit status 3"),
    ],
)
def test_an_attempt_that_fails_leaves_the_wake_waiting_with_its_error(bench: Bench, body: str, error: str) -> None:
    bench.place.configure(CONFIG.replace("[jobs.check]", 'timeout = "1s"\n[jobs.check]'))
    agent(bench, body)
    sent = send(bench, wake(bench))
    assert (sent.state, sent.attempts) == ("pending", 1)
    assert sent.error.startswith("cannot wake the agent ")
    assert error in sent.error
    assert [attempt.outcome for attempt in sent.history] == ["failed"]
    assert states(bench) == [State.WAKE]
    assert bench.ledger.incidents() == []


@pytest.mark.parametrize("program", ["/no/such/agent", "no-such-agent", "{home}/config.toml", "{home}"])
def test_an_agent_that_cannot_be_started_is_a_failed_attempt(bench: Bench, program: str) -> None:
    bench.place.configure(CONFIG.replace("{home}/agent.sh", program))
    sent = send(bench, wake(bench))
    assert sent.state == "pending"
    assert sent.error.startswith("cannot start ")


def test_a_folder_for_the_agent_that_cannot_be_made_is_a_failed_attempt(bench: Bench) -> None:
    wake_id = wake(bench)
    (bench.place.folder / "cache/agent").write_text("not a folder")
    sent = send(bench, wake_id)
    assert sent.state == "pending"
    assert sent.error.startswith("cannot prepare the call of the agent in ")


def test_the_next_attempt_may_succeed(bench: Bench) -> None:
    agent(bench, 'cat > /dev/null; [ -e "$HEARTBEAT_HOME/again" ] || { touch "$HEARTBEAT_HOME/again"; exit 1; }')
    wake_id = wake(bench)
    assert send(bench, wake_id).state == "pending"
    sent = send(bench, wake_id, 1)
    assert (sent.state, sent.attempts, sent.error) == ("settled", 2, "")
    assert [attempt.outcome for attempt in sent.history] == ["failed", "accepted"]


def test_the_delays_grow_and_are_bounded(bench: Bench) -> None:
    bench.place.configure(CONFIG.replace("[jobs.check]", "attempts = 100\n[jobs.check]"))
    agent(bench, "exit 1")
    wake_id = wake(bench)
    for attempt in range(1, 13):
        before = bench.now
        assert deliver(bench.house(), wake_id) == "pending"
        at_last = bench.ledger.wake(wake_id).next_attempt_at
        assert at_last is not None
        least = min(15 * 2 ** (attempt - 1), 1800)
        assert least <= (at_last - before).total_seconds() <= least + 15
        bench.now = at_last


class Asked:
    """An agent of the test's own, which fails as it is told."""

    name = "command"

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def call(self, call: Call) -> Reply:
        raise self.error


def test_an_agent_may_ask_for_more_time(bench: Bench) -> None:
    error = AgentError("cannot wake: busy", retryable=True, retry_after=3600.0)
    sent = send(bench, wake(bench), agent=Asked(error))
    assert sent.next_attempt_at == at(60)


def test_an_error_that_trying_again_cannot_help_goes_to_the_brief_at_once(bench: Bench) -> None:
    sent = send(bench, wake(bench), agent=Asked(AgentError("cannot wake: no such account", retryable=False)))
    assert (sent.state, sent.attempts) == ("failed", 1)
    assert states(bench) == [State.BRIEF]
    assert [incident.subject for incident in bench.ledger.incidents(open_only=True)] == ["agent:command"]


@pytest.mark.parametrize(
    "error", [ZeroDivisionError("a bug"), OSError(28, "No space"), KeyboardInterrupt(), SystemExit()]
)
def test_whatever_breaks_at_the_agent_the_wake_waits_again(bench: Bench, error: BaseException) -> None:
    wake_id = wake(bench)
    with pytest.raises(type(error)):
        send(bench, wake_id, agent=Asked(error))
    left = bench.ledger.wake(wake_id)
    assert (left.state, [attempt.outcome for attempt in left.history]) == ("pending", ["failed"])
    assert type(error).__name__ in left.error
    assert send(bench, wake_id, 1).state == "settled"


def test_after_the_last_attempt_the_findings_are_in_the_brief_with_one_incident(bench: Bench) -> None:
    bench.place.configure(CONFIG.replace("[jobs.check]", "attempts = 2\n[jobs.check]"))
    bench.place.file("agent.status", "1")
    first = wake(bench, {"key": "a"})
    assert send(bench, first, 0.5).state == "pending"
    second = wake(bench, {"key": "b"})
    assert first != second
    assert send(bench, second, 1).state == "pending"
    for wake_id in (first, second):
        assert send(bench, wake_id, 2).state == "failed"
        assert send_nothing(bench, wake_id)
    brief = bench.ledger.brief(at(3))
    assert [item.finding.key for item in brief.items] == ["a", "b"]
    assert all("exit status 1" in item.reason for item in brief.items)
    (incident,) = bench.ledger.incidents()
    assert (incident.subject, incident.code, incident.resolved_at) == ("agent:command", "agent_failed", None)
    bench.place.file("agent.status", "0")
    assert send(bench, wake(bench, {"key": "c"}, minutes=4), 5).state == "settled"
    (incident,) = bench.ledger.incidents()
    assert incident.resolved_at == at(5)


def send_nothing(bench: Bench, wake_id: str) -> bool:
    return deliver(bench.house(), wake_id) == ""


def test_a_failed_wake_is_tried_again_on_request(bench: Bench) -> None:
    bench.place.configure(CONFIG.replace("[jobs.check]", "attempts = 1\n[jobs.check]"))
    bench.place.file("agent.status", "1")
    wake_id = wake(bench)
    assert send(bench, wake_id).state == "failed"
    bench.place.file("agent.status", "0")
    bench.ledger.retry_wake(wake_id, at(1))
    assert send(bench, wake_id, 1).state == "settled"
    assert states(bench) == [State.TOLD]


# Too late


def test_a_wake_that_is_no_longer_useful_is_not_sent_and_blames_nobody(bench: Bench) -> None:
    wake_id = wake(bench, {"useful_until": at(5).isoformat()})
    sent = send(bench, wake_id, 5.1)
    assert (sent.state, bench.place.agent_calls) == ("failed", [])
    assert sent.error == "it was useful only until 2026-06-10 08:05 UTC"
    assert states(bench) == [State.BRIEF]
    assert bench.ledger.incidents() == []


def test_a_wake_is_useful_up_to_its_last_moment(bench: Bench) -> None:
    assert send(bench, wake(bench, {"useful_until": at(5).isoformat()}), 5).state == "settled"


def test_one_finding_without_an_end_keeps_the_whole_wake_useful(bench: Bench) -> None:
    wake_id = wake(bench, {"key": "a", "useful_until": at(5).isoformat()}, {"key": "b"})
    assert send(bench, wake_id, 6).state == "settled"


def test_a_wake_that_would_come_too_late_is_given_up_between_two_attempts(bench: Bench) -> None:
    bench.place.file("agent.status", "1")
    wake_id = wake(bench, {"useful_until": (at(0) + timedelta(seconds=10)).isoformat()})
    sent = send(bench, wake_id)
    assert (sent.state, sent.attempts) == ("failed", 1)
    assert "exit status 1" in sent.error
    assert states(bench) == [State.BRIEF]
    assert len(bench.ledger.incidents(open_only=True)) == 1


def test_a_wake_that_became_useless_while_it_waited_names_the_agent_that_failed_before(bench: Bench) -> None:
    bench.place.file("agent.status", "1")
    wake_id = wake(bench, {"useful_until": at(5).isoformat()})
    assert send(bench, wake_id).state == "pending"
    assert send(bench, wake_id, 6).state == "failed"
    assert len(bench.ledger.incidents(open_only=True)) == 1


# Stopping, locking, vanishing


def test_when_heartbeat_stops_the_wake_waits_for_the_next_start_and_the_agent_is_ended(bench: Bench) -> None:
    bench.place.file("agent.sh", FOREVER)
    wake_id = wake(bench, {"useful_until": at(5).isoformat()})
    started = bench.place.folder / "started"

    def stop() -> None:
        wait_for(started)
        bench.stop.set()

    stopping = threading.Thread(target=stop)
    stopping.start()
    sent = send(bench, wake_id)
    stopping.join()
    assert (sent.state, sent.next_attempt_at) == ("pending", at(0))
    assert not _lives(int(started.read_text()))
    assert bench.ledger.incidents() == []


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_stopping_never_gives_up_a_wake_for_the_attempts_it_costs(bench: Bench) -> None:
    bench.place.configure(CONFIG.replace("[jobs.check]", "attempts = 1\n[jobs.check]"))
    wake_id = wake(bench)
    bench.stop.set()
    sent = send(bench, wake_id)
    assert (sent.state, sent.next_attempt_at, bench.place.agent_calls) == ("pending", at(0), [])


@pytest.fixture
def hooks() -> Iterator[list[Callable[[str], None]]]:
    yield beat.step_hooks
    beat.step_hooks.clear()


def test_a_settlement_waits_for_a_ledger_that_is_locked(bench: Bench, hooks: list[Callable[[str], None]]) -> None:
    wake_id = wake(bench)
    hooks.append(lambda step: bench.lock_for_a_second() if step == "act" else None)
    assert send(bench, wake_id).state == "settled"
    assert bench.place.agent_calls == [wake_id]


def test_what_could_not_be_settled_is_sent_again_under_the_same_id(
    bench: Bench, hooks: list[Callable[[str], None]]
) -> None:
    wake_id = wake(bench)

    def lock_and_stop(step: str) -> None:
        if step == "act":
            bench.lock_for_a_second()
            bench.stop.set()

    hooks.append(lock_and_stop)
    with pytest.raises(LedgerError):
        deliver(bench.house(), wake_id)
    hooks.clear()
    bench.stop.clear()
    assert bench.ledger.wake(wake_id).state == "sending"
    _until_unlocked(bench)
    bench.ledger.release_wakes(lambda _: False, at(1))
    assert send(bench, wake_id, 1).state == "settled"
    assert bench.place.agent_calls == [wake_id, wake_id]


def _until_unlocked(bench: Bench) -> None:
    other = sqlite3.connect(bench.place.state / "ledger.db", timeout=30, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("ROLLBACK")
    other.close()


def test_a_wake_whose_agent_was_taken_out_of_the_configuration_goes_to_the_brief(bench: Bench) -> None:
    wake_id = wake(bench)
    bench.place.configure("[jobs.check]\nevery = '10m'\n")
    sent = send(bench, wake_id)
    assert (sent.state, sent.error) == ("failed", "no agent is configured")
    assert states(bench) == [State.BRIEF]
    assert bench.ledger.incidents() == []


def test_a_wake_whose_job_was_removed_is_sent_with_the_agents_own_instruction(bench: Bench) -> None:
    wake_id = wake(bench)
    bench.place.configure(CONFIG.replace("[jobs.check]", 'prompt = "In general."\n[jobs.due-queue]'))
    assert send(bench, wake_id).state == "settled"
    assert (bench.place.folder / "prompt.txt").read_text().startswith("In general.\n")


def apart(bench: Bench, number: int, minutes: float = 0) -> str:
    """A wake that shares nothing with those of other numbers: its agent is to be called in another way."""
    bench.place.configure(f"{CONFIG}[jobs.check.agent]\nmodel = 'model-{number}'\n")
    return wake(bench, {"key": f"k{number}"}, minutes=minutes)


def test_every_wake_that_is_due_is_sent_oldest_first_and_no_other(bench: Bench) -> None:
    ids = [apart(bench, number, number) for number in range(3)]
    late = apart(bench, 3, 10)
    bench.now = at(5)
    assert deliver_due(bench.house) == 3
    assert bench.place.agent_calls == ids
    assert bench.ledger.wake(late).state == "pending"
    assert deliver_due(bench.house) == 0


def test_two_processes_with_a_wake_each_call_the_agent_one_after_the_other(place: Place) -> None:
    place.configure(CONFIG + '[jobs.other]\nevery = "10m"\n')
    place.script("other")
    log = '"$HEARTBEAT_HOME/agent.log"'
    place.file("agent.sh", f"#!/bin/sh\necho begin >> {log}\nsleep 0.5\necho end >> {log}\n")
    place.finds({})
    place.finds({}, job="other")
    ticking = [place.start("tick", job, "--json") for job in ("check", "other")]
    outputs = [process.communicate(timeout=60) for process in ticking]
    assert [err for _, err in outputs] == [b"", b""]
    assert place.agent_calls == ["begin", "end"] * (len(place.agent_calls) // 2)
    # The second one waits two seconds for its turn, else leaves its wake to the daemon.
    told = [json.loads(out)["data"]["delivery"] for out, _ in outputs]
    assert all(delivery == "settled" or delivery.startswith("pending: another") for delivery in told)
    assert "settled" in told
