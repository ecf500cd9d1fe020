"""As much as one run may report, on its whole way."""

from __future__ import annotations

import json

import pytest

from heartbeat.model import State
from heartbeat.outbox import decide_held, deliver
from tests.conftest import CONFIG, Bench, at

pytestmark = pytest.mark.slow

COUNT = 10_000
MANY = {"wakeAgent": True, "findings": [{"key": str(n), "title": f"Mail {n}", "urgency": "high"} for n in range(COUNT)]}
PHONE = '[channels.phone]\nkind = "file"\npath = "phone.md"\n'


def test_ten_thousand_findings_of_one_run_are_one_wake_and_one_prompt(bench: Bench) -> None:
    bench.place.says("check", MANY)
    (wake_id,) = bench.tick(0).wakes
    assert deliver(bench.house(), wake_id) == "settled"
    prompt = (bench.place.folder / "prompt.txt").read_text()
    document = json.loads(prompt[prompt.index("\n{") : prompt.rindex("}") + 1])
    assert [item["title"] for item in document["findings"]] == [f"Mail {n}" for n in range(COUNT)]
    assert {item.state for item in bench.ledger.findings(limit=2 * COUNT)} == {State.TOLD}
    assert bench.tick(10).wakes == ()


def test_ten_thousand_findings_are_one_message_that_says_how_many_there_are(bench: Bench) -> None:
    bench.place.configure(CONFIG + "notify = true\n" + PHONE)
    bench.ledger.override("quiet", "", at(60), at(0))
    bench.place.says("check", MANY)
    assert bench.tick(0).wakes == ()
    bench.ledger.take_back("quiet")
    bench.now = at(60)
    (wake_id,) = decide_held(bench.house())
    assert deliver(bench.house(), wake_id) == "settled"
    (message,) = bench.ledger.messages()
    assert message.title == f"[high] Mail 0 (and {COUNT - 1} more)"
    assert f"more: heartbeat wakes get {wake_id}" in message.body
    assert len(bench.ledger.wake(wake_id).findings) == COUNT
