"""Many processes fill the queue at once, by every way there is, while a daemon tells of it and takers are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from typing import Any

from tests.conftest import Place, wait_for

WORKERS, ROUNDS = 3, 12

CONFIG = """
[owner]
zone = "UTC"

[budget] # so that nothing is held
min_gap = "0s"
per_hour = 3600
per_day = 86400

[agent]
kind = "command"
command = ["{home}/agent.sh"]

[jobs.due-queue]
every = "1s"
"""

AGENT = """#!/bin/sh
cat > "$HEARTBEAT_HOME/prompts/$HEARTBEAT_WAKE_ID"
"""

WORKER = """
import json, os, sys, time
from datetime import UTC, datetime
from heartbeat.errors import NotFound, Refused
from heartbeat.model import QueueItem
from heartbeat.paths import find_home
from heartbeat.stores.sqlite import open_ledger

home, name, rounds = find_home(sys.argv[1], {}), sys.argv[2], int(sys.argv[3])
ledger, folder = open_ledger(home.ledger_file), home.config / "queue"
due = datetime.fromisoformat(sys.argv[4])
for number in range(rounds):
    now = datetime.now(UTC)
    for kind in ("shell", "snoozed", "cancelled"):
        ledger.enqueue(QueueItem("", f"{kind}-{name}-{number}", f"{kind}-{name}-{number}", due), now)
    ledger.snooze_item(f"snoozed-{name}-{number}", datetime(2100, 1, 1, tzinfo=UTC), now)
    try:
        ledger.cancel_item(f"cancelled-{name}-{number}", now)
    except Refused:
        pass
    ledger.enqueue(QueueItem("", f"shared-{number}", f"shared-{number}", due), now)
    draft = folder / f".{name}-{number}"
    items = [{"message": f"{kind}-{name}-{number}", "due": due.isoformat()} for kind in ("renamed", "another")]
    draft.write_text(json.dumps(items))
    draft.rename(folder / f"{name}-{number}.json")
    with (folder / f"slow-{name}-{number}.json").open("w") as file:
        text = json.dumps({"message": f"written-{name}-{number}", "due": due.isoformat()})
        file.write(text[:20])
        file.flush()
        time.sleep(0.05)
        file.write(text[20:])
"""

TAKER = """
import os, random, signal, sys
from datetime import UTC, datetime
from zoneinfo import ZoneInfo
from heartbeat.paths import find_home
from heartbeat.queue import drop
from heartbeat.stores.sqlite import open_ledger

# Each child takes in what lies there, and is killed at a step of its own.
home, step = find_home(sys.argv[1], {}), 0
while not (home.config / "stop").exists():
    step += 1
    child = os.fork()
    if child == 0:
        left = [random.Random(step).randrange(1, 6)]
        def die(_passed):
            left[0] -= 1
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
        drop.step_hooks.append(die)
        drop.bring_in(home, open_ledger(home.ledger_file), lambda: ZoneInfo("UTC"), datetime.now(UTC))
        os._exit(0)
    os.waitpid(child, 0)
"""


def start(code: str, place: Place, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", code, str(place.folder), *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ended(process: subprocess.Popen[bytes]) -> None:
    _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, b"")


def states(place: Place) -> dict[str, str]:
    return {item["message"]: item["state"] for item in place.data("queue", "list")["items"]}


def told(place: Place) -> Counter[str]:
    """How often the agent was told of each item."""
    count = Counter[str]()
    for prompt in (place.folder / "prompts").iterdir():
        body = prompt.read_text().split("-----BEGIN FINDINGS")[1].split("-----\n", 1)[1].split("-----END FINDINGS")[0]
        document: dict[str, Any] = json.loads(body)
        count.update(finding["title"] for finding in document["findings"])
    return count


def test_each_item_of_many_processes_is_told_exactly_once(place: Place) -> None:
    place.configure(CONFIG)
    place.file("agent.sh", AGENT)
    for folder in ("prompts", "queue"):
        (place.folder / folder).mkdir()
    place.data("queue", "list")
    names = [chr(ord("a") + number) for number in range(WORKERS)]
    certain = {
        *(
            f"{kind}-{name}-{n}"
            for kind in ("shell", "renamed", "another", "written")
            for name in names
            for n in range(ROUNDS)
        ),
        *(f"shared-{n}" for n in range(ROUNDS)),
    }
    others = {f"{kind}-{name}-{n}" for kind in ("snoozed", "cancelled") for name in names for n in range(ROUNDS)}
    daemon = place.start("run")
    try:
        wait_for(place.state / "ledger.db")
        taker = start(TAKER, place)
        workers = [start(WORKER, place, name, str(ROUNDS), "2026-06-10T08:00:00+00:00") for name in names]
        for worker in workers:
            ended(worker)
        (place.folder / "stop").touch()
        ended(taker)
        end = time.monotonic() + 120
        while {message for message, state in states(place).items() if state == "told"} < certain:
            assert time.monotonic() < end, Counter(states(place).values())
            time.sleep(0.3)
    finally:
        (place.folder / "stop").touch()
        os.kill(daemon.pid, signal.SIGTERM)
        _, log = daemon.communicate(timeout=60)
    assert daemon.returncode == 0, log
    count = told(place)
    assert {title: count[title] for title in certain} == dict.fromkeys(certain, 1)
    assert {title for title in others if count[title] > 1} == set()
    assert count.keys() <= certain | others
    left = states(place)
    assert len(left) == len(certain) + len(others)
    assert all(left[title] == "snoozed" for title in others if title.startswith("snoozed"))
    # Cancelled while the agent was being told of it is both; told without the agent is neither.
    assert all(left[title] == "cancelled" or count[title] == 1 for title in others if title.startswith("cancelled"))
    assert [path.name for path in (place.folder / "queue").iterdir()] == []
