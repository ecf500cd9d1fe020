"""Evidence on disk and what it proves: never more than is there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat import probe
from heartbeat.lock import KernelLock
from heartbeat.paths import Home
from heartbeat.probe import Evidence, Health, examine, gather, judge_health
from heartbeat.process import owner
from heartbeat.pulse import Pulse, log_start, write_pulse

MONOTONIC, NOW = 5_000.0, 1_780_000_000.0
OWNER = "321:7777"
FAULT = ("starts_unreadable", "cannot read starts.log: no")
INCIDENT = ("source_failed", "source:vip-mail/imap: no answer")


def pulse(**fields: Any) -> Pulse:
    usual: dict[str, Any] = {
        "owner": OWNER,
        "monotonic": MONOTONIC - 5,
        "started_monotonic": MONOTONIC - 100,
        "started_at": "2026-06-10T07:58:20.000000Z",
        "written_at": "2026-06-10T07:59:55.000000Z",
        "last_beat_at": "2026-06-10T07:59:55.000000Z",
        "next_due_at": "",
        "jobs": 3,
        "version": "0.1.0",
    }
    return Pulse(**usual | fields)


def evidence(**fields: Any) -> Evidence:
    usual: dict[str, Any] = {"starts": (NOW - 100,), "holder": OWNER, "pulse": pulse(), "was_started": True}
    return Evidence(**usual | fields)


def judge(found: Evidence) -> Health:
    return judge_health(found, monotonic=MONOTONIC, now=NOW)


def codes(health: Health) -> list[str]:
    return [code for code, _ in health.problems]


NAN, INF = float("nan"), float("inf")
TABLE = [
    # Nobody holds the lock
    ("nothing at all", Evidence(), "absent", []),
    ("only the marks of a start", Evidence(was_started=True), "down", ["not_running"]),
    ("a start long ago", Evidence(starts=(NOW - 90_000,)), "down", ["not_running"]),
    ("a start in the future", Evidence(starts=(NOW + 90_000,)), "down", ["not_running"]),
    ("a fresh pulse without a lock", Evidence(pulse=pulse()), "down", ["not_running"]),
    ("a fresh pulse, a start, no lock", evidence(holder=None), "down", ["not_running"]),
    (
        "a pulse with problems, no lock",
        evidence(holder=None, pulse=pulse(problems=(INCIDENT,))),
        "down",
        ["not_running"],
    ),
    ("an old pulse, no lock", evidence(holder=None, pulse=pulse(monotonic=1.0)), "down", ["not_running"]),
    ("unreadable evidence alone", Evidence(faults=(FAULT,)), "down", ["not_running", "starts_unreadable"]),
    ("unreadable, no lock", evidence(holder=None, faults=(FAULT,)), "down", ["not_running", "starts_unreadable"]),
    # Somebody holds the lock
    ("a lock, no pulse", evidence(pulse=None), "stalled", ["pulse_missing"]),
    ("a lock and nothing else", Evidence(holder=OWNER), "stalled", ["pulse_missing"]),
    ("a nameless lock, no pulse", evidence(holder="", pulse=None), "stalled", ["pulse_missing"]),
    ("a nameless lock, a pulse", evidence(holder=""), "stalled", ["pulse_foreign"]),
    ("a nameless lock, a nameless pulse", evidence(holder="", pulse=pulse(owner="")), "stalled", ["pulse_foreign"]),
    ("another process's pulse", evidence(holder="999:1"), "stalled", ["pulse_foreign"]),
    ("the same pid, started at another time", evidence(holder="321:7778"), "stalled", ["pulse_foreign"]),
    ("a holder that begins alike", evidence(holder=OWNER + "7"), "stalled", ["pulse_foreign"]),
    ("a pulse 46 s old", evidence(pulse=pulse(monotonic=MONOTONIC - 46)), "stalled", ["pulse_stale"]),
    ("a pulse just too old", evidence(pulse=pulse(monotonic=MONOTONIC - 45.001)), "stalled", ["pulse_stale"]),
    ("a pulse of yesterday", evidence(pulse=pulse(monotonic=0.0)), "stalled", ["pulse_stale"]),
    ("a pulse from the future", evidence(pulse=pulse(monotonic=MONOTONIC + 0.001)), "stalled", ["pulse_future"]),
    ("a pulse of the day after", evidence(pulse=pulse(monotonic=MONOTONIC + 86_400)), "stalled", ["pulse_future"]),
    ("a pulse at no time", evidence(pulse=pulse(monotonic=NAN)), "stalled", ["pulse_stale"]),
    ("a pulse at the end of time", evidence(pulse=pulse(monotonic=INF)), "stalled", ["pulse_future"]),
    ("a pulse before all time", evidence(pulse=pulse(monotonic=-INF)), "stalled", ["pulse_stale"]),
    (
        "an old pulse with problems",
        evidence(pulse=pulse(monotonic=1.0, problems=(INCIDENT,))),
        "stalled",
        ["pulse_stale"],
    ),
    (
        "an old pulse and a fault",
        evidence(pulse=pulse(monotonic=1.0), faults=(FAULT,)),
        "stalled",
        ["pulse_stale", "starts_unreadable"],
    ),
    (
        "an unreadable pulse",
        evidence(pulse=None, faults=(("pulse_unreadable", "x"),)),
        "stalled",
        ["pulse_missing", "pulse_unreadable"],
    ),
    # The lock names a process that is gone
    ("a stranger's lock, a fresh pulse", evidence(holder_alive=False), "stalled", ["lock_stranger"]),
    ("a stranger's lock, no pulse", evidence(holder_alive=False, pulse=None), "stalled", ["lock_stranger"]),
    (
        "a stranger's lock, a pulse with problems, a fault",
        evidence(holder_alive=False, pulse=pulse(problems=(INCIDENT,)), faults=(FAULT,)),
        "stalled",
        ["lock_stranger", "starts_unreadable"],
    ),
    # It beats
    ("all well", evidence(), "up", []),
    ("a pulse of this instant", evidence(pulse=pulse(monotonic=MONOTONIC)), "up", []),
    ("a pulse at the limit", evidence(pulse=pulse(monotonic=MONOTONIC - 45)), "up", []),
    ("no starts in the log", evidence(starts=()), "up", []),
    ("one incident", evidence(pulse=pulse(problems=(INCIDENT,))), "degraded", ["source_failed"]),
    ("two incidents", evidence(pulse=pulse(problems=(INCIDENT, INCIDENT))), "degraded", ["source_failed"] * 2),
    ("unreadable starts", evidence(faults=(FAULT,)), "degraded", ["starts_unreadable"]),
    (
        "both",
        evidence(pulse=pulse(problems=(INCIDENT,)), faults=(FAULT,)),
        "degraded",
        ["source_failed", "starts_unreadable"],
    ),
]


@pytest.mark.parametrize(("found", "state", "problems"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_state_is_what_the_evidence_proves(found: Evidence, state: str, problems: list[str]) -> None:
    health = judge(found)
    assert health.state == state
    assert codes(health) == problems
    assert health.is_live == (state in {"up", "degraded", "absent"})
    assert health.pid == (int(found.holder.split(":")[0]) if found.holder and found.holder_alive else None)
    assert all("\n" not in message and message for _, message in health.problems)


def test_the_facts_of_a_beating_daemon_are_shown() -> None:
    health = judge(evidence())
    assert (health.pid, health.uptime_seconds, health.last_beat_at) == (321, 100.0, "2026-06-10T07:59:55.000000Z")
    assert health.summary == "heartbeat is up, 3 jobs"
    assert judge(evidence(pulse=pulse(jobs=1, problems=(INCIDENT,)))).summary == "heartbeat is up, 1 job, 1 problem"


@pytest.mark.parametrize("holder", ["", "x:1", "\u00b2:1", "-3:1", ":", "\ufffd"])
def test_a_holder_without_a_pid_is_still_a_holder(holder: str) -> None:
    health = judge(evidence(holder=holder))
    assert (health.state, health.pid) == ("stalled", None)


@pytest.mark.parametrize(("ago", "counted"), [(-0.001, 0), (0, 1), (599.9, 1), (600, 1), (600.001, 0), (-3_000_000, 0)])
def test_a_start_counts_as_recent_for_ten_minutes(ago: float, counted: int) -> None:
    assert judge(evidence(starts=(NOW - ago,))).recent_starts == counted
    assert judge(evidence(starts=(NOW - ago,), holder=None)).recent_starts == counted


owners = st.sampled_from(["", OWNER, "321:7778", "4:4"])
instants = st.floats() | st.floats(MONOTONIC - 100, MONOTONIC + 100)


@given(
    st.builds(
        Evidence,
        starts=st.lists(st.floats(), max_size=3).map(tuple),
        holder=st.none() | owners,
        holder_alive=st.booleans(),
        pulse=st.none()
        | st.builds(pulse, owner=owners, monotonic=instants, problems=st.sampled_from([(), (INCIDENT,)])),
        faults=st.sampled_from([(), (FAULT,)]),
        was_started=st.booleans(),
    )
)
def test_only_a_fresh_pulse_of_the_holder_of_the_lock_is_up(found: Evidence) -> None:
    health = judge(found)
    proven = (
        found.pulse is not None
        and found.holder not in {None, ""}
        and found.holder_alive
        and found.pulse.owner == found.holder
        and MONOTONIC - 45 <= found.pulse.monotonic <= MONOTONIC
    )
    assert (health.state in {"up", "degraded"}) == proven
    assert (health.state == "absent") == (found == Evidence(holder_alive=found.holder_alive))
    assert (health.state in {"up", "absent"}) == (not health.problems)
    assert set(found.faults) <= set(health.problems)


# Real files


def home_in(folder: Path) -> Home:
    home = Home(folder, folder / "state", folder / "cache")
    home.state.mkdir()
    return home


def look(home: Home) -> Health:
    return examine(str(home.state))


@contextmanager
def daemon(home: Home) -> Iterator[subprocess.Popen[bytes]]:
    """A process of its own that holds the lock."""
    code = (
        "import sys, time; from heartbeat.lock import KernelLock; from heartbeat.process import owner\n"
        "assert KernelLock(sys.argv[1]).acquire(owner(), patience=20)\n"
        "print('held', flush=True); time.sleep(600)"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(home.lock_file)], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        yield child
    finally:
        child.kill()
        child.communicate()


def beat(home: Home, **fields: Any) -> None:
    """Write a pulse of this moment, in the name of the lock's holder."""
    here, holder = time.monotonic(), home.lock_file.read_text()
    usual = {"owner": holder, "monotonic": here, "started_monotonic": max(0.0, here - 9)}
    write_pulse(home.pulse_file, pulse(**usual | fields))


def test_a_missing_folder_is_absent(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    health = look(Home(gone, gone / "state", gone / "cache"))
    assert (health.state, health.problems) == ("absent", ())
    assert list(tmp_path.iterdir()) == []


def test_an_empty_home_was_never_started(tmp_path: Path) -> None:
    assert look(home_in(tmp_path)).state == "absent"


@pytest.mark.parametrize("name", ["starts_file", "lock_file", "pulse_file"])
@pytest.mark.parametrize("content", [b"", b"garbage", b"\0" * 5000, b"\xff\xfe{}", b"[" * 100_000, b"{}", b"end\n"])
def test_a_file_of_a_start_whatever_it_holds_is_no_proof_of_absence_or_life(
    tmp_path: Path, name: str, content: bytes
) -> None:
    home = home_in(tmp_path)
    getattr(home, name).write_bytes(content)
    assert look(home).state == "down"


def test_a_file_where_the_folder_should_be_is_down_with_its_reasons(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("not a folder")
    health = look(Home(tmp_path, tmp_path / "state", tmp_path / "cache"))
    assert (health.state, codes(health)) == (
        "down",
        ["not_running", "starts_unreadable", "lock_unreadable", "pulse_unreadable"],
    )


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_a_folder_or_a_pipe_in_place_of_each_file_blocks_nothing_and_proves_nothing(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    home = home_in(tmp_path)
    for path in (home.starts_file, home.lock_file, home.pulse_file):
        make(path)
    health = look(home)
    assert health.state == "down"
    assert "pulse_unreadable" in codes(health)


def test_a_pulse_beside_a_held_lock_is_up_until_its_daemon_is_killed(tmp_path: Path) -> None:
    home = home_in(tmp_path)
    log_start(home.starts_file, time.time())
    with daemon(home) as child:
        assert look(home).state == "stalled"
        beat(home)
        health = look(home)
        assert (health.state, health.pid, health.recent_starts) == ("up", child.pid, 1)
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert look(home).state == "down"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "pulse_unreadable"),
        (b"\xff\n", "pulse_unreadable"),
        (b"end\n", "pulse_unreadable"),
        (b"owner\t321:7777\nend\n", "pulse_unreadable"),
        (b'{"owner": "321:7777"}', "pulse_unreadable"),
    ],
)
def test_a_malformed_pulse_beside_a_held_lock_is_stalled(tmp_path: Path, content: bytes, expected: str) -> None:
    home = home_in(tmp_path)
    with daemon(home):
        home.pulse_file.write_bytes(content)
        health = look(home)
    assert (health.state, codes(health)) == ("stalled", ["pulse_missing", expected])


@contextmanager
def held_by_a_stranger(home: Home) -> Iterator[None]:
    """Another program holds the lock, and leaves what is written in it."""
    code = (
        "import fcntl, sys, time\n"
        "file = open(sys.argv[1]); fcntl.flock(file, fcntl.LOCK_EX); print('held', flush=True); time.sleep(600)"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(home.lock_file)], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        yield
    finally:
        child.kill()
        child.communicate()


@pytest.mark.parametrize("waited_for", [True, False])
def test_a_stranger_that_takes_the_lock_of_a_killed_daemon_does_not_pass_for_it(
    tmp_path: Path, waited_for: bool
) -> None:
    home = home_in(tmp_path)
    with daemon(home) as child:
        beat(home)
        assert look(home).state == "up"
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        if waited_for:
            child.wait()
        with held_by_a_stranger(home):
            health = look(home)
            said = subprocess.run(
                [sys.executable, "-m", "heartbeat", "--home", str(tmp_path), "run"],
                capture_output=True,
                check=False,
                text=True,
            )
    assert (health.state, health.pid, codes(health)) == ("stalled", None, ["lock_stranger"])
    message = f"another program holds {home.lock_file}; `fuser {home.lock_file}` names it"
    assert health.problems[0][1] == message
    assert (said.returncode, message in said.stderr) == (5, True)


def own_name(change: str = "") -> str:
    pid, _, start = owner().partition(":")
    return f"{pid}:{change}{start}"


@pytest.mark.parametrize(
    ("holder", "alive"),
    [
        (own_name(), True),
        (own_name(change="1"), False),
        (f"{os.getpid()}:", False),
        ("999999999:1", False),
        ("9" * 30 + ":1", False),
        ("9" * 4096, False),
        ("0:0", False),
        ("any words", False),
        ("", True),  # a daemon that has not written yet, or a stranger: the pulse decides
    ],
    # Without its pid, which differs in each process of a parallel run.
    ids=["ours", "started at another time", "no start", "no such pid", "long", "longer", "zero", "words", "empty"],
)
def test_the_holder_lives_when_the_process_it_names_does(tmp_path: Path, holder: str, alive: bool) -> None:
    home = home_in(tmp_path)
    home.lock_file.write_text(holder)
    with held_by_a_stranger(home):
        assert gather(str(home.state)).holder_alive == alive


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_holder_of_another_user_that_we_may_not_signal_lives(tmp_path: Path) -> None:
    home = home_in(tmp_path)
    with daemon(home):
        beat(home)
        found = gather(str(home.state))
        assert found.holder
        os.seteuid(65534)
        try:
            assert probe._is_alive(found.holder)
        finally:
            os.seteuid(0)


def test_another_daemons_pulse_beside_a_held_lock_is_stalled(tmp_path: Path) -> None:
    home = home_in(tmp_path)
    with daemon(home):
        beat(home, owner="1:1")
        assert codes(look(home)) == ["pulse_foreign"]


def test_a_start_log_that_cannot_be_read_degrades_a_daemon_that_beats(tmp_path: Path) -> None:
    home = home_in(tmp_path)
    home.starts_file.mkdir()
    with daemon(home):
        beat(home)
        health = look(home)
    assert (health.state, codes(health)) == ("degraded", ["starts_unreadable"])


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in [folder, *sorted(folder.rglob("*"))]
    }


def test_the_probe_writes_nothing_and_takes_no_time(tmp_path: Path) -> None:
    home = home_in(tmp_path)
    log_start(home.starts_file, time.time())
    with daemon(home):
        beat(home)
        before = snapshot(tmp_path)
        took = []
        for _ in range(5):
            begun = time.monotonic()
            gather(str(home.state))
            look(home)
            took.append(time.monotonic() - begun)
        assert snapshot(tmp_path) == before
    assert min(took) < 0.2


def test_a_probe_does_not_hold_the_lock_afterwards(tmp_path: Path) -> None:
    home = home_in(tmp_path)
    home.lock_file.touch()
    look(home)
    lock = KernelLock(home.lock_file)
    assert lock.acquire(OWNER, patience=0)
    lock.release()


def test_the_probe_loads_no_library_beyond_the_standard_one(tmp_path: Path) -> None:
    code = (
        "import sys; before = set(sys.modules)\n"
        "from heartbeat.folders import find_folders; from heartbeat.probe import examine\n"
        f"print(examine(find_folders({str(tmp_path / 'home')!r}, {{}})[1]).state)\n"
        "names = {name.split('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(names - set(sys.stdlib_module_names) - {'heartbeat'}))\n"
        "print(sorted(names & {'asyncio', 'dataclasses', 'json', 'logging', 'pathlib', 'socket', 'sqlite3'}))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert said.splitlines() == ["absent", "[]", "[]"]
