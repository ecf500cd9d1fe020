"""Full and read-only disks, folders that vanish, damaged ledgers: said plainly, and nothing is lost."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.slow.guarantees import breaches
from tests.slow.homes import Daemon, Home, wait_for

pytestmark = pytest.mark.slow

MAY_MOUNT = sys.platform == "linux" and os.geteuid() == 0
AS_ROOT = pytest.mark.skipif(not MAY_MOUNT, reason="only root on Linux may mount a small disk")

# A new finding every two seconds; all of the last four minutes are reported.
LATEST = """#!/bin/sh
i=$(($(date +%s) / 2)) n=0 list=
while [ $n -lt 120 ]; do
    list="$list${list:+,}{\\"key\\":\\"$((i - n))\\",\\"title\\":\\"no $((i - n))\\"}"
    n=$((n + 1))
done
echo "{\\"wakeAgent\\":true,\\"findings\\":[$list]}"
"""
# One finding, once the file `news` is there.
NEWS = """#!/bin/sh
[ -e "$HEARTBEAT_HOME/news" ] || exec echo '{"wakeAgent": false}'
echo '{"wakeAgent": true, "findings": [{"key": "news", "title": "News"}]}'
"""
# The same, but only once, and a while after it was asked.
ONCE = """#!/bin/sh
rm "$HEARTBEAT_HOME/news" 2>/dev/null || exec echo '{"wakeAgent": false}'
sleep 2
echo '{"wakeAgent": true, "findings": [{"key": "news", "title": "News"}]}'
"""


class Disk:
    """A real one, small enough to be filled in a moment."""

    def __init__(self, folder: Path, size: str = "16m") -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "heartbeat-test", folder], check=True)

    def fill(self) -> None:
        with (self._folder / "ballast").open("ab", buffering=0) as ballast:
            for size in (1 << 16, 1 << 12, 1):
                try:
                    while ballast.write(b"x" * size) == size:
                        pass
                except OSError:
                    continue

    def make_room(self) -> None:
        (self._folder / "ballast").unlink()

    def protect(self) -> None:
        subprocess.run(["mount", "-o", "remount,ro", self._folder], check=True)

    def remove(self) -> None:
        subprocess.run(["umount", "--lazy", self._folder], check=True)


@pytest.fixture
def disk(home: Home) -> Iterator[Disk]:
    """The state folder lies on a disk of its own."""
    disk = Disk(home.state)
    yield disk
    home.clear()
    print(home.report())
    disk.remove()


def warnings(daemon: Daemon) -> list[str]:
    return [line.split(" ", 1)[1] for line in daemon.log.splitlines() if " WARNING " in line]


@AS_ROOT
def test_a_full_disk_stops_nothing_for_good_and_is_said_once(home: Home, disk: Disk) -> None:
    home.script("latest", LATEST)
    home.script("calm")
    home.configure('[jobs.latest]\nevery = "1s"\n[jobs.calm]\nevery = "1s"')
    daemon = home.start()
    wait_for(lambda: len(home.handed()) >= 2, 30, "two wakes")

    disk.fill()
    wait_for(lambda: home.health().state in ("degraded", "stalled"), 60, "health to say so")
    wait_for(lambda: any("disk is full" in line for line in warnings(daemon)), 60, "the daemon to say so")
    said = warnings(daemon)
    time.sleep(20)
    assert home.health().state in ("degraded", "stalled")
    assert home.run("health", "--assert-live")[0] == (1 if home.health().state == "stalled" else 0)
    assert daemon.process.poll() is None
    disk.make_room()
    again = warnings(daemon)

    assert any("disk is full" in line for line in said), said
    assert [line for line, number in Counter(again).items() if number > 1] == []
    assert len(again) <= len(said) + 2, again  # a place that had not tried to write before
    wait_for(lambda: home.health().state == "up", 30, "health to be up again")
    full_until = int(time.time()) // 2
    told = "SELECT count(*) FROM findings WHERE state = 'told' AND job = 'latest' AND CAST(key AS INTEGER) >= ?"
    wait_for(lambda: home.count(told, full_until), 30, "what came afterwards")
    assert daemon.stop() == 0
    assert breaches(home) == []
    keys = {int(row["key"]) for row in home.rows("SELECT key FROM findings WHERE job = 'latest'")}
    assert set(range(min(keys), max(keys))) <= keys
    assert max(Counter(wake for wake, _ in home.handed()).values()) == 1


@AS_ROOT
def test_a_result_that_is_ready_while_the_disk_is_full_is_kept(home: Home, disk: Disk) -> None:
    home.script("once", ONCE)
    home.configure('[jobs.once]\nevery = "1s"')
    daemon = home.start()
    daemon.wait_for_beat()
    home.file("news", "")
    wait_for(lambda: not (home.folder / "news").exists(), 30, "the script to begin")
    disk.fill()
    time.sleep(6)
    assert not home.handed()
    disk.make_room()
    wait_for(home.handed, 30, "the agent to be called")
    assert "ledger_waits" in daemon.log
    assert daemon.log.count("ledger_waits") == 1
    assert daemon.stop() == 0
    assert breaches(home) == []


@AS_ROOT
def test_a_wake_accepted_while_the_disk_is_full_is_not_sent_again(home: Home, disk: Disk) -> None:
    home.script("news", NEWS)
    home.file("agent-takes", "3")
    home.configure('[jobs.news]\nevery = "1s"')
    daemon = home.start()
    daemon.wait_for_beat()
    home.file("news", "")
    wait_for(home.handed, 30, "the agent to be called")
    disk.fill()
    time.sleep(8)
    assert home.count("SELECT count(*) FROM wakes WHERE state = 'sending'") == 1
    disk.make_room()
    wait_for(lambda: home.count("SELECT count(*) FROM wakes WHERE state = 'settled'"), 30, "the settlement")
    time.sleep(3)
    assert daemon.stop() == 0
    assert len(home.handed()) == 1
    assert breaches(home) == []


@AS_ROOT
def test_a_daemon_on_a_full_disk_can_be_stopped_and_started(home: Home, disk: Disk) -> None:
    home.script("news", NEWS)
    home.file("agent-takes", "2")
    home.configure('[jobs.news]\nevery = "1s"', daemon='drain = "1s"')
    daemon = home.start()
    daemon.wait_for_beat()
    home.file("news", "")
    wait_for(home.handed, 30, "the agent to be called")
    disk.fill()
    time.sleep(4)
    assert daemon.stop(within=10) == 0
    disk.fill()  # with what it has given back
    daemon = home.start()
    wait_for(lambda: "start_waits" in daemon.log, 30, "the daemon to say that it waits")
    assert "disk is full" in daemon.log or "No space left" in daemon.log, daemon.log
    time.sleep(4)
    assert daemon.process.poll() is None, "a supervisor would give it up after a few starts"
    disk.make_room()
    wait_for(lambda: home.count("SELECT count(*) FROM wakes WHERE state = 'settled'"), 30, "the settlement")
    assert daemon.stop() == 0
    assert breaches(home) == []
    assert len({wake for wake, _ in home.handed()}) == 1


@AS_ROOT
def test_a_wake_whose_retry_falls_due_on_a_full_disk_is_told_afterwards(home: Home, disk: Disk) -> None:
    home.script("news", NEWS)
    home.file("agent-fails", "")
    home.configure('[jobs.news]\nevery = "1s"')
    daemon = home.start()
    daemon.wait_for_beat()
    home.file("news", "")
    wait_for(lambda: home.count("SELECT count(*) FROM wakes WHERE state = 'pending' AND attempts = 1"), 30, "a failure")
    disk.fill()
    (home.folder / "agent-fails").unlink()
    time.sleep(35)  # the second attempt falls due after 15 to 30 s
    assert len(home.handed()) == 1
    disk.make_room()
    wait_for(lambda: home.count("SELECT count(*) FROM wakes WHERE state = 'settled'"), 40, "the settlement")
    assert daemon.stop() == 0
    assert breaches(home) == []


@pytest.mark.parametrize("has_ledger", [False, True])
def test_a_state_folder_that_cannot_be_written_is_said_at_the_start(home: Home, has_ledger: bool) -> None:
    home.script("calm")
    home.configure('[jobs.calm]\nevery = "1s"')
    disk = Disk(home.state) if MAY_MOUNT else None
    try:
        if has_ledger:
            daemon = home.start()
            daemon.wait_for_beat()
            assert daemon.stop() == 0
        home.state.mkdir(mode=0o700, exist_ok=True)
        disk.protect() if disk else home.state.chmod(0o500)
        daemon = home.start()
        assert daemon.wait(30) == 1
        assert re.fullmatch(rf"heartbeat: cannot write in {home.state}: .*; .*\n", daemon.log), daemon.log
        assert home.health().state in ("down", "absent")
    finally:
        if disk:
            disk.remove()
        else:
            home.state.chmod(0o700)


def test_a_daemon_whose_state_folder_is_taken_away_ends_and_the_next_one_begins_anew(home: Home) -> None:
    home.script("news", NEWS)
    home.configure('[jobs.news]\nevery = "1s"')
    daemon = home.start()
    daemon.wait_for_beat()
    shutil.rmtree(home.state)
    assert daemon.wait(40) == 1
    assert str(home.state) in daemon.log.splitlines()[-1]
    home.file("news", "")
    daemon = home.start()
    wait_for(lambda: home.count("SELECT count(*) FROM wakes WHERE state = 'settled'"), 30, "a wake")
    assert daemon.stop() == 0
    assert breaches(home) == []


# What a dying disk, a bad copy or a careless hand does to a file.


def scribble(path: Path) -> None:
    """Garbage over every page but the first."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(os.urandom(size - 4096))


def scribble_over_the_head(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(os.urandom(100))


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def replace_by_text(path: Path) -> None:
    path.write_text("my notes\n" * 1000)


DAMAGES = (scribble, scribble_over_the_head, cut, empty, replace_by_text)


def watched(home: Home) -> Daemon:
    """A daemon that has told something, and whose pages are in the file and not only in its log."""
    home.script("news", NEWS)
    home.file("news", "")
    home.script("calm")
    home.configure('[jobs.news]\nevery = "1s"\n[jobs.calm]\nevery = "1s"')
    daemon = home.start()
    wait_for(lambda: home.count("SELECT count(*) FROM wakes WHERE state = 'settled'"), 30, "the first wake")
    return daemon


def set_aside(home: Home) -> list[Path]:
    return [path for path in home.state.glob("ledger.db.corrupt-*") if not path.name.endswith(("-wal", "-shm"))]


def the_next_start_sets_it_aside(home: Home, damaged: bytes) -> None:
    daemon = home.start()
    daemon.wait_for_beat()
    (aside,) = set_aside(home)
    assert aside.read_bytes() == damaged
    assert home.health().state == "degraded"
    assert any(str(aside) in message for _, message in home.health().problems)
    wait_for(lambda: home.count("SELECT count(*) FROM wakes WHERE state = 'settled'"), 30, "a wake from the new ledger")
    assert daemon.stop() == 0
    assert [incident["code"] for incident in home.data("brief")["incidents"]] == ["ledger_corrupt"]
    assert breaches_but_of_the_agent(home) == []


def breaches_but_of_the_agent(home: Home) -> list[str]:
    """The new ledger does not know whom the old one told."""
    (home.folder / "agent.log").write_text("\n".join(told_by_the_new_ledger(home)) + "\n")
    return breaches(home)


def told_by_the_new_ledger(home: Home) -> list[str]:
    known = {row["id"] for row in home.rows("SELECT id FROM wakes")}
    return [f"{wake}\t{' '.join(findings)}" for wake, findings in home.handed() if wake in known]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_ledger_damaged_while_nobody_ran_is_set_aside_and_said(home: Home, damage: Callable[[Path], None]) -> None:
    assert watched(home).stop() == 0
    ledger = home.state / "ledger.db"
    damage(ledger)
    the_next_start_sets_it_aside(home, ledger.read_bytes())


def stop_it_after_another_wrote(home: Home, daemon: Daemon) -> None:
    """When it goes on it must read again what it had in its memory."""
    for _ in range(10):
        time.sleep(0.3)
        daemon.process.send_signal(signal.SIGSTOP)
        if home.run("queue", "add", "--key", "x", "--message", "x", "--due", "2030-01-01T00:00:00Z")[0] == 0:
            return
        # It was stopped while it had the ledger locked.
        daemon.process.send_signal(signal.SIGCONT)
    pytest.fail("the ledger was always locked")


@pytest.mark.parametrize("damage", [scribble, cut, replace_by_text])
def test_a_ledger_damaged_under_a_daemon_ends_it_and_is_set_aside_by_the_next(
    home: Home, damage: Callable[[Path], None]
) -> None:
    daemon = watched(home)
    daemon.kill()
    home.run("queue", "list")  # the last to close it brings the log into the file
    daemon = home.start()
    daemon.wait_for_beat()
    stop_it_after_another_wrote(home, daemon)
    damage(home.state / "ledger.db")
    daemon.process.send_signal(signal.SIGCONT)
    assert daemon.wait(30) == 1, "a supervisor must start it anew, which mends it"
    assert "ledger.db" in daemon.log.splitlines()[-1]
    daemon = home.start()
    daemon.wait_for_beat()
    assert len(set_aside(home)) == 1
    assert home.health().state == "degraded"
    assert daemon.stop() == 0
