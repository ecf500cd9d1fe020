"""What proving that it is alive costs the daemon, and what asking costs beside others that can be asked."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

from heartbeat.agents import find_agent
from heartbeat.beat import House
from heartbeat.clock import read_clocks, utc_now
from heartbeat.job import load
from heartbeat.notify import Notifier
from heartbeat.proof import Proof
from heartbeat.pulse import PERIOD
from heartbeat.stores.sqlite import open_ledger
from heartbeat.troubles import Troubles
from tests.benchmarks.tools import BIN, home_in, say

_PROOFS = 400
_ROUNDS = 15
_PEERS = (("solbeat", "status"), ("hermes", "cron", "status"))


def pulse(folder: Path) -> None:
    """CPU of the proofs of life of an idle minute: pulse, watchdog and counts (goal: under 0.02 s)."""
    home = home_in(folder, "[jobs.quiet]\nevery = '10m'\n")
    config, stop = load(home, os.environ), threading.Event()
    with open_ledger(home.ledger_file) as ledger:
        agent = find_agent(config.settings, home, os.environ, stop)
        house = House(ledger, home, config, agent, os.environ, stop, utc_now)
        proof = Proof(read_clocks(), Troubles(), Notifier({"NOTIFY_SOCKET": str(folder / "nobody")}))
        began = time.process_time()
        for _ in range(_PROOFS):
            proof.write(house, utc_now(), None)
        ours = (time.process_time() - began) / _PROOFS
    bare = _bare_writes(folder)
    minute = 60 / PERIOD
    above = f"{ours * minute:.4f} s/min; goal 0.02"
    say("a proof of life, CPU", f"{ours * 1e3:.2f} ms", "writing a file", f"{bare * 1e3:.2f} ms", ours / bare, above)


def asking(folder: Path) -> None:
    """`heartbeat health --assert-live` beside the status verbs of others, where they are installed."""
    ours = _wall([str(BIN / "heartbeat"), "--home", str(folder), "health", "--assert-live"])
    for words in _PEERS:
        program = shutil.which(words[0])
        if program is None:
            print(f"{' '.join(words)}: not installed, not measured")
            continue
        theirs = _wall([program, *words[1:]])
        say(
            "health --assert-live",
            f"{ours * 1e3:.1f} ms",
            " ".join(words),
            f"{theirs * 1e3:.0f} ms",
            ours / theirs,
            "-",
        )


def _bare_writes(folder: Path) -> float:
    temporary, file = str(folder / "bare.new"), str(folder / "bare")
    text = "x" * 500
    began = time.process_time()
    for _ in range(_PROOFS):
        with open(temporary, "w", encoding="utf-8") as opened:
            opened.write(text)
        os.replace(temporary, file)
    return (time.process_time() - began) / _PROOFS


def _wall(command: list[str]) -> float:
    """The median of its rounds, in seconds."""
    spent = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        spent.append(time.perf_counter() - began)
    return sorted(spent)[len(spent) // 2]
