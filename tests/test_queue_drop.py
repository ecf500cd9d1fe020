"""Files dropped into the queue folder: each is taken in once or set aside with its reason, whoever is killed."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from heartbeat.errors import LedgerCorrupt, LedgerError
from heartbeat.paths import Home, find_home
from heartbeat.queue import drop, files
from heartbeat.queue.drop import GRACE, Taken, bring_in
from heartbeat.queue.refused import OWN, STUCK_AFTER, lying, stuck
from heartbeat.stores.sqlite import SqliteLedger, open_ledger
from tests.conftest import NOW, Place, at, wait_for

OLD = NOW.timestamp() - 3600
GOOD = {"message": "Call the garage", "due": "2026-06-10T10:00:00+02:00"}


class Folder:
    """A queue folder, and a ledger it is taken into."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.path = home.config / "queue"
        self.path.mkdir()
        self.refused = self.path / "refused"
        self.ledger: SqliteLedger = open_ledger(home.ledger_file)
        self.now = NOW

    def drop(self, name: str, content: object, mtime: float = OLD) -> Path:
        """A file as a program leaves it; text as it is, anything else as JSON."""
        path = self.path / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        os.utime(path, (mtime, mtime))
        return path

    def take_in(self) -> Taken:
        return bring_in(self.home, self.ledger, lambda: ZoneInfo("Europe/Berlin"), self.now)

    @property
    def messages(self) -> list[str]:
        return [item.message for item in self.ledger.queue(NOW)]

    @property
    def names(self) -> list[str]:
        return sorted(path.name for path in self.path.iterdir() if path.name != "refused")

    def reason(self, name: str = "a.json") -> str:
        """Why the file of that name, which must lie there, was refused."""
        assert os.path.lexists(self.refused / name)
        text = (self.refused / f"{name}.reason").read_text()
        assert text.startswith(f"cannot take in {name!r}: ")
        return text


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    (tmp_path / "home").mkdir(mode=0o700)
    made = Folder(find_home(str(tmp_path / "home"), {}))
    yield made
    made.ledger.close()


def test_a_file_is_taken_in_and_removed(folder: Folder) -> None:
    full = {**GOOD, "key": "k", "source": "phone", "urgency": "high", "until": "2026-06-10T09:00:00Z"}
    folder.drop("a.json", full)
    assert folder.take_in() == Taken(items=1)
    (item,) = folder.ledger.queue(NOW)
    assert (item.key, item.message, item.due_at, item.until) == ("k", GOOD["message"], NOW, at(60))
    assert (item.source, item.urgency) == ("phone", "high")
    assert folder.names == []


def test_a_file_holds_one_item_or_an_array_of_them(folder: Folder) -> None:
    folder.drop("a.json", [{**GOOD, "message": "one"}, {**GOOD, "message": "two"}])
    folder.drop("b.json", {"message": "three", "schedule": "weekdays at 9"})
    folder.drop("c.json", b"\xef\xbb\xbf" + json.dumps({"message": "four", "every": "3d"}).encode())
    folder.drop("d.json", [])
    assert folder.take_in() == Taken(items=4)
    assert sorted(folder.messages) == ["four", "one", "three", "two"]
    assert folder.names == []


@pytest.mark.parametrize("name", [".a.json", "a.json.tmp", "a.tmp", "a.txt", "a.json~", "json"])
def test_what_is_not_meant_for_us_is_left_alone(folder: Folder, name: str) -> None:
    folder.drop(name, GOOD)
    assert folder.take_in() == Taken()
    assert (folder.names, folder.messages) == ([name], [])


def test_without_a_folder_nothing_is_made(folder: Folder) -> None:
    folder.path.rmdir()
    assert folder.take_in() == Taken()
    assert not folder.path.exists()
    folder.path.write_text("a file in its place")
    assert folder.take_in() == Taken()


def test_the_same_words_twice_are_one_item_and_other_words_another(folder: Folder) -> None:
    for number in range(3):
        folder.drop(f"{number}.json", GOOD)
        folder.take_in()
    assert len(folder.messages) == 1
    for change in ({"message": "x"}, {"due": "2026-06-10T10:01:00+02:00"}, {"source": "x"}, {"urgency": "low"}):
        folder.drop("a.json", {**GOOD, **change})
        folder.take_in()
    assert len(folder.messages) == 5


def test_a_later_file_with_the_same_key_changes_the_item(folder: Folder) -> None:
    folder.drop("z.json", {**GOOD, "key": "k", "message": "first"}, OLD)
    folder.drop("a.json", {**GOOD, "key": "k", "message": "second"}, OLD + 1)
    folder.take_in()
    assert folder.messages == ["second"]


# Refused


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"null", "cannot use null as an item"),
        (b"7", "cannot use the number 7 as an item"),
        (b'"x"', "cannot use the text 'x' as an item"),
        (b"NaN", "not JSON"),
        (b'{"message": "\xff"}', "it is not UTF-8"),
        (b"[" * 100_000, "levels deep"),
        (b"[" * 100_000 + b"]" * 100_000, "levels deep"),
        ({}, "its message is empty"),
        ({"message": "x"}, "it has no due instant"),
        ({**GOOD, "message": 7}, "message: cannot use 7"),
        ({**GOOD, "due": "2026-06-10T10:00"}, "write 2026-06-10T10:00:00+02:00"),
        ({**GOOD, "due": 1781078400}, "due: cannot use 1781078400"),
        ({**GOOD, "dueAt": "x"}, "cannot use the name 'dueAt'; did you mean 'due'?"),
        ({**GOOD, "urgency": "mild"}, "it is one of low, normal, high, critical"),
        ({**GOOD, "until": "2026-06-10T10:00:00+03:00"}, "lies before due"),
        ({**GOOD, "key": "a\x00b"}, "its key holds the character"),
        ({"message": "x", "every": "1d", "schedule": "daily at 9"}, "both every and schedule"),
        ({"message": "x", "schedule": "whenever"}, "schedule: cannot use 'whenever'"),
        (
            {"message": "x", "every": "1m", "due": "0001-01-01T00:00:00Z"},
            "due: cannot count from '0001-01-01T00:00:00Z'",
        ),
        (b'{"message": "x", "message": "y", "due": "2026-06-10T10:00:00Z"}', "the name 'message' stands twice"),
        (
            b'[{"message": "x", "due": "", "due": "2026-06-10T10:00:00Z"}]',
            "item 1: cannot tell which is meant: the name",
        ),
        (b'{"message": ' + b"9" * 700 + b', "due": "2026-06-10T10:00:00Z"}', "message: cannot use 9999"),
        (b'{"message": 1e999, "due": "2026-06-10T10:00:00Z"}', "message: cannot use 1e999; write a text"),
        ([GOOD, {"message": ""}], "item 2: cannot add the item: its message is empty"),
    ],
)
def test_a_bad_file_is_set_aside_with_its_reason(folder: Folder, content: object, said: str) -> None:
    file = folder.drop("a.json", content)
    before = file.read_bytes()
    assert folder.take_in().refused == 1
    assert said in folder.reason()
    assert (folder.refused / "a.json").read_bytes() == before
    assert folder.names == []
    assert lying(str(folder.path))[0] == 1
    assert folder.take_in() == Taken()


def test_the_good_items_of_a_bad_file_are_taken_in_and_not_again_when_it_comes_back(folder: Folder) -> None:
    content = [GOOD, {"message": ""}, {**GOOD, "message": "another"}]
    folder.drop("a.json", content)
    assert folder.take_in() == Taken(items=2, refused=1)
    assert "the other items were taken in (2)" in folder.reason()
    folder.ledger.cancel_item(folder.ledger.queue(NOW)[0].id, NOW)
    folder.drop("a.json", [content[0], {**GOOD, "message": "mended"}, content[2]])
    folder.take_in()
    assert [item.state for item in folder.ledger.queue(at(-1))] == ["cancelled", "waiting", "waiting"]


def test_of_many_bad_items_the_first_are_told(folder: Folder) -> None:
    folder.drop("a.json", [{}] * 13)
    folder.take_in()
    assert folder.reason().count("its message is empty") == 10
    assert "and 3 more" in folder.reason()


@pytest.mark.parametrize(("extra", "refused"), [(0, 0), (1, 1)])
def test_a_file_may_have_a_size_and_no_more(folder: Folder, extra: int, refused: int) -> None:
    content = json.dumps(GOOD).encode()
    folder.drop("a.json", content + b" " * (files.LARGEST - len(content) + extra))
    assert folder.take_in().refused == refused
    assert not refused or "it is larger than 1024 KiB" in folder.reason()


@pytest.mark.parametrize(("count", "refused"), [(1000, 0), (1001, 1)])
def test_a_file_may_hold_so_many_items_and_no_more(folder: Folder, count: int, refused: int) -> None:
    folder.drop("a.json", [{**GOOD, "message": str(number)} for number in range(count)])
    assert folder.take_in() == Taken(items=count * (not refused), refused=refused)
    assert not refused or "it holds 1001 items; at most 1000" in folder.reason()


def test_a_pass_takes_so_many_files_and_leaves_the_rest_to_the_next(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drop, "MOST_FILES", 2)
    for number in range(3):
        folder.drop(f"{number}.json", {**GOOD, "message": str(number)}, OLD + number)
    assert (folder.take_in().items, folder.names) == (2, ["2.json"])
    assert (folder.take_in().items, folder.names) == (1, [])


def test_two_refused_files_of_one_name_lie_side_by_side(folder: Folder) -> None:
    for number in range(3):
        folder.drop("a.json", {"message": "x", "due": str(number)})
        folder.take_in()
    assert sorted(path.name for path in folder.refused.glob("*.json")) == ["a-2.json", "a-3.json", "a.json"]
    assert "cannot use '2'" in (folder.refused / "a-3.json.reason").read_text()


@pytest.mark.parametrize(
    "name",
    [
        "\x1b[1m\n.json",
        "a b'\"$(x).json",
        "\udcff.json",
        "é" * 100 + ".json",
        "x" * 250 + ".json",
        "-rf.json",
        "\u202e.json",
    ],
    ids=range(7),
)
def test_a_hostile_name_is_taken_in_and_refused_like_any_other(folder: Folder, name: str) -> None:
    folder.drop(name, GOOD)
    assert folder.take_in() == Taken(items=1)
    folder.drop(name, {"message": ""})
    assert folder.take_in() == Taken(refused=1)
    (reason,) = folder.refused.glob("*.json.reason")
    assert reason.with_suffix("").exists()
    assert all(letter.isprintable() for letter in reason.name)
    assert reason.read_text().rstrip("\n").isprintable()
    assert folder.names == []


# What is no plain file


def test_a_link_is_refused_and_what_it_leads_to_is_not_touched(folder: Folder, tmp_path: Path) -> None:
    target = tmp_path / "secret.json"
    target.write_text(json.dumps(GOOD))
    (folder.path / "a.json").symlink_to(target)
    (folder.path / "b.json").symlink_to("nowhere")
    assert folder.take_in() == Taken(refused=2)
    assert "it is a link" in folder.reason()
    assert (folder.messages, target.read_text()) == ([], json.dumps(GOOD))


def test_a_pipe_a_socket_and_a_folder_are_refused_and_hang_nobody(folder: Folder) -> None:
    os.mkfifo(folder.path / "pipe.json")
    (folder.path / "folder.json").mkdir()
    (folder.path / "folder.json" / "inner.json").write_text(json.dumps(GOOD))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder.path / "s.json"))
        folder.now = datetime.fromtimestamp(time.time() + 60, NOW.tzinfo)
        assert folder.take_in() == Taken(refused=3)
    assert "it is not a file" in folder.reason("pipe.json")
    assert "it is" in folder.reason("folder.json")
    assert (folder.refused / "folder.json" / "inner.json").exists()
    assert folder.reason("s.json")


def fake_open(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Let every dropped file fail to open: as root, all of them can be."""
    real = os.open

    def fail(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if str(path).endswith(".json"):
            raise OSError(number, os.strerror(number))
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", fail)


def test_a_file_that_cannot_be_read_is_refused_when_it_stays_so(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.drop("a.json", GOOD, NOW.timestamp())
    with monkeypatch.context() as patch:
        fake_open(patch, errno.EACCES)
        assert folder.take_in() == Taken()
        folder.now = at(1)
        assert folder.take_in() == Taken(refused=1)
    assert "it cannot be read: Permission denied" in folder.reason()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_refused(folder: Folder) -> None:
    os.chown(folder.drop("a.json", GOOD), 4711, 4711)
    assert folder.take_in() == Taken(refused=1)
    assert "it belongs to another user" in folder.reason()
    os.chown(folder.path, 4711, 4711)
    os.chown(folder.drop("b.json", GOOD), 4711, 4711)
    assert folder.take_in() == Taken(items=1)


# Half written


@pytest.mark.parametrize("content", [b"", b'{"message": "Call the ga', b"[", b'{"message": "\xc3'])
@pytest.mark.parametrize(
    ("age", "waits"), [(0, True), (GRACE - 0.1, True), (GRACE, False), (-GRACE, False), (-5, True)]
)
def test_a_file_that_cannot_be_read_yet_has_time_to_become_whole(
    folder: Folder, content: bytes, age: float, waits: bool
) -> None:
    path = folder.drop("a.json", content, NOW.timestamp() - age)
    assert folder.take_in() == Taken(refused=int(not waits))
    assert path.exists() == waits
    if waits:
        folder.drop("a.json", GOOD, NOW.timestamp())
        assert folder.take_in() == Taken(items=1)


def test_a_file_that_is_wrong_is_refused_at_once(folder: Folder) -> None:
    folder.drop("a.json", {"message": ""}, NOW.timestamp())
    assert folder.take_in() == Taken(refused=1)


@pytest.mark.parametrize("how", ["renamed", "written"])
def test_a_file_that_is_replaced_while_it_is_read_is_read_as_well(
    folder: Folder, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.drop("a.json", GOOD)

    def replace(step: str) -> None:
        if step == "commit" and "second" not in folder.messages:
            other = folder.drop("a.json" if how == "written" else "other.tmp", {**GOOD, "message": "second"}, OLD + 9)
            other.replace(folder.path / "a.json")

    monkeypatch.setattr(drop, "step_hooks", [replace])
    folder.take_in()
    assert [name.startswith(OWN) for name in folder.names] == [True]
    monkeypatch.setattr(drop, "step_hooks", [])
    folder.take_in()
    assert sorted(folder.messages) == ["Call the garage", "second"]
    assert folder.names == []


def test_a_file_that_is_taken_away_meanwhile_is_no_trouble(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.drop("a.json", GOOD)
    folder.drop("b.json", {**GOOD, "message": "second"}, OLD + 1)
    monkeypatch.setattr(drop, "step_hooks", [lambda _step: (folder.path / "a.json").unlink(missing_ok=True)])
    assert folder.take_in() == Taken(items=2)
    assert folder.names == []


# What stands in the way


def failing(error: Exception) -> Any:
    def fail(*_: Any) -> Any:
        raise error

    return fail


@pytest.mark.parametrize("error", [LedgerError("the disk is full"), LedgerCorrupt("damaged")])
def test_when_the_ledger_takes_nothing_the_file_stays(
    folder: Folder, error: LedgerError, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.drop("a.json", GOOD)
    with monkeypatch.context() as patch:
        patch.setattr(folder.ledger, "enqueue_all", failing(error))
        with pytest.raises(LedgerError) as caught:
            folder.take_in()
    assert caught.value is error
    assert folder.names == ["a.json"]
    assert folder.take_in() == Taken(items=1)


def test_an_error_nobody_thought_of_is_the_fault_of_its_file_alone(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.drop("a.json", {**GOOD, "message": "bad"})
    folder.drop("b.json", GOOD, OLD + 1)
    real = folder.ledger.enqueue_all
    monkeypatch.setattr(
        folder.ledger,
        "enqueue_all",
        lambda items, now: real(items, now) if items[0].message != "bad" else failing(ZeroDivisionError("x"))(),
    )
    assert folder.take_in() == Taken(items=1, refused=1)
    assert "it cannot be entered: ZeroDivisionError" in folder.reason()


@pytest.mark.parametrize("call", ["rename", "unlink"])
def test_what_cannot_be_moved_is_a_problem_said_and_no_item_is_doubled(
    folder: Folder, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.drop("a.json", GOOD)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing(OSError(errno.EROFS, "Read-only file system")))
        for _ in range(2):
            taken = folder.take_in()
            assert taken.problem.startswith(f"cannot move 'a.json' out of {folder.path}: Read-only file system; make ")
    assert folder.take_in().problem == ""
    assert (len(folder.messages), folder.names) == (1, [])


def test_a_folder_that_cannot_be_read_is_a_problem_said(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "scandir", failing(PermissionError(errno.EACCES, "Permission denied")))
    assert "Permission denied" in folder.take_in().problem


@pytest.mark.parametrize("how", ["file", "link"])
def test_what_stands_in_place_of_the_refused_folder_is_told_and_in_no_other_files_way(folder: Folder, how: str) -> None:
    if how == "file":
        folder.refused.write_text("x")
    else:
        folder.refused.symlink_to("nowhere")
    folder.drop("a.json", {"message": ""})
    folder.drop("b.json", {"message": ""}, OLD + 1)
    folder.drop("c.json", GOOD, OLD + 2)
    for items in (1, 0):
        taken = folder.take_in()
        assert (taken.items, folder.messages) == (items, ["Call the garage"])
        said = f"cannot move 'a.json' out of {folder.path}: Not a directory; move away {folder.refused}, which must be "
        assert taken.problem == f"{said}a folder; it is tried again (and 1 more)"
    folder.refused.unlink()
    assert folder.take_in() == Taken(refused=2)
    assert "its message is empty" in folder.reason()


def test_files_that_cannot_be_moved_do_not_use_up_a_pass(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drop, "MOST_FILES", 2)
    for number in range(4):
        folder.drop(f"{number}.json", {**GOOD, "message": str(number)}, OLD + number)
    real = os.rename

    def rename(old: str, new: str) -> None:
        if old.endswith(("0.json", "1.json")):
            raise PermissionError(errno.EPERM, "Operation not permitted")
        real(old, new)

    monkeypatch.setattr(os, "rename", rename)
    taken = folder.take_in()
    assert (taken.items, folder.names) == (4, ["0.json", "1.json"])
    assert "cannot move '0.json'" in taken.problem
    assert "(and 1 more)" in taken.problem


@pytest.mark.parametrize(("age", "names"), [(STUCK_AFTER - 1, []), (STUCK_AFTER + 1, ["a.json", "b.json"])])
def test_files_that_lie_there_for_long_are_stuck(folder: Folder, age: float, names: list[str]) -> None:
    folder.drop("a.json", GOOD)  # with an old time, as a file that is moved here keeps
    folder.drop(f"{OWN}12345678-b.json", GOOD)
    folder.drop("c.tmp", GOOD)
    entered = (folder.path / "a.json").stat().st_ctime
    assert stuck(str(folder.path), datetime.fromtimestamp(entered + age, NOW.tzinfo)) == names
    assert stuck(f"{folder.path}/absent", NOW) == []


def test_only_one_process_takes_in_and_the_others_go_on(folder: Folder) -> None:
    folder.drop("a.json", GOOD)
    descriptor = os.open(folder.path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    assert folder.take_in() == Taken()
    os.close(descriptor)
    assert folder.take_in() == Taken(items=1)


# Processes


DYING = """
import os, signal, sys
from datetime import datetime
from zoneinfo import ZoneInfo
from heartbeat.paths import find_home
from heartbeat.queue import drop
from heartbeat.stores.sqlite import open_ledger

step, home = sys.argv[1], find_home(sys.argv[2], {})
drop.step_hooks.append(lambda passed: os.kill(os.getpid(), signal.SIGKILL) if passed == step else None)
drop.bring_in(home, open_ledger(home.ledger_file), lambda: ZoneInfo("UTC"), datetime.fromisoformat(sys.argv[3]))
"""


@pytest.mark.parametrize("step", ["commit", "claim"])
@pytest.mark.parametrize("content", [GOOD, [GOOD, {"message": ""}]], ids=["good", "bad"])
def test_a_taker_killed_at_any_step_loses_and_doubles_nothing(folder: Folder, step: str, content: object) -> None:
    folder.drop("a.json", content)
    for _ in range(3):
        words = [sys.executable, "-c", DYING, step, str(folder.home.config), NOW.isoformat()]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert len(folder.names) == 1
    assert folder.take_in().refused == (content is not GOOD)
    assert (folder.messages, folder.names) == (["Call the garage"], [])
    if content is not GOOD:
        assert folder.reason()


def test_a_running_daemon_takes_in_and_tells_what_is_dropped(place: Place) -> None:
    place.configure(
        '[owner]\nzone = "UTC"\n[agent]\nkind = "command"\ncommand = ["{home}/agent.sh"]\n'
        '[jobs.due-queue]\nevery = "1s"\n'
    )
    daemon = place.start("run")
    try:
        wait_for(place.state / "pulse")
        due = (datetime.now(NOW.tzinfo) - timedelta(seconds=5)).isoformat()
        draft = place.file("queue/a.json.tmp", json.dumps({"message": "Dropped", "due": due}))
        draft.rename(draft.with_suffix(""))
        place.file("queue/b.json", "no JSON")
        os.utime(place.folder / "queue/b.json", (OLD, OLD))
        wait_for(place.folder / "queue/refused/b.json")
        end = time.monotonic() + 60
        while [item["state"] for item in place.data("queue", "list")["items"]] != ["told"]:
            assert time.monotonic() < end, "it was never told"
            time.sleep(0.1)
    finally:
        daemon.send_signal(signal.SIGTERM)
        _, log = daemon.communicate(timeout=60)
    assert daemon.returncode == 0
    assert b"queue_taken_in" in log
    assert '"title": "Dropped"' in (place.folder / "prompt.txt").read_text()
    assert len(place.agent_calls) == 1
