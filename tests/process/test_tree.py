"""Nothing that a run started survives it: not in time, not after its leader, not by hiding."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from heartbeat.model import Execution
from heartbeat.process import Command, become_reaper, child, end_strays, execute, pids, tree

PYTHON = sys.executable
PR_SET_CHILD_SUBREAPER = 36
LONG = 60.0
"""Seconds; a wait that must not be taken is made this long, so that taking it shows on the slowest machine."""


@pytest.fixture(autouse=True)
def reaper() -> Iterator[None]:
    forget_the_dead()
    become_reaper()
    yield
    no_reaper()


def forget_the_dead() -> None:
    """Other tests of this process may have inherited children that ended; those are not what is looked for here."""
    for peer in pids.children(os.getpid()):
        if peer.dead:
            os.waitpid(peer.pid, 0)


def no_reaper() -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    tree._is_reaper = False


@pytest.fixture
def mark() -> str:
    return f"run_{uuid4().hex}"


@pytest.fixture
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "GRACE", 0.1)


def run(text: str, mark: str, timeout: float = 20, stop: threading.Event | None = None) -> Execution:
    """Run a script; $MARK in its text is how a child that scrubs its environment is still found by `left_of`."""
    program = (PYTHON, "-I", "-S", "-c") if text.startswith("import") else ("/bin/sh", "-c")
    env = {"PATH": "/usr/bin:/bin", "HEARTBEAT_RUN_ID": mark}
    return execute(Command((*program, text.replace("$MARK", mark)), env, "/", timedelta(seconds=timeout), mark), stop)


def left_of(mark: str) -> list[str]:
    """What lives with the mark in its environment or its arguments, and any zombie of ours."""
    found = [f"zombie {peer.pid}" for peer in pids.children(os.getpid()) if peer.dead]
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes():
                found.append((folder / "cmdline").read_bytes().decode())
        except OSError:
            continue
    return found


def wait_for(file: Path) -> str:
    until = time.monotonic() + 10
    while not (file.exists() and file.read_text()) and time.monotonic() < until:
        time.sleep(0.01)
    return file.read_text()


STUBBORN = "sh -c 'trap \"\" TERM; sleep 60; sleep 60; : $MARK'"
DAEMON = f"env -i setsid {STUBBORN}"
EVADERS = {
    "obeys": "echo began; sleep 60",
    "ignores TERM": "trap '' TERM; echo began; sleep 60; sleep 60",
    "has a child in a session of its own": "setsid sleep 60 & echo began; sleep 60",
    "has a stubborn grandchild": f"{STUBBORN} & echo began; sleep 60",
    "orphans a daemon by a double fork": f"(setsid {STUBBORN} &); echo began; sleep 60",
    "orphans a daemon that scrubs its environment": f"({DAEMON} &); sleep 0.1; echo began; sleep 60",
    "scrubs its own environment": f"echo began; exec env -i {STUBBORN}",
    "stops itself": "echo began; kill -STOP $$; sleep 60",
    "has stopped children": "sh -c 'kill -STOP $$' & setsid sh -c 'kill -STOP $$' & echo began; sleep 60",
    "closed its outputs": "echo began; exec >&- 2>&-; sleep 60",
    "never stops writing": "echo began; exec yes",
    "has a first thread that ended": """import _thread, ctypes, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("began", flush=True)
_thread.start_new_thread(time.sleep, (60,))
time.sleep(0.1)
ctypes.CDLL(None).pthread_exit(None)""",
    "starts a child when asked to end": """import os, signal, time
signal.signal(signal.SIGTERM, lambda *_: os.fork() or time.sleep(60))
print("began", flush=True)
while True: time.sleep(1)""",
    "forks fifty, each in a session of its own": """import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("began", flush=True)
for _ in range(50):
    if os.fork() == 0:
        os.setsid()
        break
time.sleep(60)""",
    "hops from one process to the next as fast as it can": """import os, time
print("began", flush=True)
if os.fork(): time.sleep(60)
while True:
    if os.fork(): os._exit(0)
    os.setsid()""",
}


@pytest.mark.parametrize("text", EVADERS.values(), ids=EVADERS.keys())
@pytest.mark.usefixtures("short_grace")
def test_over_its_time_limit_everything_is_ended_and_what_it_printed_is_kept(text: str, mark: str) -> None:
    result = run(text, mark, timeout=0.5)
    assert left_of(mark) == []
    assert (result.timed_out, result.interrupted) == (True, False)
    assert result.stdout.head.startswith(b"began\n")


@pytest.mark.usefixtures("short_grace")
def test_where_orphans_cannot_be_inherited_group_session_and_mark_find_them(mark: str) -> None:
    no_reaper()
    names = [name for name in EVADERS if "hops" not in name and "scrubs" not in name]
    with ThreadPoolExecutor(len(names)) as pool:
        results = list(pool.map(lambda name: run(EVADERS[name], f"{mark}.{names.index(name)}", timeout=2), names))
    assert all(result.timed_out and result.stdout.head.startswith(b"began\n") for result in results)
    assert left_of(mark) == []


def test_what_ends_when_asked_is_given_the_time_and_heard_to_the_end(
    mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "GRACE", LONG)
    began = time.monotonic()
    result = run("trap 'sleep 0.5; echo saved; exit 9' TERM; echo began; sleep 60 & wait", mark, timeout=0.3)
    assert (result.timed_out, result.exit_code, result.stdout.joined()) == (True, 9, b"began\nsaved\n")
    assert time.monotonic() - began < LONG


def test_what_does_not_end_when_asked_is_killed_after_the_grace(mark: str) -> None:
    began = time.monotonic()
    assert run("trap '' TERM; while :; do sleep 1; done", mark, timeout=0.2).signal == signal.SIGKILL
    assert time.monotonic() - began > child.GRACE


@pytest.mark.parametrize(
    "text",
    ["sleep 60 & echo done", "setsid sleep 60 & echo done", f"({DAEMON} &) ; sleep 0.1; echo done"],
    ids=["child", "child in its own session", "scrubbed orphan"],
)
def test_a_child_that_holds_the_pipe_delays_the_verdict_by_a_short_drain_only(text: str, mark: str) -> None:
    result = run(text, mark, timeout=LONG)
    assert (result.exit_code, result.timed_out, result.stdout.joined()) == (0, False, b"done\n")
    assert left_of(mark) == []


@pytest.mark.parametrize("reaping", [True, False])
def test_children_without_the_pipe_are_ended_without_a_drain(
    reaping: bool, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "DRAIN", LONG)
    if not reaping:
        no_reaper()
    began = time.monotonic()
    result = run("setsid sleep 60 >&- 2>&- & sleep 60 >&- 2>&- & (setsid sleep 60 >&- 2>&- &) ; echo done", mark)
    assert (result.exit_code, result.stdout.joined()) == (0, b"done\n")
    assert time.monotonic() - began < LONG
    assert left_of(mark) == []


def test_what_a_child_says_within_the_drain_is_heard(mark: str) -> None:
    assert run("(sleep 0.1; echo late) & echo done", mark).stdout.joined() == b"done\nlate\n"


def test_a_stop_ends_the_tree_and_is_no_time_out(mark: str, tmp_path: Path) -> None:
    stop, ready = threading.Event(), tmp_path / "ready"

    def ask() -> None:
        wait_for(ready)
        stop.set()

    asking = threading.Thread(target=ask)
    asking.start()
    result = run(f"setsid sleep 60 & echo began; echo x > {ready}; sleep 60", mark, 60, stop)
    asking.join()
    assert (result.interrupted, result.timed_out, result.stdout.joined()) == (True, False, b"began\n")
    assert left_of(mark) == []


def test_a_dead_orphan_is_waited_for_while_the_run_goes_on(mark: str) -> None:
    # Whoever ends a daemon and looks for its pid until it is gone would wait for ever on a zombie.
    text = "(sleep 0.1 >&- 2>&- & echo $! ) > /tmp/$MARK; p=$(cat /tmp/$MARK); rm /tmp/$MARK; "
    result = run(text + "while kill -0 $p 2>/dev/null; do sleep 0.05; done; echo gone", mark, timeout=10)
    assert (result.stdout.joined(), result.timed_out) == (b"gone\n", False)


def test_runs_at_once_end_only_what_is_their_own(mark: str) -> None:
    # Each leaves a daemon behind, and ends while the others still count on theirs.
    text = "(setsid sleep 60 >&- 2>&- & echo $! > FILE); sleep PAUSE; kill -0 $(cat FILE) && echo alive; rm FILE"

    def one(number: int) -> bytes:
        script = text.replace("FILE", f"/tmp/{mark}.{number}").replace("PAUSE", f"0.{number % 9 + 1}")
        return run(script, f"{mark}.{number}").stdout.joined()

    with ThreadPoolExecutor(20) as pool:
        assert set(pool.map(one, range(40))) == {b"alive\n"}
    assert left_of(mark) == []


def test_an_unmarked_orphan_is_spared_while_another_run_may_own_it(mark: str, tmp_path: Path) -> None:
    pid_file, go = tmp_path / "pid", tmp_path / "go"
    orphaning = f"(env -i setsid sh -c 'echo $$ > {pid_file}; sleep 60; : $MARK' >&- 2>&- &)"
    owner = f"{orphaning}; while ! [ -e {go} ]; do sleep 0.05; done"
    with ThreadPoolExecutor(1) as pool:
        owning = pool.submit(run, owner, mark)
        pid = int(wait_for(pid_file))
        assert run("exit 0", f"{mark}.other").exit_code == 0
        orphan = pids.look(pid)
        assert orphan
        assert orphan.lives()
        go.touch()
        assert owning.result().exit_code == 0
    assert not orphan.lives()
    assert left_of(mark) == []


def hidden_orphan(pid_file: Path) -> str:
    """A script that ends when the unmarked orphan it leaves has written its pid."""
    orphaning = f"(env -i setsid sh -c 'echo $$ > {pid_file}; sleep 60; : $MARK' >&- 2>&- &)"
    return f"{orphaning}; while ! [ -s {pid_file} ]; do sleep 0.02; done"


def test_unmarked_orphans_do_not_pile_up_while_runs_always_overlap(mark: str, tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:

        def start(number: int) -> Future[Execution]:
            here, go = tmp_path / f"here{number}", tmp_path / f"go{number}"
            text = f"echo x > {here}; while ! [ -e {go} ]; do sleep 0.02; done"
            running = pool.submit(run, text, f"{mark}.long{number}")
            wait_for(here)
            return running

        orphans: list[pids.Peer] = []
        long = start(0)
        for number in range(5):
            following = start(number + 1)
            run(hidden_orphan(tmp_path / f"pid{number}"), f"{mark}.{number}")
            orphan = pids.look(int(wait_for(tmp_path / f"pid{number}")))
            assert orphan
            assert orphan.lives()  # it may be of either long run
            orphans.append(orphan)
            (tmp_path / f"go{number}").touch()
            assert long.result().exit_code == 0
            # Both long runs that it may be of have ended; another one goes on.
            assert [orphan for orphan in orphans[:-1] if orphan.lives()] == []
            long = following
        (tmp_path / "go5").touch()
        assert long.result().exit_code == 0
    assert left_of(mark) == []
    tree.reap_orphans()
    assert tree._candidates == {}


SUCCESSOR = """
import os, sys, time
from datetime import timedelta
from heartbeat.process import Command, become_reaper, execute, pids
before = int(sys.argv[1])
while pids.look(before).session != before: time.sleep(0.01)
become_reaper()
text = "(env -i setsid sleep 60 >&- 2>&- &); sleep 0.1"
execute(Command(("/bin/sh", "-c", text), {"PATH": "/usr/bin:/bin"}, "/", timedelta(seconds=20), "run_x"))
print([peer.pid == before and not peer.dead for peer in pids.children(os.getpid())])
"""


def test_a_child_from_before_heartbeat_took_over_its_process_is_spared() -> None:
    script = ["/bin/sh", "-c", 'setsid sleep 60 >&- 2>&- & echo $!; exec "$0" -c "$1" $!', PYTHON, SUCCESSOR]
    done = subprocess.run(script, stdout=subprocess.PIPE, text=True, check=True, timeout=30)
    before, found = done.stdout.splitlines()
    orphan = pids.look(int(before))
    assert orphan
    pids.send(orphan, signal.SIGKILL)
    until = time.monotonic() + 10
    while pids.look(orphan.pid) == orphan and time.monotonic() < until:
        tree.reap_orphans()
    assert found == "[True]"


def test_the_init_of_a_container_ends_marked_orphans_alone_and_waits_for_all(
    mark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "_is_init", True)
    strange, own = tmp_path / "strange", tmp_path / "own"
    marked = f"(setsid sh -c 'echo $$ > {own}; sleep 60; : $MARK' >&- 2>&- &)"
    text = f"{marked}; {hidden_orphan(strange)}; while ! [ -s {own} ]; do sleep 0.02; done"
    assert run(text, mark).exit_code == 0
    stranger = pids.look(int(wait_for(strange)))
    assert pids.look(int(wait_for(own))) is None
    assert stranger
    assert stranger.lives()
    os.killpg(stranger.pid, signal.SIGKILL)
    until = time.monotonic() + 10
    while any(peer.group == stranger.pid for peer in pids.table().values()) and time.monotonic() < until:
        tree.reap_orphans()
    assert left_of(mark) == []


@pytest.mark.usefixtures("short_grace")
def test_our_own_children_of_other_kinds_are_left_alone(mark: str) -> None:
    with subprocess.Popen(["/bin/sleep", "60"]) as other, subprocess.Popen(["/bin/sh", "-c", "exit 5"]) as ended:
        run("trap '' TERM; (sleep 60 &) ; sleep 60", mark, timeout=0.3)
        assert other.poll() is None
        other.kill()
    assert ended.returncode == 5


INTERRUPTED = """
import sys
from datetime import timedelta
from heartbeat.process import Command, become_reaper, execute
become_reaper()
text = "trap '' TERM INT; setsid sleep 60 & echo x > $0; sleep 60"
env = {"PATH": "/usr/bin:/bin", "HEARTBEAT_RUN_ID": sys.argv[1]}
try:
    execute(Command(("/bin/sh", "-c", text, sys.argv[2]), env, "/", timedelta(seconds=60), sys.argv[1]))
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_at_a_terminal_leaves_nothing_behind(mark: str, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    with subprocess.Popen([PYTHON, "-c", INTERRUPTED, mark, str(ready)], stdout=subprocess.PIPE, text=True) as child:
        wait_for(ready)
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=10)[0] == "interrupted\n"
    assert left_of(mark) == []


KILLED = INTERRUPTED.replace("except KeyboardInterrupt", "finally")


def test_what_a_killed_heartbeat_left_is_ended_by_the_next(mark: str, tmp_path: Path) -> None:
    no_reaper()  # The strays go to init, as those of a dead daemon do.
    ready = tmp_path / "ready"
    with subprocess.Popen([PYTHON, "-c", KILLED, mark, str(ready)], stdout=subprocess.DEVNULL) as child:
        wait_for(ready)
        child.kill()
    assert len(left_of(mark)) >= 2
    assert end_strays(["run_of_nobody"]) == 0
    assert end_strays([]) == 0
    assert len(left_of(mark)) >= 2
    assert end_strays([mark, "run_of_nobody"]) == 3  # the shell and its two sleeps
    assert left_of(mark) == []


WITHIN = """
import os
from heartbeat.process import end_strays
print(end_strays([os.environ["HEARTBEAT_WAKE_ID"]]), flush=True)
"""


def test_a_heartbeat_started_from_within_a_run_does_not_end_itself(mark: str) -> None:
    env = {"PATH": os.environ["PATH"], "HEARTBEAT_WAKE_ID": mark}
    script = ["/bin/sh", "-c", 'sleep 60 & "$0" -c "$1"; echo on', PYTHON, WITHIN]
    done = subprocess.run(script, env=env, stdout=subprocess.PIPE, text=True, check=True, timeout=20)
    assert done.stdout == "1\non\n"
    assert left_of(mark) == []
