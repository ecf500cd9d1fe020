"""Reading the evidence: the probe writes nothing, waits for nothing, and proves no more than is there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heartbeat.lock import KernelLock
from heartbeat.paths import Home
from heartbeat.probe import examine, gather
from heartbeat.probe.holder import look_at
from heartbeat.process import owner
from tests.probe.installation import Actor, Installation

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
NOBODY = 65_534
UNREADABLE = ["starts_unreadable", "lock_unreadable", "pulse_unreadable", "ledger_unreadable"]


@pytest.fixture(scope="module")
def actor() -> Iterator[Actor]:
    found = Actor()
    yield found
    found.end()


@pytest.fixture
def place(tmp_path: Path, actor: Actor) -> Iterator[Installation]:
    yield Installation(tmp_path, actor)
    actor.drop()


def codes(place: Installation) -> list[str]:
    return [code for code, _ in place.look().problems]


def test_a_missing_folder_is_absent_and_stays_missing(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    health = examine(str(Home(gone, gone / "state", gone / "cache").state))
    assert (health.state, health.problems) == ("absent", ())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["starts.log", "daemon.lock", "pulse"])
@pytest.mark.parametrize("content", [b"", b"garbage", b"\0" * 5000, b"\xff\xfe{}", b"[" * 100_000, b"{}", b"end\n"])
def test_a_file_of_a_start_whatever_it_holds_is_no_proof_of_absence_or_life(
    place: Installation, name: str, content: bytes
) -> None:
    assert place.write(name, content).look().state == "down"


def test_a_file_where_the_folder_should_be_is_down_with_its_reasons(place: Installation) -> None:
    place.state.rmdir()
    place.state.write_text("not a folder")
    health = place.look()
    assert (health.state, codes(place)) == ("down", ["not_known", *UNREADABLE])
    assert "cannot be read" in health.problems[0][1]


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_a_folder_or_a_pipe_in_place_of_each_file_blocks_nothing_and_proves_nothing(
    place: Installation, make: Callable[[Path], None]
) -> None:
    for name in ("starts.log", "daemon.lock", "pulse", "ledger.db", "service"):
        make(place.state / name)
    assert place.look().state == "down"
    assert {"pulse_unreadable", "marker_unreadable", "ledger_unreadable"} <= set(codes(place))


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\n", b"end\n", b"owner\t321:7777\nend\n", b'{"owner": "321:7777"}'],
)
def test_a_malformed_pulse_beside_a_held_lock_is_stalled(place: Installation, content: bytes) -> None:
    place.ledger().started().lock().write("pulse", content)
    assert (place.look().state, codes(place)) == ("stalled", ["pulse_missing", "pulse_unreadable"])


def test_a_log_of_starts_that_cannot_be_read_degrades_a_daemon_that_beats(place: Installation) -> None:
    place.works().remove("starts.log")
    (place.state / "starts.log").mkdir()
    assert (place.look().state, codes(place)) == ("degraded", ["starts_unreadable"])


# The process that holds the lock


@contextmanager
def daemon(home: Home) -> Iterator[subprocess.Popen[bytes]]:
    """A process of its own that takes the lock as the daemon does."""
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


def test_a_pulse_beside_a_held_lock_is_up_until_its_daemon_is_killed(place: Installation) -> None:
    with daemon(place.home) as child:
        name = place.home.lock_file.read_text()
        place.ledger().starts(60, why="boot")
        assert place.look().state == "stalled"
        place.remove("starts.log").pulse(owner=name)
        place.actor.owner, mine = name, place.actor.owner
        place.started(ago=60)
        place.actor.owner = mine
        health = place.look()
        assert (health.state, health.pid, health.recent_starts) == ("up", child.pid, 1)
        child.send_signal(signal.SIGKILL)
        child.wait()
        assert place.look().state == "down"


@pytest.mark.parametrize("waited_for", [True, False])
def test_a_stranger_that_takes_the_lock_of_a_killed_daemon_does_not_pass_for_it(
    place: Installation, waited_for: bool
) -> None:
    with daemon(place.home) as child:
        name = place.home.lock_file.read_text()
        place.ledger().pulse(owner=name)
        assert place.look().state == "degraded"
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        if waited_for:
            child.wait()
        place.lock(name)
        health = place.look()
        said = subprocess.run(
            [sys.executable, "-m", "heartbeat", "--home", str(place.root), "run"],
            capture_output=True,
            check=False,
            text=True,
        )
    assert (health.state, health.pid, codes(place)) == ("stalled", None, ["lock_stranger"])
    message = f"another program holds {place.home.lock_file}; `fuser {place.home.lock_file}` names it"
    assert health.problems[0][1] == message
    assert (said.returncode, message in said.stderr) == (5, True)


def own_name(change: str = "", boot: str = "") -> str:
    pid, _, start = owner().partition(":")
    return f"{pid}:{change}{start.partition('@')[0]}{boot or '@' + start.partition('@')[2]}"


@pytest.mark.parametrize(
    ("holder", "alive"),
    [
        (own_name(), True),
        (own_name(change="1"), False),
        (own_name(boot="@6e0c0c4e-0000-4000-8000-000000000000"), False),
        (f"{os.getpid()}:", False),
        ("999999999:1", False),
        ("9" * 30 + ":1", False),
        ("9" * 4096, False),
        ("0:0", False),
        ("-1:1", False),
        ("any words", False),
    ],
    # Without its pid, which differs in each process of a parallel run.
    ids=["ours", "other start", "other boot", "no start", "no such pid", "long", "longer", "zero", "below", "words"],
)
def test_the_holder_lives_when_the_process_it_names_does(place: Installation, holder: str, alive: bool) -> None:
    place.lock(holder)
    assert gather(str(place.state)).holder_alive == alive


def test_a_holder_that_wrote_nothing_yet_is_taken_to_live_and_the_pulse_decides(place: Installation) -> None:
    place.lock("")
    assert gather(str(place.state)).holder_alive


@AS_ROOT
def test_a_holder_of_another_user_that_we_may_not_signal_lives(actor: Actor) -> None:
    os.seteuid(NOBODY)
    try:
        found = look_at(actor.owner)
    finally:
        os.seteuid(0)
    assert (found.is_alive, found.uid) == (True, 0)


@AS_ROOT
def test_to_another_user_everything_is_unreadable_and_nothing_is_up(place: Installation) -> None:
    place.works().installed()
    place.state.chmod(0o700)
    os.seteuid(NOBODY)
    try:
        health = place.look()
    finally:
        os.seteuid(0)
    said = [code for code, _ in health.problems]
    *others, ledger = UNREADABLE
    assert (health.state, health.is_told, said) == ("down", False, ["not_known", *others, "marker_unreadable", ledger])


# What it stands on


@AS_ROOT
@pytest.mark.parametrize("name", ["ledger.db", "ledger.db-wal", "."])
def test_a_ledger_that_the_daemons_user_cannot_write_is_named(place: Installation, name: str) -> None:
    place.works().write("ledger.db-wal", b"")
    for path in (place.state, *place.state.iterdir()):
        os.chown(path, NOBODY, NOBODY)
    assert codes(place) == []  # the actor is root's, who may write anything
    place.actor.drop()
    os.chown(place.state / name, 0, 0)
    path = place.state / name
    path.chmod(0o755 if name == "." else 0o600)
    # The daemon is gone: whoever owns the folder must be able to write.
    expected = [] if name == "." else ["ledger_not_writable"]
    assert codes(place)[2:] == expected


@AS_ROOT
def test_full_and_read_only_disks_are_named(place: Installation) -> None:
    size = f"size={2 << 20}"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "probe-test", place.state], check=False)
    if mounted.returncode:
        pytest.skip("this machine lets nobody mount")
    try:
        place.works()
        assert codes(place) == []
        ballast = place.state / "ballast"
        ballast.write_bytes(b"x" * (1_100 << 10))
        assert codes(place) == ["disk_full"]
        ballast.unlink()
        assert codes(place) == []
        place.actor.drop()
        subprocess.run(["mount", "-o", "remount,ro", place.state], check=True)
        assert codes(place)[2:] == ["disk_read_only"]
    finally:
        subprocess.run(["umount", "--lazy", place.state], check=True)


# Never more than is there


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def _remove(path: Path, _: bytes) -> None:
    path.unlink()


def _replace(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _cut(path: Path, content: bytes) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: min(len(content), len(whole) - 1)])


def _prefix(path: Path, content: bytes) -> None:
    path.write_bytes(b"\xff" + content + path.read_bytes())


NAMES = ("starts.log", "daemon.lock", "pulse", "ledger.db")


@given(
    name=st.sampled_from(NAMES),
    damage=st.sampled_from([_remove, _replace, _cut, _prefix]),
    content=st.binary(max_size=60),
)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_evidence_that_is_missing_or_damaged_never_proves_health(
    place: Installation, name: str, damage: Callable[[Path, bytes], None], content: bytes
) -> None:
    place.actor.drop()
    for each in NAMES:
        (place.state / each).unlink(missing_ok=True)
    assert place.works().look().state == "up"
    damage(place.state / name, content)
    health = place.look()
    assert health.state != "up", health
    assert health.problems


@given(shift=st.floats(45.5, 1e6) | st.floats(-1e6, -0.5))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_pulse_that_is_stale_or_of_the_future_never_proves_health(place: Installation, shift: float) -> None:
    place.actor.drop()
    for each in NAMES:
        (place.state / each).unlink(missing_ok=True)
    health = place.works().pulse(age=shift).look()
    assert health.state == "stalled"


# Its manners


def snapshot(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_mode, _bytes(path))
        for path in [folder, *sorted(folder.rglob("*"))]
    }


def test_the_probe_writes_nothing_and_takes_no_time(place: Installation) -> None:
    place.works().installed("none", "heartbeat run", "")
    before = snapshot(place.root)
    took = []
    for _ in range(5):
        begun = time.monotonic()
        gather(str(place.state))
        place.look(thorough=True)
        took.append(time.monotonic() - begun)
    assert snapshot(place.root) == before
    assert min(took) < 0.2


def test_a_probe_does_not_hold_the_lock_afterwards(place: Installation) -> None:
    place.home.lock_file.touch()
    place.look()
    lock = KernelLock(place.home.lock_file)
    assert lock.acquire("321:7777", patience=0)
    lock.release()


def test_the_probe_loads_no_library_beyond_the_standard_one(tmp_path: Path) -> None:
    code = (
        "import sys; before = set(sys.modules)\n"
        f"sys.argv[1:] = ['--home', {str(tmp_path / 'home')!r}, 'health', '--assert-live']\n"
        "from heartbeat.__main__ import main\n"
        "try: main()\n"
        "except SystemExit as end: print(end.code)\n"
        "names = {name.split('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(names - set(sys.stdlib_module_names) - {'heartbeat'}))\n"
        "heavy = 'asyncio contextlib dataclasses datetime enum json logging pathlib re signal socket sqlite3 typing'\n"
        "print(sorted(names & set(heavy.split())))"
    )
    said = subprocess.run([sys.executable, "-IS", "-c", code], capture_output=True, check=False, text=True)
    if "No module named" in said.stderr:  # installed as editable, which -S does not see
        said = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, check=False, text=True)
    assert said.stdout.splitlines() == ["0", "[]", "[]"], said.stderr
