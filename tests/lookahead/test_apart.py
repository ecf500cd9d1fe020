"""The process that reads calendars: whatever it is given, it ends in time, within its memory, and with its caller."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import psutil
import pytest

from heartbeat.sources import SourceFailed, apart
from heartbeat.sources.calendars.asking import Asking
from heartbeat.sources.rows import from_row
from tests.doubles.feed import ics
from tests.lookahead.support import NOW, calendar, environment, event, tell

ASK = Asking(NOW, NOW - timedelta(days=1), NOW + timedelta(days=7), ZoneInfo("Europe/Berlin"))
# Several rules, so that no machine is fast enough to come to the end of the calendar with them.
NEVER = (f"RRULE:FREQ=HOURLY;BYMONTH={month};BYMONTHDAY=31" for month in (2, 4, 6, 9, 11))
BOMB = event("DTSTART:20260610T080000Z", *NEVER, uid="bomb")


def hang(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: str) -> None:
    """Let the worker do *what* instead of expanding, without a chance to be asked politely."""
    (tmp_path / "sitecustomize.py").write_text(f"""
import sys
def expand(*_):
    import signal, threading, time
    {what}
if "heartbeat.sources.worker" in sys.orig_argv:
    from heartbeat.sources import expansion
    expansion.expand = expand
""")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


BUSY = "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]); [None for _ in iter(int, 1)]"


def children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "heartbeat.sources.worker" in child.cmdline()]


def test_the_worker_answers_with_what_the_calendar_holds() -> None:
    answer = apart.expand_apart([ics("One"), ics("Two")[:-10]], ASK)
    assert sorted(from_row(row).title for row in answer.rows) == ["One", "Two"]
    assert (answer.events, answer.whole, answer.until) == (2, False, ASK.until)
    assert answer.warnings == ("the calendar is cut off; its whole events were read",)


def test_a_calendar_that_takes_too_long_is_ended_for_good(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hang(monkeypatch, tmp_path, BUSY)
    monkeypatch.setattr(apart, "SECONDS", 1)
    started = time.monotonic()
    with pytest.raises(apart.TooMuch, match="takes longer than 1 s"):
        apart.expand_apart([ics("One")], ASK)
    assert time.monotonic() - started < 15
    assert children() == []


def test_the_deadline_of_the_caller_holds_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hang(monkeypatch, tmp_path, BUSY)
    with pytest.raises(SourceFailed, match="takes longer than 1 s") as raised:
        apart.expand_apart([ics("One")], replace(ASK, deadline=time.monotonic() + 1))
    assert not isinstance(raised.value, apart.TooMuch), "it may well be read when there is more time"


def test_a_calendar_that_takes_too_much_memory_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "MEMORY", 100 * 1024 * 1024)
    content = calendar(*(event(f"SUMMARY:{number}", uid=str(number)) for number in range(200_000))).encode()
    with pytest.raises(apart.TooMuch, match="takes more than 100 MiB of memory"):
        apart.expand_apart([content], ASK)


@pytest.mark.parametrize("what", ["raise RuntimeError('canary')", "import os; os._exit(7)", "print('canary' * 9)"])
def test_a_worker_that_breaks_is_a_failure_without_its_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str], what: str
) -> None:
    hang(monkeypatch, tmp_path, what)
    with pytest.raises(SourceFailed, match=r"its reader ended with [017]; please report this"):
        apart.expand_apart([ics("One")], ASK)
    assert capfd.readouterr() == ("", "")


def test_a_worker_that_ends_before_it_has_taken_all_in_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n'heartbeat.sources.worker' in sys.orig_argv and os._exit(9)"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(SourceFailed, match="its reader ended with 9"):
        apart.expand_apart([bytes(1024 * 1024)], ASK)


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_the_worker_ends_with_the_script(tmp_path: Path, ending: signal.Signals) -> None:
    script = tmp_path / "script.py"
    script.write_text("""
from tests.lookahead.test_apart import ASK, apart, ics
apart.expand_apart([ics("One")], ASK)
""")
    worker = tmp_path / "worker"
    (tmp_path / "sitecustomize.py").write_text(f"""
import os, sys
def expand(*_):
    open({str(worker)!r}, "w").write(str(os.getpid()))
    while True:
        pass
if "heartbeat.sources.worker" in sys.orig_argv:
    from heartbeat.sources import expansion
    expansion.expand = expand
""")
    path = f"{tmp_path}{os.pathsep}{os.getcwd()}"
    with subprocess.Popen([sys.executable, script], env={**os.environ, "PYTHONPATH": path}) as caller:
        pid = int(wait_for(lambda: worker.exists() and worker.read_text()))
        assert psutil.pid_exists(pid)
        caller.send_signal(ending)
    wait_for(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)


def wait_for(what: Callable[[], object]) -> str:
    end = time.monotonic() + 30
    while not (found := what()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return str(found)


# What that costs the others


def test_what_was_too_much_is_not_tried_again_until_it_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, workers: list[int]
) -> None:
    path = tmp_path / "me.ics"
    options = {"sources": [{"file": str(path)}]}

    def message(minutes: int) -> str:
        (source,) = tell(options, NOW + timedelta(minutes=minutes), cache=tmp_path / "cache").sources
        return source.message

    path.write_bytes(ics("One"))
    assert message(0) == ""
    path.write_bytes(ics("Two"))
    with monkeypatch.context() as patch:
        hang(patch, tmp_path, BUSY)
        patch.setattr(apart, "SECONDS", 1)
        assert message(1) == (
            "cannot read the calendar: it takes longer than 1 s; split it, or take a part of it; "
            "its copy from 1m ago was read"
        )
    assert len(workers) == 2
    assert "it was too hard to read" in message(2)
    assert len(workers) == 2
    assert message(60) != ""
    assert message(61) == ""
    assert len(workers) == 3


def test_a_bomb_costs_neither_another_one_nor_its_own_good_event(tmp_path: Path) -> None:
    (tmp_path / "bombs.ics").write_bytes(calendar(BOMB).encode() + ics("One"))
    (tmp_path / "good.ics").write_bytes(ics("Good"))
    gate = tell({"sources": [{"file": str(tmp_path / name)} for name in ("bombs.ics", "good.ics")]})
    assert {"One", "Good"} <= {finding.title for finding in gate.findings}
    assert [source.ok for source in gate.sources] == [True, True]
    assert gate.sources[0].message == "some series took too long and were left out"


def test_twenty_thousand_events_are_read(tmp_path: Path) -> None:
    first = NOW - timedelta(days=3650)
    events = [
        event(f"DTSTART:{first + timedelta(hours=9 * number):%Y%m%dT%H%M%SZ}", "SUMMARY:x", uid=str(number))
        for number in range(20_000)
    ]
    (tmp_path / "me.ics").write_text(calendar(*events))
    (finding,) = tell({"sources": [{"file": str(tmp_path / "me.ics")}], "lookahead": "9h"}).findings
    assert finding.starts_at is not None


def test_the_script_leaves_no_process_behind(tmp_path: Path) -> None:
    (tmp_path / "me.ics").write_bytes(ics("One"))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    script = Path(__file__).parents[2] / "jobs" / "calendar_lookahead.py"
    given = environment({"sources": [{"file": str(tmp_path / "me.ics")}]})
    with subprocess.Popen([script], env=given, stdout=subprocess.PIPE, start_new_session=True) as done:
        assert done.stdout is not None
        assert b'"title": "One"' in done.stdout.read()
    with pytest.raises(ProcessLookupError):
        os.killpg(done.pid, 0)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime >= before
