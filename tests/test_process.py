"""One child, as the daemon and the command line run it: its start, its streams, its status, many at once."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from heartbeat.model import Captured
from heartbeat.process import Command, become_reaper, child, execute, pids, tree

MIB = 1024 * 1024
PATH = "/usr/local/bin:/usr/bin:/bin"
PYTHON = sys.executable
Write = Callable[..., str]


@pytest.fixture(autouse=True, scope="module")
def reaper() -> Iterator[None]:
    """As in the daemon; undone for the tests of other rooms in this process."""
    become_reaper()
    yield
    ctypes.CDLL(None).prctl(tree._PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
    tree._is_reaper = False


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str, name: str = "script", mode: int = 0o755) -> str:
        file = tmp_path / name
        file.write_text(text, newline="")
        file.chmod(mode)
        return str(file)

    return write


def command(*argv: str, env: Mapping[str, str] | None = None, timeout: float = 30, **more: object) -> Command:
    cwd, mark = str(more.pop("cwd", "/")), str(more.pop("mark", "run_plain"))
    whole = {"PATH": PATH, "HEARTBEAT_RUN_ID": mark} if env is None else env
    return Command(argv, whole, cwd, timedelta(seconds=timeout), mark, **more)  # type: ignore[arg-type]


def sh(text: str, **more: object) -> Command:
    return command("/bin/sh", "-c", text, **more)  # type: ignore[arg-type]


def python(text: str, **more: object) -> Command:
    return command(PYTHON, "-I", "-S", "-c", text, **more)  # type: ignore[arg-type]


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def own_children() -> set[int]:
    return {peer.pid for peer in pids.children(os.getpid())}


# Streams


def test_both_outputs_and_the_exit_code_are_kept() -> None:
    result = execute(sh("echo out; echo err >&2; exit 3"))
    assert (result.exit_code, result.signal, result.start_error) == (3, None, "")
    assert (result.stdout.joined(), result.stderr.joined()) == (b"out\n", b"err\n")


def test_a_deadly_signal_is_told_from_an_exit_code() -> None:
    result = execute(sh("kill -9 $$"))
    assert (result.exit_code, result.signal, result.timed_out) == (None, 9, False)


def test_stdin_is_closed_when_nothing_is_fed() -> None:
    assert execute(sh("cat; readlink /proc/self/fd/0")).stdout.joined() == b"/dev/null\n"


def test_the_environment_is_exactly_what_was_declared() -> None:
    result = execute(command("/usr/bin/env", env={"A": "1", "B": "zwei = ü\nx"}))
    assert sorted(result.stdout.joined().decode().split("\n")) == ["", "A=1", "B=zwei = ü", "x"]


def test_the_child_leads_a_session_and_a_group_in_its_own_folder_with_no_other_descriptors(tmp_path: Path) -> None:
    leads = "os.getpid() == os.getsid(0) == os.getpgrp()"
    text = f"import os; print({leads}, os.getcwd(), sorted(os.listdir('/proc/self/fd')))"
    with (tmp_path / "held").open("w") as held:
        os.set_inheritable(held.fileno(), True)
        result = execute(python(text, cwd=str(tmp_path)))
    assert result.stdout.joined().decode() == f"True {tmp_path} ['0', '1', '2', '3']\n"  # 3 is the listing itself


def test_a_broken_pipe_ends_the_child_as_it_would_at_a_terminal() -> None:
    assert execute(sh("yes | head -1; kill -PIPE $$")).signal == 13


def test_five_megabytes_of_prompt_arrive_whole() -> None:
    prompt = os.urandom(5 * MIB)
    result = execute(command("/bin/cat", stdin=prompt))
    assert result.stdout == Captured(prompt[: 4 * MIB], prompt[4 * MIB :])


@pytest.mark.parametrize("text", ["echo done", "exec <&-; sleep 0.3; echo done", "head -c 10 >/dev/null; echo done"])
def test_a_child_that_does_not_read_its_prompt_blocks_and_kills_nobody(text: str) -> None:
    began = time.monotonic()
    result = execute(sh(text, stdin=b"p" * 5 * MIB))
    assert (result.exit_code, result.stdout.joined()) == (0, b"done\n")
    assert time.monotonic() - began < 5


def test_an_empty_prompt_is_an_empty_stdin() -> None:
    assert execute(sh("cat; readlink /proc/self/fd/0", stdin=b"")).stdout.joined().startswith(b"pipe:")


def test_fifty_megabytes_on_each_stream_are_read_to_the_end() -> None:
    text = "head -c 50000000 /dev/zero | tee /dev/stderr; printf '\\n{\"wakeAgent\": true}\\n'"
    result = execute(sh(text))
    assert result.exit_code == 0
    assert (result.stdout.total, result.stderr.total) == (50_000_021, 50_000_000)
    assert result.stdout.tail.endswith(b'\x00\n{"wakeAgent": true}\n')
    assert len(result.stdout.head) + len(result.stdout.tail) == 8 * MIB
    assert len(result.stderr.head) + len(result.stderr.tail) == MIB // 4


def test_a_gate_before_twenty_megabytes_of_blank_lines_is_still_the_last_line() -> None:
    text = "import sys; print('log\\n' * 5000000 + '{\"wakeAgent\": true}' + ' \\r\\n' * 7000000)"
    result = execute(python(text))
    assert result.stdout.joined().rstrip().rpartition(b"\n")[2] == b'{"wakeAgent": true}'
    assert result.stdout.total == 20_000_000 + 19 + 21_000_000 + 1


def test_binary_output_is_kept_byte_for_byte() -> None:
    every = bytes(range(256)) * 3
    assert execute(python(f"import os; os.write(1, {every!r})")).stdout.joined() == every


def test_a_child_may_close_its_outputs_and_go_on() -> None:
    result = execute(sh("echo before; exec >&- 2>&-; sleep 0.4; exit 7"))
    assert (result.exit_code, result.stdout.joined()) == (7, b"before\n")


def test_what_lies_in_the_pipe_at_the_exit_is_read() -> None:
    for _ in range(10):
        assert execute(python("import os; os.write(1, b'x' * 65536); os._exit(0)")).stdout.total == 65536


# Time


def test_the_clock_that_was_handed_in_stamps_start_and_end() -> None:
    instants = iter([datetime(2026, 6, 10, 8, tzinfo=UTC), datetime(2026, 6, 10, 7, tzinfo=UTC)])
    result = execute(sh("exit 0"), clock=lambda: next(instants))
    assert (result.started_at.hour, result.ended_at.hour, result.timed_out) == (8, 7, False)


def test_a_limit_of_years_is_a_limit_too() -> None:
    assert execute(sh("sleep 0.2; exit 1", timeout=10**9), threading.Event()).exit_code == 1


def test_a_stop_that_was_already_asked_starts_nothing(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    result = execute(command("/usr/bin/touch", str(tmp_path / "started")), stop)
    assert result.interrupted
    assert not (tmp_path / "started").exists()


def test_waiting_costs_next_to_nothing() -> None:
    began = time.process_time()
    execute(sh("sleep 2"), threading.Event())
    assert time.process_time() - began < 0.06


def test_a_quiet_child_takes_no_drain_time_and_little_of_our_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "DRAIN", 60.0)
    began, cpu = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
    for _ in range(50):
        assert execute(command("/bin/true")).exit_code == 0
    spent = resource.getrusage(resource.RUSAGE_SELF)
    assert time.monotonic() - began < 60
    assert spent.ru_utime + spent.ru_stime - cpu.ru_utime - cpu.ru_stime < 50 * 0.005


# What cannot be started


def test_a_missing_program_names_the_path_that_was_searched() -> None:
    error = execute(command("no-such-program")).start_error
    assert (
        error == f"cannot start 'no-such-program': no such program in PATH {PATH!r}; install it, or write its full path"
    )


def test_a_missing_file_and_a_missing_folder_are_told_apart(tmp_path: Path) -> None:
    assert "there is no such file" in execute(command(str(tmp_path / "gone"))).start_error
    assert "make it a folder we may enter" in execute(command("/bin/true", cwd=str(tmp_path / "gone"))).start_error
    assert "there is no such file" in execute(command("/bin/true/x")).start_error


@pytest.mark.parametrize(
    ("text", "mode", "remedy"),
    [
        ("#!/bin/sh\n", 0o644, "run: chmod +x"),
        ("#!/no/such/interpreter -x\n", 0o755, "'/no/such/interpreter -x' does not exist; correct its first line"),
        ("#!/bin/sh\r\nexit 0\r\n", 0o755, "save it with LF line ends"),
        ("echo no shebang\n", 0o755, "begin it with one, such as #!/bin/sh"),
        ("\ufeff#!/bin/sh\n", 0o755, "byte order mark"),
        ("", 0o755, "begin it with one"),
        ("\x7fELF nonsense", 0o755, "another kind of machine"),
        ("#!/tmp\n", 0o755, "permission denied"),
    ],
)
def test_a_file_that_does_not_run_says_what_to_mend(write: Write, text: str, mode: int, remedy: str) -> None:
    result = execute(command(write(text, mode=mode)))
    assert result.start_error.startswith("cannot start '/")
    assert remedy in result.start_error
    assert (result.exit_code, result.signal, result.stdout) == (None, None, Captured())


def test_a_folder_is_no_program(tmp_path: Path) -> None:
    assert "it is a folder" in execute(command(str(tmp_path))).start_error


def test_a_relative_path_means_the_childs_own_folder(write: Write, tmp_path: Path) -> None:
    write("#!/bin/sh\necho here\n", "mine.sh")
    assert execute(command("./mine.sh", cwd=str(tmp_path))).stdout.joined() == b"here\n"
    write("#!/bin/sh\r\n", "crlf.sh")
    assert "LF line ends" in execute(command("./crlf.sh", cwd=str(tmp_path))).start_error


def test_a_bare_name_is_found_in_the_declared_path(write: Write, tmp_path: Path) -> None:
    write("#!/bin/sh\necho found\n", "own-tool")
    assert execute(command("own-tool", env={"PATH": str(tmp_path)})).stdout.joined() == b"found\n"


def test_a_script_that_is_being_written_is_not_started(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(Path("/bin/true").read_bytes())
    program.chmod(0o755)
    with program.open("ab"):
        assert "being written" in execute(command(str(program))).start_error


def test_too_long_an_argument_is_refused_without_repeating_it() -> None:
    error = execute(command("/bin/echo", "s3cret" * 30_000)).start_error
    assert "hand over text on stdin" in error
    assert "s3cret" not in error


@pytest.mark.parametrize("env", [{"A": "s3cret\0"}, {"A=B": "s3cret"}, {"A": "s3cret\ud800"}])
def test_an_impossible_variable_is_refused_without_repeating_it(env: dict[str, str]) -> None:
    error = execute(command("/bin/true", env=env)).start_error
    assert error.startswith("cannot start '/bin/true'")
    assert "s3cret" not in error


def test_no_command_at_all_is_refused() -> None:
    assert "name a program" in execute(command()).start_error


STARVED = """
import os, resource, sys
from datetime import timedelta
from heartbeat.process import Command, become_reaper, execute
become_reaper()
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
kind, limit = getattr(resource, sys.argv[1]), int(sys.argv[2])
result = execute(Command(("/bin/true",), {}, "/", timedelta(seconds=5), "run_fed"))
resource.setrlimit(kind, (limit, resource.getrlimit(kind)[1]))
starved = execute(Command(("/bin/true",), {}, "/", timedelta(seconds=5), "run_starved"))
print(result.exit_code, starved.start_error)
"""


@pytest.mark.parametrize(
    ("limit", "value", "remedy"),
    [("RLIMIT_NPROC", 1, "the limit of processes is reached"), ("RLIMIT_NOFILE", 6, "too many files are open")],
)
def test_a_plain_user_at_a_limit_gets_a_remedy(write: Write, limit: str, value: int, remedy: str) -> None:
    done = subprocess.run([PYTHON, "-c", STARVED, limit, str(value)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("0 cannot start '/bin/true': " + remedy)


IGNORING = """
import signal
from datetime import timedelta
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
from heartbeat.process import Command, become_reaper, execute
command = Command(("/bin/sh", "-c", "exit 3"), {}, "/", timedelta(seconds=5), "run_x")
before = execute(command)
become_reaper()
print(before.exit_code, before.signal, execute(command).exit_code)
"""


def test_an_inherited_ignored_sigchld_never_makes_a_failure_a_success() -> None:
    done = subprocess.run([PYTHON, "-c", IGNORING], capture_output=True, text=True, check=True)
    assert done.stdout == "None None 3\n"


# Many at once


def test_thirty_threads_mix_no_outputs_and_leak_nothing() -> None:
    descriptors, children = open_descriptors(), own_children()
    text = "read n; i=0; while [ $i -lt 2000 ]; do echo $n; i=$((i+1)); done; echo e$n >&2; exit ${n#10}"

    def one(number: int) -> bool:
        word = str(10_000 + number)
        result = execute(sh(text, stdin=word.encode() + b"\n", mark=f"run_{word}"), threading.Event())
        return (result.stdout.joined(), result.stderr.joined(), result.exit_code) == (
            f"{word}\n".encode() * 2000,
            f"e{word}\n".encode(),
            number,
        )

    with ThreadPoolExecutor(30) as pool:
        assert all(pool.map(one, range(120)))
    assert open_descriptors() == descriptors
    assert own_children() == children
