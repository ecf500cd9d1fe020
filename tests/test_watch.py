"""`heartbeat watch`: real files, real processes that live and die, real channels; only the clock is the test's own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from heartbeat.cli import watch as verb
from heartbeat.clock import utc_now
from heartbeat.errors import ChannelError
from heartbeat.marker import Marker, write_marker
from heartbeat.model import Message, MessageKind, MessageState, Urgency
from heartbeat.probe import Health
from heartbeat.transitions import Memory
from heartbeat.watchman import Looker, Manner, Notebook, Watchman, Ways, bounded, take_note
from heartbeat.watchman.notebook import KEPT, STUCK
from heartbeat.watchman.sending import LONGEST, send_all
from heartbeat.watchman.wording import Matter, words
from tests.conftest import NOW, Done, Place, wait_for
from tests.servers import until

CONFIG = """
[owner]
zone = "Europe/Berlin"
[brief]
at = "off"
[channels.diary]
kind = "file"
path = "diary.jsonl"
[channels.pager]
kind = "command"
command = ["./pager.sh"]
env = { OUT = "{home}/pager.jsonl", STATUS = "{home}/pager.status" }
[watch.backup]
pid_file = "{home}/backup.pid"
"""
UP = ("backup up: ", "backup degraded: backup is up")
PAGER = '#!/bin/sh\ncat >> "$OUT"\nexit "$(cat "$STATUS" 2>/dev/null || echo 0)"\n'


class Watch:
    """A watch over the target `backup`, a process that the test starts and kills; each round is a minute later."""

    def __init__(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place, self.now = place, utc_now()
        place.configure(CONFIG)
        place.file("pager.sh", PAGER)
        self.spare = place.folder / "spare"
        self.spare.mkdir(mode=0o700)
        usual = place.environment
        monkeypatch.setattr(place, "environment", lambda **more: usual(XDG_RUNTIME_DIR=str(self.spare), **more))
        monkeypatch.setattr(verb, "utc_now", lambda: self.now)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def memory(self) -> Path:
        return self.place.state / "watch"

    def up(self) -> None:
        self._process = subprocess.Popen(["sleep", "600"])
        self.place.file("backup.pid", f"{self._process.pid}\n")

    def down(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def round(self, *words: str, status: int | None = None, after: timedelta = timedelta(minutes=1)) -> Done:
        self.now += after
        done = self.place.call("watch", *(words or ("backup",)))
        assert status is None or done.status == status, done
        return done

    def rounds(self, count: int = 2) -> list[str]:
        """The titles that both channels got in so many rounds."""
        before = self.titles()
        for _ in range(count):
            self.round()
        assert self.titles() == self.titles("pager.jsonl")
        return self.titles()[len(before) :]

    def messages(self, name: str = "diary.jsonl") -> list[dict[str, Any]]:
        path = self.place.folder / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def titles(self, name: str = "diary.jsonl") -> list[str]:
        """Without the instants and durations in them."""
        return [re.split(" since | after ", each["title"])[0] for each in self.messages(name)]


@pytest.fixture
def watch(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    made = Watch(place, monkeypatch)
    yield made
    made.down()


# What is told, and when


def test_down_is_told_once_and_up_once(watch: Watch) -> None:
    watch.up()
    assert watch.round(status=0).out.startswith(UP)
    watch.down()
    assert watch.rounds(4) == ["backup is down"]
    watch.up()
    assert watch.rounds(4) == ["backup is up again"]
    watch.down()
    assert watch.rounds(4) == ["backup is down"]


def test_a_restart_between_two_rounds_now_and_then_is_told_never(watch: Watch) -> None:
    watch.up()
    for _ in range(5):
        watch.now += timedelta(minutes=18)
        assert watch.rounds(1) == []
        watch.down()
        watch.round(status=1)
        watch.up()
        assert watch.rounds(1) == []


def test_what_is_down_at_every_other_round_is_told_once_to_come_and_go(watch: Watch) -> None:
    watch.up()
    watch.round()
    for _ in range(6):
        watch.down()
        watch.round(status=1)
        watch.up()
        watch.round(status=0)
    assert watch.titles() == watch.titles("pager.jsonl") == ["backup comes and goes: it is down"]
    assert "It comes and goes: it is not called up again before " in watch.messages()[0]["body"]
    watch.now += timedelta(hours=1)
    assert watch.rounds(2) == ["backup is up again"]
    assert watch.messages()[-1]["body"].startswith("It came and went from ")


def test_what_the_first_round_finds_down_is_told_and_what_it_finds_up_is_not(watch: Watch) -> None:
    watch.place.file("backup.pid", "999999999\n")
    out = watch.round(status=1).out
    assert "\ntold diary, pager: backup is down since " in out
    assert watch.round("heartbeat", status=0).out.startswith("heartbeat absent: ")
    assert watch.titles() == ["backup is down"]


def test_the_message_says_why_and_what_to_do(watch: Watch) -> None:
    watch.place.file("backup.pid", "999999999\n")
    watch.round()
    (message,) = watch.messages("pager.jsonl")
    assert (message["kind"], message["urgency"], message["channel"]) == ("incident", "critical", "pager")
    assert "\nWhy:\n- " in message["body"]
    assert f"\n- `heartbeat --home {watch.place.folder} health backup` shows how it is now" in message["body"]


def test_a_channel_that_fails_is_tried_again_and_the_other_is_not(watch: Watch) -> None:
    watch.up()
    watch.round()
    watch.down()
    watch.place.file("pager.status", "1")
    watch.round()
    done = watch.round(status=1)
    assert "cannot tell that backup is down since" in done.err
    assert "told diary: backup is down" in done.out
    watch.round(status=1)
    watch.place.file("pager.status", "0")
    for _ in range(3):
        watch.round()
    tried = watch.messages("pager.jsonl")
    assert watch.titles() == ["backup is down"]
    assert [each["id"] for each in tried] == [tried[0]["id"]] * 3
    assert tried[0]["id"] != watch.messages()[0]["id"]


def test_what_was_over_before_it_could_be_told_is_not_told(watch: Watch) -> None:
    watch.up()
    watch.round()
    watch.place.file("diary.jsonl", "").unlink()
    (watch.place.folder / "diary.jsonl").mkdir()
    watch.place.file("pager.status", "1")
    watch.down()
    watch.round()
    watch.round(status=1)
    watch.up()
    watch.round()
    watch.round(status=0)
    (watch.place.folder / "diary.jsonl").rmdir()
    watch.place.file("pager.status", "0")
    (watch.place.folder / "pager.jsonl").unlink()
    assert watch.rounds(3) == []
    history = watch.place.data("watch", "--history")["transitions"]
    assert [(each["target"], each["to"], each["told"]) for each in history] == [
        ("backup", "red", []),
        ("backup", "green", []),
    ]


def test_a_channel_that_takes_no_incidents_hears_nothing(watch: Watch) -> None:
    watch.place.configure(CONFIG.replace('path = "diary.jsonl"', 'path = "diary.jsonl"\ntakes = ["brief"]'))
    watch.place.file("backup.pid", "999999999\n")
    watch.round()
    assert (watch.titles(), watch.titles("pager.jsonl")) == ([], ["backup is down"])


def test_where_no_channel_takes_it_that_is_said_once_and_the_history_knows(watch: Watch) -> None:
    watch.place.configure('[watch.backup]\npid_file = "{home}/backup.pid"\n')
    watch.place.file("backup.pid", "999999999\n")
    assert "it has no channel that takes incidents" in watch.round(status=1).err
    assert watch.round(status=1).err == ""
    assert watch.place.call("watch", "--history").out.count("backup is down since") == 1


def test_the_owner_says_what_alarms(watch: Watch) -> None:
    watch.place.configure(CONFIG + '[alerts]\non = ["stalled"]\n')
    watch.up()
    watch.round(status=0)
    watch.down()
    assert watch.rounds(3) == []
    assert watch.round(status=0).out.startswith("backup down: ")


# Quiet hours


QUIET = '[alerts]\nquiet = true\n[quiet]\nwindows = [{ start = "23:00", end = "07:00" }]\n'
NIGHT = datetime(2026, 6, 10, 22, tzinfo=UTC)  # midnight in Berlin


def test_quiet_hours_do_not_hold_it_by_default(watch: Watch) -> None:
    watch.place.configure(CONFIG + QUIET.replace("true", "false"))
    watch.now = NIGHT
    watch.place.file("backup.pid", "999999999\n")
    assert watch.rounds(1) == ["backup is down"]


def test_the_owner_may_have_it_held_to_the_end_of_the_quiet_hours(watch: Watch) -> None:
    watch.place.configure(CONFIG + QUIET)
    watch.now = NIGHT
    watch.place.file("backup.pid", "999999999\n")
    done = watch.round(status=1)
    assert "not told before the quiet ends: 2026-06-11 07:00" in done.out
    assert watch.titles() == []
    watch.now = NIGHT + timedelta(hours=7)
    assert watch.rounds(2) == ["backup is down"]
    assert " since 00:01, for 7 h." in watch.messages()[0]["body"]


def test_what_is_over_when_the_quiet_ends_is_not_told(watch: Watch) -> None:
    watch.place.configure(CONFIG + QUIET)
    watch.now = NIGHT
    watch.place.file("backup.pid", "999999999\n")
    watch.round(status=1)
    watch.up()
    watch.round()
    watch.round(status=0)
    watch.now = NIGHT + timedelta(hours=7)
    assert watch.rounds(2) == []


def test_what_the_owner_says_for_the_time_being_holds_too(watch: Watch) -> None:
    watch.place.configure(CONFIG + "[alerts]\nquiet = true\n")
    assert watch.place.call("quiet", "until", "2h").status == 0
    watch.place.file("backup.pid", "999999999\n")
    assert "not told before the quiet ends" in watch.round(status=1).out
    (watch.place.state / "ledger.db").write_bytes(b"damaged" * 1000)
    assert watch.rounds(1) == ["backup is down"]


# Memory


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"garbage",
        b"{}",
        b"[" * 50_000,
        b'{"format":2,"at":1,"targets":{}}',
        b'{"format":1,"at":NaN,"targets":{}}',
        b'{"format":1,"at":1e300,"targets":{}}',
        *(
            b'{"format":1,"at":1,"targets":{"backup":{"colour":"red","state":"down","since":1,%s}}}' % each
            for each in (b'"since":1e300', b'"before":-1', b'"changes":[1,1e15]', b'"glimpses":[NaN]', b'"began":1e12')
        ),
    ],
    ids=[
        *("empty", "garbage", "nothing", "deep", "another format", "no number", "written never"),
        *("since", "before", "changes", "glimpses", "began"),
    ],
)
def test_a_damaged_memory_is_said_and_set_aside_and_what_is_down_is_told_anew_once(watch: Watch, damage: bytes) -> None:
    watch.up()
    watch.round()
    watch.memory.write_bytes(damage)
    watch.down()
    done = watch.round(status=1)
    assert "cannot use the memory of the watch" in done.err
    assert (watch.memory.with_name("watch.damaged")).read_bytes() == damage
    assert watch.rounds(3) == []
    assert watch.titles() == ["backup is down"]


def test_a_memory_is_set_aside_beside_what_lies_in_its_way(watch: Watch) -> None:
    watch.round()
    watch.memory.with_name("watch.damaged").mkdir()
    os.mkfifo(watch.memory.with_name("watch.damaged-1"))
    watch.memory.write_bytes(b"garbage")
    assert f"set aside as {watch.memory}.damaged-2\n" in watch.round().err
    assert watch.memory.with_name("watch.damaged-2").read_bytes() == b"garbage"
    assert watch.memory.with_name("watch.damaged-1").is_fifo()
    assert watch.round().err == ""


def test_a_memory_that_cannot_be_set_aside_is_said_to_be(watch: Watch) -> None:
    watch.round()
    for end in ("", *(f"-{number}" for number in range(1, 10))):
        watch.memory.with_name(f"watch.damaged{end}").mkdir()
    watch.memory.write_bytes(b"garbage")
    assert "it cannot be set aside, for something else lies at " in watch.round().err
    assert watch.round().err == ""


def test_a_memory_that_cannot_be_written_is_said_and_kept_elsewhere_and_nothing_is_told_twice(watch: Watch) -> None:
    watch.up()
    watch.memory.mkdir(parents=True)
    assert "cannot read the memory" in watch.round(status=0).err
    watch.down()
    assert watch.rounds(4) == ["backup is down"]
    (spare,) = [path for path in watch.spare.iterdir() if path.suffix != ".lock"]
    assert spare.stat().st_mode & 0o777 == 0o600
    watch.memory.rmdir()
    watch.up()
    assert watch.rounds(3) == ["backup is up again"]
    assert not spare.exists()
    assert watch.memory.is_file()
    assert watch.round().err == ""


def _may_mount(folder: Path) -> bool:
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k,mode=0700", "heartbeat-test", str(folder)]
    return os.geteuid() == 0 and subprocess.run(mount, capture_output=True, check=False).returncode == 0


def test_on_a_full_disk_it_is_told_once_and_not_in_every_round(watch: Watch) -> None:
    watch.up()
    watch.place.state.mkdir()
    if not _may_mount(watch.place.state):
        pytest.skip("only root, where mounts are permitted, may make a small disk")
    try:
        watch.round(status=0)
        filler = watch.place.state / "filler"
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            for _ in range(1000):
                file.write(bytes(4096))
        watch.down()
        err = watch.round().err + watch.round().err
        assert "No space left on device; make room there" in err
        assert watch.titles() == watch.titles("pager.jsonl") == ["backup is down"]
        assert watch.rounds(3) == []
        filler.unlink()
        watch.up()
        assert watch.rounds(3) == ["backup is up again"]
        assert watch.round(status=0).err == ""
    finally:
        subprocess.run(["umount", "--lazy", watch.place.state], check=True)


class Way:
    """A channel that takes everything."""

    def __init__(self, send: Callable[[Message], bool] | None = None) -> None:
        self.name, self.got = "way", list[Message]()
        self._send = send

    def send(self, message: Message) -> bool:
        if self._send is not None:
            self._send(message)
        self.got.append(message)
        return True


def down() -> Health:
    return Health("down", "it is down")


def test_without_any_memory_it_is_told_at_the_full_hour_and_not_in_every_round(tmp_path: Path) -> None:
    places = [str(tmp_path / name) for name in ("a", "b")]
    for place in places:
        Path(place).mkdir()
    way = Way()
    for minute in range(65):
        watchman = Watchman(Notebook(places), Looker())
        outcome = watchman.make_round({"x": down}, Ways({"way": way}), lambda: NOW + timedelta(minutes=minute))  # noqa: B023
        assert any("cannot keep the memory" in note for note in outcome.notes)
    assert {message.created_at.minute for message in way.got} == {0, 1, 2, 3, 4}


def test_a_watch_that_goes_on_remembers_by_itself(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    way, watchman = Way(), Watchman(Notebook([str(tmp_path / "a")], goes_on=True), Looker())
    for minute in range(20, 30):
        watchman.make_round({"x": down}, Ways({"way": way}), lambda: NOW + timedelta(minutes=minute))  # noqa: B023
    assert len(way.got) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file another user's")
def test_a_memory_that_another_user_put_there_is_not_believed(tmp_path: Path) -> None:
    own, spare = str(tmp_path / "a"), tmp_path / "b"
    forged = Notebook([str(spare)])
    forged.write({"x": Memory("red", 1.0, "down", told={"way": "red"})}, 1.0)
    assert Notebook([own, str(spare)]).read()
    os.chown(spare, 65534, 65534)
    assert Notebook([own, str(spare)]).read() == {}


def test_two_watches_at_once_tell_once(watch: Watch) -> None:
    watch.place.file("pager.sh", '#!/bin/sh\ncat >> "$OUT"\nsleep 0.5\n')
    watch.place.file("backup.pid", "999999999\n")
    both = [watch.place.start("watch", "backup") for _ in range(2)]
    ended = [process.communicate(timeout=60) for process in both]
    assert [process.returncode for process in both] == [1, 1], ended
    assert watch.titles() == watch.titles("pager.jsonl") == ["backup is down"]


def test_while_another_watch_is_at_it_this_one_looks_only(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    watch.place.file("backup.pid", "999999999\n")
    with Notebook([str(watch.memory)]).locked() as is_alone:
        assert is_alone
        usual = Notebook.locked
        monkeypatch.setattr(Notebook, "locked", lambda self: usual(self, patience=0.0))
        done = watch.round(status=1)
        assert "another watch is at it" in done.err
        assert done.out.startswith("backup down: ")
    assert watch.titles() == []
    assert watch.rounds(1) == ["backup is down"]


def test_a_watch_that_holds_the_lock_for_ever_keeps_nobody_from_telling(
    watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = Notebook.locked
    monkeypatch.setattr(Notebook, "locked", lambda self: usual(self, patience=0.0))
    watch.place.file("backup.pid", "999999999\n")
    lock = watch.memory.with_name("watch.lock")
    with Notebook([str(watch.memory)]).locked():
        begun = lock.stat().st_mtime
        os.utime(lock, (begun, begun - STUCK + 60))
        assert "another watch is at it" in watch.round(status=1).err
        os.utime(lock, (begun, begun - STUCK))
        done = watch.round(status=1)
        assert f"another watch has held {lock} for over 10 min" in done.err
        assert watch.rounds(3) == []
        with Notebook([str(next(watch.spare.glob("*.lock")).with_suffix(""))]).locked():
            assert "another watch is at it" in watch.round(status=1).err
    assert watch.titles() == ["backup is down"]
    assert watch.round(status=1).err == ""
    assert lock.stat().st_mtime >= begun


def test_a_lock_of_the_future_is_waited_for_from_now_on(tmp_path: Path) -> None:
    notebook, lock = Notebook([str(tmp_path / "watch")]), tmp_path / "watch.lock"
    with notebook.locked():
        ahead = lock.stat().st_mtime + 86_400
        os.utime(lock, (ahead, ahead))
        with notebook.locked(patience=0.0) as is_alone:
            assert not is_alone
        assert lock.stat().st_mtime < ahead - 80_000


@pytest.mark.parametrize(
    ("damage", "lost"),
    [
        (['{"at":"zzz"}'], "1 line of"),
        (['{"at":"2026-06-10T08:00:00"}', '{"at":5}', "[]"], "3 lines of"),
        (['{"at":"0001-01-01T00:00:00+14:00"}', '{"at":"9999-12-31T23:59:59Z"}', "[" * 50_000], "3 lines of"),
    ],
)
def test_what_is_damaged_of_the_history_is_left_out_and_counted(watch: Watch, damage: list[str], lost: str) -> None:
    watch.place.file("backup.pid", "999999999\n")
    watch.round()
    log = watch.memory.with_name("watch.log")
    log.write_text("\n".join([*damage, log.read_text(), ""]).replace("\n\n", "\n"))
    done = watch.place.call("watch", "--history")
    assert (done.status, done.out.count("\n")) == (0, 1)
    assert "backup is down since" in done.out
    assert f"cannot use {lost} {log}: " in done.err
    (note,) = watch.place.data("watch", "--history")["notes"]
    assert lost in note


def test_the_history_keeps_the_latest(tmp_path: Path) -> None:
    notebook = Notebook([str(tmp_path / "watch")])
    for first in range(0, KEPT + 5, 41):
        notebook.log([{"at": "2026-06-10T08:00:00Z", "number": first + number} for number in range(41)])
    with (tmp_path / "watch.log").open("a") as log:
        log.write('torn {"at"\n7\n')
    assert [entry["number"] for entry in notebook.history()] == list(range(5, KEPT + 5))


def test_what_the_supervisor_had_told_already_is_not_told_again(watch: Watch) -> None:
    notebook = Notebook([str(watch.memory)])
    watch.up()
    take_note(notebook, "backup", ["diary", "pager"], watch.now)
    assert not watch.memory.exists()
    watch.round()
    watch.down()
    take_note(notebook, "backup", ["diary"], watch.now + timedelta(seconds=30))
    watch.round()
    watch.round()
    assert (watch.titles(), watch.titles("pager.jsonl")) == ([], ["backup is down"])
    watch.up()
    watch.round()
    watch.round()
    assert watch.titles() == ["backup is up again"]


def test_a_second_round_by_hand_says_why_it_tells_nobody(watch: Watch) -> None:
    watch.up()
    watch.round(status=0)
    watch.down()
    assert "\n  it looks not well in 1 of 2 rounds, so nobody is told yet\n" in watch.round(status=1).out
    same = watch.round(status=1, after=timedelta(seconds=2)).out
    assert "yet; this one came within 5 s of the last, and counts as the same\n" in same
    assert "told diary, pager: backup is down" in watch.round(status=1, after=timedelta(seconds=6)).out


def test_what_comes_and_goes_is_said_to_be_held_and_is_told_for_sure_when_that_is_over(watch: Watch) -> None:
    watch.up()
    watch.round()
    began = watch.now
    for _ in range(2):
        watch.down()
        watch.rounds()
        watch.up()
        watch.rounds()
    watch.down()
    assert watch.rounds() == ["backup is down"]
    assert "It comes and goes: it is not called up again before " in watch.messages()[-1]["body"]
    watch.up()
    assert watch.rounds() == []
    until = began + timedelta(minutes=4, hours=1)  # the oldest of the latest four changes, and an hour
    clock = until.astimezone(ZoneInfo("Europe/Berlin")).strftime("%H:%M")
    assert f"it came and went 4 times within an hour, so not called up before {clock}" in watch.round().out
    assert f"backup comes and goes: not called up before {clock}" in watch.place.call("watch", "--history").out
    (held,) = watch.place.data("watch", "--history")["held"]
    assert held["target"] == "backup"
    assert abs(datetime.fromisoformat(held["not_up_before"]) - until) < timedelta(seconds=1)
    watch.now += timedelta(seconds=3)
    assert watch.place.data("watch", "backup")["targets"][0]["not_up_before"] == held["not_up_before"]
    watch.now = until + timedelta(seconds=1) - timedelta(minutes=1)
    assert watch.rounds(1) == ["backup is up again"]
    assert watch.place.data("watch", "--history")["held"] == []


def test_what_was_up_and_is_taken_away_is_told_never(watch: Watch) -> None:
    watch.place.configure(CONFIG + 'home = "{home}/backup"\n')
    (watch.place.folder / "backup").mkdir()
    watch.up()
    assert watch.round(status=0).out.startswith(UP)
    watch.down()
    (watch.place.folder / "backup.pid").unlink()
    (watch.place.folder / "backup").rmdir()
    assert watch.rounds(3) == []
    assert watch.round(status=0).out.startswith("backup absent: ")


# What breaks, breaks alone


def test_a_fault_in_a_channel_costs_that_channel(watch: Watch) -> None:
    watch.place.configure(CONFIG.replace('command = ["./pager.sh"]\n', ""))
    watch.place.file("backup.pid", "999999999\n")
    done = watch.round(status=4)
    assert "channels.pager" in done.err
    assert watch.titles() == ["backup is down"]


def test_a_configuration_that_cannot_be_read_is_said_and_heartbeat_is_looked_at_all_the_same(watch: Watch) -> None:
    (watch.place.state).mkdir()
    watch.place.file("state/starts.log", "1.0\n")
    watch.place.configure("[channels")
    done = watch.round("heartbeat", status=4)
    assert done.out.startswith("heartbeat down: ")
    assert "config.toml" in done.err
    assert "the configuration names no way to you (of its faults)" in done.err
    watch.place.configure(CONFIG)
    assert watch.round("heartbeat", status=1).out.count("told diary, pager: heartbeat is down") == 1


def test_a_target_that_a_broken_configuration_does_not_name_is_no_news(watch: Watch) -> None:
    watch.up()
    watch.round(status=0)
    watch.place.configure("[channels")
    for _ in range(3):
        assert watch.round(status=4).out == "\n"
    watch.place.configure(CONFIG)
    assert watch.rounds(3) == []
    assert watch.place.data("watch", "--history")["transitions"] == []


def test_a_target_that_hangs_or_breaks_the_probe_costs_only_itself() -> None:
    over, begun = threading.Event(), []

    def hangs() -> Health:
        begun.append(1)
        over.wait(30)
        return Health("up", "late")

    def breaks() -> Health:
        raise ZeroDivisionError("by zero")

    looker = Looker(seconds=0.1)
    for _ in range(3):
        found = looker.look({"a": hangs, "b": lambda: Health("up", "well"), "c": breaks})
        assert [found[name].state for name in "abc"] == ["stalled", "up", "stalled"]
    assert len(begun) == 1
    assert "no answer within 0.1 s" in found["a"].problems[0][1]
    assert "ZeroDivisionError: by zero" in found["c"].problems[0][1]
    over.set()


def message(channel: str, number: int = 0) -> Message:
    kind, state = MessageKind.INCIDENT, MessageState.SENDING
    return Message(f"m{channel}{number}", kind, channel, state, "t", "b", created_at=NOW, urgency=Urgency.NORMAL)


def test_a_channel_that_breaks_costs_only_its_own_messages() -> None:
    tried: list[str] = []

    def refuses(message: Message) -> bool:
        tried.append(message.id)
        raise ChannelError("it is gone", retryable=True)

    def breaks(_: Message) -> bool:
        raise RuntimeError("oops")

    ways = {"a": Way(refuses), "b": Way(), "c": Way(breaks)}
    errors = send_all(ways, [message("a"), message("a", 1), message("b"), message("c")])
    assert errors == {"ma0": "it is gone", "ma1": "it is gone", "mb0": "", "mc0": "RuntimeError: oops"}
    assert tried == ["ma0"]


def test_no_channel_may_take_longer_than_a_round_can_bear(place: Place) -> None:
    from heartbeat.config import read_settings

    place.configure(CONFIG.replace('path = "diary.jsonl"', 'path = "diary.jsonl"\ntimeout = "24h"'))
    settings = read_settings(place.folder / "config.toml").settings
    assert bounded(settings).channels["diary"].timeout == LONGEST
    assert bounded(settings).channels["pager"].timeout == min(LONGEST, settings.channels["pager"].timeout)


# The verb


def test_each_round_is_a_line_for_programs_too(watch: Watch) -> None:
    watch.up()
    data = watch.place.data("watch", "backup")
    assert (data["told"], data["held_until"], data["notes"]) == ([], None, [])
    (target,) = data["targets"]
    assert (target["target"], target["state"], target["colour"]) == ("backup", target["state"], "green")


def test_all_targets_are_looked_at_unless_some_are_named(watch: Watch) -> None:
    watch.up()
    names = [each["target"] for each in watch.place.data("watch")["targets"]]
    assert names == ["heartbeat", "backup"]
    assert [each["target"] for each in watch.place.data("watch", "heartbeat", "heartbeat")["targets"]] == ["heartbeat"]


def test_a_target_that_is_not_known_is_said_with_those_that_are(watch: Watch) -> None:
    assert "known: heartbeat, backup" in watch.place.error("watch", "bakup", status=3)
    assert watch.place.error("watch", "bakup", "--every", "1m", status=3)
    assert watch.memory.exists() is False


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--every", "1s"), "write 5s to 1d"),
        (("--every", "2d"), "write 5s to 1d"),
        (("--every", "soon"), "write numbers with units"),
        (("--every", "1m", "--once"), "cannot be given with --once"),
    ],
)
def test_an_interval_is_checked(place: Place, words: tuple[str, ...], said: str) -> None:
    done = place.call("watch", *words)
    assert (done.status, said in done.err) == (2, True)


def test_nothing_has_changed_yet_where_no_watch_was(place: Place) -> None:
    assert place.call("watch", "--history").out == "nothing has changed yet\n"
    assert place.data("watch", "--history") == {"transitions": [], "held": [], "notes": []}


def test_in_the_foreground_it_goes_on_until_it_is_asked_to_end(watch: Watch) -> None:
    watch.place.file("backup.pid", "999999999\n")
    process = watch.place.start("watch", "backup", "--every", "5s")
    try:
        wait_for(watch.place.folder / "pager.jsonl")
        until(lambda: watch.titles("pager.jsonl"))
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert (process.returncode, err) == (0, b"")
    assert out.startswith(b"backup down: ")
    assert b"told diary, pager: backup is down since" in out


# Words


BEGAN = datetime(2026, 6, 10, 5, 12, tzinfo=UTC).timestamp()
RED = Memory("red", BEGAN, "down")
GREEN = Memory("green", BEGAN + 720, "degraded", before=BEGAN, was="stalled")


def test_a_message_that_it_is_down_can_be_acted_on_from_bed() -> None:
    problems = (
        ("not_running", "no process holds the lock"),
        ("restarter", "x.timer restarts it: `rm x`\x1b[2J\nforged"),
    )
    matter = Matter("heartbeat", RED, Health("down", "heartbeat is down", problems=problems))
    title, body = words(matter, NOW, Manner(call="heartbeat --home /h {}".format))
    assert title == "heartbeat is down since 05:12"
    assert body.splitlines() == [
        "heartbeat is down since 05:12, for 2 h.",
        "",
        "Why:",
        "- no process holds the lock (not_running)",
        "- x.timer restarts it: `rm x` [2J forged (restarter)",
        "",
        "What to do:",
        "- `heartbeat --home /h start` starts it",
        "- `heartbeat --home /h logs` shows what it said last",
        "- `heartbeat --home /h doctor` looks for what is wrong on this machine",
    ]


def test_a_message_that_it_is_up_says_for_how_long_it_was_not() -> None:
    up = Matter("heartbeat", GREEN, Health("degraded", "heartbeat is up, 3 jobs, 1 problem"))
    assert words(up, NOW, Manner()) == (
        "heartbeat is up again after 12 min",
        "It was stalled from 05:12 to 05:24. Now: heartbeat is up, 3 jobs, 1 problem.",
    )
    gone = Matter("hermes", GREEN, Health("absent", "it is not installed"))
    assert words(gone, NOW, Manner())[0] == "hermes is not installed any more; it was stalled for 12 min"


def test_instants_are_told_where_the_owner_is_and_commands_are_those_of_this_installation() -> None:
    def elsewhere(text: str) -> str:
        return text.replace("heartbeat start", "heartbeat start --system")

    problems = (("ended_stopped", "its last life ended 2026-06-10T05:11:59Z: x; start it with `heartbeat start`"),)
    matter = Matter("heartbeat", RED, Health("down", "heartbeat is down", problems=problems))
    _, body = words(matter, NOW, Manner(ZoneInfo("Europe/Berlin"), address=elsewhere))
    assert "- its last life ended 07:11: x; start it with `heartbeat start --system` (ended_stopped)" in body
    wall = (("x", "ended 2026-06-09 22:11:59 -0700"),)
    ours = Matter("heartbeat", RED, Health("down", "heartbeat is down", problems=wall))
    assert "- ended 07:11 (x)" in words(ours, NOW, Manner(ZoneInfo("Europe/Berlin")))[1]
    other = Matter("backup", RED, Health("down", "backup is down", problems=problems))
    assert "`heartbeat start` (ended_stopped)" in words(other, NOW, Manner(address=elsewhere))[1]


def test_a_stop_that_was_asked_for_may_have_been_meant() -> None:
    asked = "its last life ended 2026-06-10T05:11:59Z: `heartbeat stop` by ann at a terminal"
    for told, is_meant in ((asked, True), ("its last life ended 2026-06-10T05:11:59Z: SIGTERM", False)):
        health = Health("down", "heartbeat is down", problems=(("ended_stopped", told),))
        body = words(Matter("heartbeat", RED, health), NOW, Manner())[1]
        assert ("- nothing, if that was meant\n" in body) is is_meant


@pytest.mark.parametrize(
    ("state", "remedies"),
    [
        ("down", ["install", "run --detach", "doctor"]),
        ("flapping", ["health", "doctor"]),
        ("stalled", ["stop", "doctor"]),
    ],
)
def test_where_no_supervisor_keeps_it_no_verb_of_the_service_is_recommended(state: str, remedies: list[str]) -> None:
    _, body = words(Matter("heartbeat", RED, Health(state, "x")), NOW, Manner(is_service=False))
    assert re.findall("^- `heartbeat (.+?)`", body, re.MULTILINE) == remedies


@pytest.mark.parametrize(("manager", "verb"), [("", "install"), ("none", "install"), ("systemd", "start")])
def test_how_it_is_kept_is_read_from_its_marker(watch: Watch, manager: str, verb: str) -> None:
    watch.place.state.mkdir(mode=0o700)
    watch.place.file("state/starts.log", "1.0\n")
    if manager:
        write_marker(watch.place.state / "service", Marker(manager, "heartbeat", "user"))
    watch.round("heartbeat", status=1)
    ((first, *_),) = [re.findall("^- `heartbeat --home .* ([a-z]+)`", watch.messages()[0]["body"], re.MULTILINE)]
    assert first == verb


def test_who_came_and_went_is_told_to_stay_silent_for_a_while() -> None:
    changes = tuple((NOW - timedelta(minutes=minutes)).timestamp() for minutes in (50, 40, 30, 20))
    body = words(Matter("backup", replace(RED, changes=changes), Health("down", "x")), NOW, Manner())[1]
    until = (NOW + timedelta(minutes=10)).strftime("%H:%M")
    assert body.endswith(f"\n\nIt comes and goes: it is not called up again before {until}.")


def test_a_memory_with_instants_that_no_calendar_has_is_told_all_the_same() -> None:
    matter = Matter("heartbeat", Memory("red", 1e300, "down"), Health("down", "heartbeat is down"))
    assert words(matter, NOW, Manner())[0].startswith("heartbeat is down since 1970")


# heartbeat itself


def test_a_daemon_that_is_killed_is_told_once_and_that_it_is_up_again_once(watch: Watch) -> None:
    def started() -> subprocess.Popen[bytes]:
        process = watch.place.start("run")
        until(lambda: watch.place.data("health")["last_beat_at"] and watch.place.data("health")["pid"] == process.pid)
        return process

    def ended(process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.communicate()

    daemon = started()
    try:
        assert watch.round("heartbeat", status=0).out.startswith(("heartbeat up: ", "heartbeat degraded: "))
        ended(daemon)
        for _ in range(3):
            watch.round("heartbeat", status=1)
        assert watch.titles() == watch.titles("pager.jsonl") == ["heartbeat is down"]
        daemon = started()
        for _ in range(3):
            watch.round("heartbeat", status=0)
        assert watch.titles() == watch.titles("pager.jsonl")
        assert watch.titles() == ["heartbeat is down", "heartbeat is up again"]
    finally:
        ended(daemon)
