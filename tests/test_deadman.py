"""The dead man: what ends a daemon that nobody else watches."""

from __future__ import annotations

import threading
from pathlib import Path

from heartbeat.deadman import LOOKS, DeadMan


class Ended(threading.Event):
    """Waits for the end, and remembers its status."""

    status = 0

    def __call__(self, status: int) -> None:
        self.status = status
        self.set()


def test_a_loop_that_gives_no_proof_any_more_is_ended_and_leaves_what_every_thread_was_at(tmp_path: Path) -> None:
    ended = Ended()
    with (tmp_path / "crash.txt").open("w") as dump:
        man = DeadMan(dump, look=0.01, end=ended)
        man.proof()
        assert ended.wait(30)
    text = (tmp_path / "crash.txt").read_text()
    assert ended.status == 1
    assert text.startswith(f"Timeout: no proof of life in {LOOKS} looks")
    assert "most recent call first" in text
    assert "test_deadman.py" in text


def test_a_loop_that_comes_round_now_and_then_lives(tmp_path: Path) -> None:
    ended = Ended()
    with (tmp_path / "crash.txt").open("w") as dump:
        man = DeadMan(dump, look=0.05, end=ended)
        for _ in range(30):
            man.proof()
            assert not ended.wait(0.05)
        man.stop()
        man._thread.join()
        assert (tmp_path / "crash.txt").read_text() == ""


def test_once_it_is_stopped_silence_is_no_death(tmp_path: Path) -> None:
    ended = Ended()
    with (tmp_path / "crash.txt").open("w") as dump:
        man = DeadMan(dump, look=0.01, end=ended)
        man.proof()
        man.stop()
        man._thread.join()
        man.proof()
        assert not ended.wait(0.3)
