"""What holds for every question of the doctor, found by listing the folder."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest

import heartbeat.doctor
from heartbeat.doctor import Answer, Case, Status, consult, ok, questions, warn
from tests.conftest import Place
from tests.doctor.asking import case_of

QUESTIONS = questions()
MOST_SECONDS = 20.0


def broken_configuration(place: Place) -> None:
    place.configure("[agent\nkind = 7")


def wrong_configuration(place: Place) -> None:
    place.configure('[agent]\nkind = "clade"\n[jobs.vip-mail]\nevery = "often"\n[channels.a]\nkind = "command"\n')


def unreadable_folders(place: Place) -> None:
    (place.folder / "state").write_text("a file where the folder should be")
    (place.folder / "cache").symlink_to("/nowhere/at/all")


def corrupt_ledger(place: Place) -> None:
    place.call("tick", "check")
    ledger = place.state / "ledger.db"
    raw = bytearray(ledger.read_bytes())
    raw[4096:12288] = b"\xff" * 8192
    ledger.write_bytes(raw)


def nonsense_evidence(place: Place) -> None:
    place.state.mkdir()
    for name in ("pulse", "starts.log", "inside.json", "service", "daemon.lock", "ledger.db"):
        (place.state / name).write_bytes(b"\0\xff{\n" * 100)


def no_home(place: Place) -> None:
    for path in sorted(place.folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    place.folder.rmdir()


def nothing_wrong(place: Place) -> None:
    place.call("tick", "check")


STATES: tuple[Callable[[Place], None], ...] = (
    nothing_wrong,
    broken_configuration,
    wrong_configuration,
    unreadable_folders,
    corrupt_ledger,
    nonsense_evidence,
    no_home,
)


def tree(folder: Path) -> dict[str, tuple[int, int, int, int]]:
    """Every file with what a change of it would change."""
    found = {}
    for path in (folder, *folder.rglob("*")):
        facts = path.lstat() if os.path.lexists(path) else None
        if facts:
            found[str(path)] = (facts.st_mode, facts.st_uid, facts.st_mtime_ns, facts.st_size)
    return found


def test_every_file_of_the_folder_is_a_question_or_shared() -> None:
    files = {path.stem for path in Path(heartbeat.doctor.__file__).parent.glob("[!_]*.py")}
    assert {name.replace("-", "_") for name in QUESTIONS} == files


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_says_what_it_asks_and_is_bounded(name: str) -> None:
    module = QUESTIONS[name]
    assert module.__doc__
    assert callable(module.look)
    assert 0 < getattr(module, "SECONDS", 2.0) <= MOST_SECONDS


@pytest.mark.parametrize("make", STATES, ids=lambda make: make.__name__)
def test_every_question_is_answered_in_any_state_and_nothing_is_changed(
    place: Place, make: Callable[[Place], None]
) -> None:
    make(place)
    before = tree(place.folder)
    answers = consult(case_of(place.folder))
    assert tree(place.folder) == before
    assert {answer.check for answer in answers} == set(QUESTIONS)
    for answer in answers:
        assert answer.status in get_args(Status)
        assert answer.seen
        assert answer.remedy or answer.status in ("ok", "skip"), answer
        # Nothing that happens on the machine of a user is a mistake of ours.
        assert "please report this" not in answer.remedy, answer


def question(look: Callable[[Case], Iterator[Answer]], seconds: float = 2.0) -> ModuleType:
    module = ModuleType("asked")
    vars(module).update(look=look, SECONDS=seconds)
    return module


def test_a_question_that_hangs_costs_only_itself_and_says_so(place: Place) -> None:
    release = threading.Event()

    def hangs(_case: Case) -> Iterator[Answer]:
        yield ok("the first half")
        release.wait(30)

    asked = {"hangs": question(hangs, 0.2), "well": question(lambda _case: iter([ok("well")]))}
    answers = consult(case_of(place.folder), asked)
    release.set()
    assert [(answer.check, answer.status) for answer in answers] == [("hangs", "ok"), ("hangs", "fail"), ("well", "ok")]
    assert "not answered within 0.2 s" in answers[1].seen


def test_a_question_that_fails_costs_only_itself_and_does_not_show_its_error(place: Place) -> None:
    def breaks(_case: Case) -> Iterator[Answer]:
        yield ok("the first half")
        raise RuntimeError("the password is hunter2")

    asked = {"breaks": question(breaks), "well": question(lambda _case: iter([ok("well")]))}
    answers = consult(case_of(place.folder), asked)
    assert [answer.status for answer in answers] == ["ok", "fail", "ok"]
    assert "hunter2" not in repr(answers)


def test_a_known_secret_is_taken_out_of_whatever_a_question_saw(place: Place) -> None:
    place.file("secret.txt", "c4nary-in-a-file\n")
    place.configure(
        '[agent]\nkind = "command"\ncommand = ["/bin/true"]\n[agent.secrets]\nKEY = { file = "secret.txt" }\n'
    )
    case = case_of(place.folder)
    assert case.config is not None
    asked = {"leaks": question(lambda _case: iter([warn("it said c4nary-in-a-file", "c4nary-in-a-file")]))}
    (answer,) = consult(case, asked)
    assert "c4nary" not in answer.seen + answer.remedy


def test_no_answer_moves_the_cursor_of_a_terminal(place: Place) -> None:
    (answer,) = consult(case_of(place.folder), {"says": question(lambda _case: iter([ok("a\x1b[2Jb\nc")]))})
    assert answer.seen == "a [2Jb c"


def test_the_commands_of_a_remedy_are_for_this_installation(place: Place) -> None:
    told = "`heartbeat start`; the heartbeat of the machine; `sudo -u ada heartbeat why ID`; `sudo heartbeat doctor`"
    asked = {"says": question(lambda _case: iter([warn("seen", told)]))}
    (elsewhere,) = consult(case_of(place.folder), asked)
    here = f"heartbeat --home {place.folder}"
    assert elsewhere.remedy == (
        f"`{here} start`; the heartbeat of the machine; `sudo -u ada {here} why ID`; `sudo {here} doctor`"
    )
    (found,) = consult(case_of(place.folder, {"HEARTBEAT_HOME": str(place.folder)}), asked)
    assert found.remedy == told
