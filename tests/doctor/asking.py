"""What the tests of the doctor share: a case made of a home, and one question asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from heartbeat.clock import utc_now
from heartbeat.doctor import Answer, Case, admit, consult, questions
from heartbeat.inside import INSIDE, write_inside
from heartbeat.job import load
from heartbeat.paths import Home, find_home

SHELL = "/usr/local/bin:/usr/bin:/bin"


def home_of(folder: Path) -> Home:
    return find_home(str(folder), {})


def case_of(folder: Path, environ: Mapping[str, str] | None = None) -> Case:
    """The installation in a folder, as a shell with this environment sees it."""
    return admit(home_of(folder), {"PATH": SHELL, "HOME": str(folder), **(environ or {})}, utc_now())


def ask(question: str, case: Case) -> dict[str, Answer]:
    """The answers to one question, by what each is about."""
    told = consult(case, {question: questions()[question]})
    # Every command names the home of the test; what else it says is what tests look at.
    answers = [replace(answer, remedy=answer.remedy.replace(case.option, "")) for answer in told]
    assert all(answer.check == question for answer in answers)
    assert all(answer.remedy for answer in answers if answer.status in ("warn", "fail")), answers
    found = {answer.about: answer for answer in answers}
    assert len(found) == len(answers), answers
    return found


def status(question: str, case: Case) -> dict[str, str]:
    return {about: answer.status for about, answer in ask(question, case).items()}


def see_inside(folder: Path, environ: Mapping[str, str]) -> None:
    """Let this process write down what it sees, as a daemon with that environment does."""
    home = home_of(folder)
    home.state.mkdir(mode=0o700, exist_ok=True)
    assert write_inside(home.state / INSIDE, load(home, environ), home, environ)
