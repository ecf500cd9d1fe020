"""Who is at work, and who is over their time."""

from __future__ import annotations

import threading

import pytest

from heartbeat.progress import GRACE, Progress


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_work_is_wedged_when_it_is_over_its_own_limit_and_the_grace() -> None:
    clock = Clock()
    progress = Progress(clock)
    with progress.working("the job a", 60):
        clock.now += 60 + GRACE
        assert progress.wedged() == ()
        clock.now += 1
        assert progress.wedged() == (("the job a", 1.0),)
    assert progress.wedged() == ()


def test_what_goes_on_and_says_so_is_not_wedged() -> None:
    clock = Clock()
    progress = Progress(clock)
    progress.extend(5)
    with progress.working("the job a", 60):
        clock.now += 1000
        progress.extend(0)
        assert progress.wedged() == ()
        clock.now += GRACE + 1
        assert progress.wedged() == (("the job a", 1.0),)


def test_work_within_work_counts_for_itself_and_gives_the_outer_its_grace_back() -> None:
    clock = Clock()
    progress = Progress(clock)
    with progress.working("the courier", 0):
        with progress.working("the wake 1", 600):
            clock.now += 700
            assert progress.wedged() == ()
            clock.now += 21
            assert [at for at, _ in progress.wedged()] == ["the wake 1"]
        assert progress.wedged() == ()
        clock.now += GRACE + 1
        assert [at for at, _ in progress.wedged()] == ["the courier"]


def test_each_thread_counts_for_itself_and_the_worst_stands_first() -> None:
    clock = Clock()
    progress = Progress(clock)
    entered, leave = threading.Barrier(3), threading.Event()

    def work(name: str, seconds: float) -> None:
        with progress.working(name, seconds):
            entered.wait()
            leave.wait()

    threads = [threading.Thread(target=work, args=each) for each in (("short", 1.0), ("long", 50.0))]
    for thread in threads:
        thread.start()
    entered.wait()
    clock.now += GRACE + 60
    assert progress.wedged() == (("short", 59.0), ("long", 10.0))
    leave.set()
    for thread in threads:
        thread.join()
    assert progress.wedged() == ()


def test_work_that_fails_is_over_too() -> None:
    clock = Clock()
    progress = Progress(clock)
    with pytest.raises(KeyError), progress.working("x", 1):
        raise KeyError
    clock.now += 1000
    assert progress.wedged() == ()
