"""Whether each source of each job can be read: a file is opened, a server is logged in to, and nothing is kept."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Event, Timer

from heartbeat.clock import new_id, utc_now
from heartbeat.config.secret import expand
from heartbeat.config.wording import split
from heartbeat.doctor import _worker
from heartbeat.doctor._answer import Answer, fail, ok, skip, warn
from heartbeat.doctor._answer import count as several
from heartbeat.doctor._case import Case
from heartbeat.errors import ConfigError
from heartbeat.job import Job
from heartbeat.job.environment import environment
from heartbeat.job.secrets import secret_values
from heartbeat.paths import share
from heartbeat.process import Command, execute, redacted
from heartbeat.queue.refused import FOLDER, REFUSED
from heartbeat.reach import MISSING, OK, reach

SECONDS = 14.0
_ALL, _EACH, _START, _KEEPERS = 12.0, 5.0, 4.0, 3.0
"""For all jobs; for a source; for the process that asks, beside it; for the programs that keep its secrets."""
_AT_ONCE = 4
_ASKED = ("calendar_lookahead", "vip_mail", "artist_scan")


def look(case: Case) -> Iterator[Answer]:
    """Side by side; a job that is off is left out."""
    if case.config is None:
        yield skip("the configuration is not valid; see the answer to the question configuration")
        return
    jobs = [job for job in case.config.jobs.values() if job.enabled]
    shipped = {job.name: _shipped(job) for job in jobs}
    asked = [job for job in jobs if shipped[job.name] in _ASKED]
    # Whoever still asks then would keep the command from ending.
    with _ringing(_ALL) as stop, ThreadPoolExecutor(_AT_ONCE) as pool:
        for answers in pool.map(lambda job: _ask(case, job, stop), asked):
            yield from answers
    if "due_queue" in shipped.values():
        yield _queue(case)
    for job in (job for job in jobs if shipped[job.name] == "place"):
        yield _place(case, job)
    if own := sorted(name for name, stem in shipped.items() if not stem):
        seen = f"what {', '.join(own)} read, only these scripts know"
        yield skip(seen, "own scripts", f"run `heartbeat tick {own[0]} --dry-run`")
    if not jobs:
        yield skip("no job is configured")


def _shipped(job: Job) -> str:
    """The stem of a shipped script; empty for the owner's own."""
    return job.script.stem if job.script.parent == share("jobs") else ""


@contextmanager
def _ringing(seconds: float) -> Iterator[Event]:
    """An event that is set after so long."""
    stop = Event()
    timer = Timer(seconds, stop.set)
    timer.daemon = True
    timer.start()
    try:
        yield stop
    finally:
        timer.cancel()


def _ask(case: Case, job: Job, stop: Event) -> list[Answer]:
    if not job.options.get("sources"):
        return [
            fail(
                "it has no source, and so finds nothing",
                f"add some under sources in [jobs.{job.name}.options]",
                job.name,
            )
        ]
    # A cache that is thrown away: what the script remembers must not change by our asking.
    with tempfile.TemporaryDirectory(prefix="heartbeat-doctor-") as scratch, _ringing(_KEEPERS) as patience:
        home, mark = replace(case.home, cache=Path(scratch)), new_id("doctor", utc_now())
        try:
            env = environment(
                job,
                case.settings,
                home,
                run_id=mark,
                slot=None,
                now=case.now,
                token="",
                environ=case.environ,
                stop=patience,
            )
        except ConfigError as error:
            return [fail(problem.message, problem.remedy, f"{job.name}: {problem.key}") for problem in error.problems]
        return _answers(case, job, env, mark, stop)


def _answers(case: Case, job: Job, env: dict[str, str], mark: str, stop: Event) -> list[Answer]:
    cache = str(case.home.cache / "jobs" / job.name)
    question = {"script": job.script.stem, "seconds": _EACH, "cache": cache}
    # -P: our modules beside it must not shadow those of a library.
    argv = (sys.executable, "-P", _worker.__file__)
    command = Command(
        argv, env, tempfile.gettempdir(), timedelta(seconds=_EACH + _START), mark, json.dumps(question).encode()
    )
    ended = redacted(execute(command, stop), secret_values(job, env))
    try:
        found = json.loads(ended.stdout.joined())
    except ValueError:
        why = "it took too long" if ended.timed_out or ended.interrupted else "it ended without an answer"
        return [fail(f"its sources could not be asked: {why}", f"run `heartbeat tick {job.name} --dry-run`", job.name)]
    return [_answer(job, *each) for each in found]


def _answer(job: Job, name: str, kind: str, fault: str) -> Answer:
    about = f"{job.name}: {name}"
    if not fault:
        return ok(f"it can be read{f', by {kind}' if kind else ''}", about)
    message, remedy = split(ValueError(fault))
    return fail(message or fault, remedy if message else "see the options of the job", about)


def _queue(case: Case) -> Answer:
    folder = case.home.config / FOLDER
    if reach(str(folder)) not in (OK, MISSING):
        return fail(f"the folder {folder} cannot be read", f"`chmod u+rwx {folder}`", "queue")
    refused = folder / REFUSED
    try:
        number = sum(not path.name.endswith(".reason") for path in refused.iterdir())
    except OSError:
        number = 0
    if number:
        return warn(f"{several(number, 'file')} refused, in {refused}", f"read their .reason: `ls {refused}`", "queue")
    return ok("it is in the ledger, and nothing that was dropped for it was refused", "queue")


def _place(case: Case, job: Job) -> Answer:
    file = str(job.options.get("file", ""))
    if not file:
        return fail("it has no file, and so knows no place", f"name one as file in [jobs.{job.name}.options]", job.name)
    path = str(expand(file, case.home.config, case.environ))
    word = reach(path)
    if word == OK:
        return ok(f"{path} can be read", job.name)
    return fail(
        f"{path} cannot be read: {word}",
        "see whether the phone's shortcut has written it, and its permissions",
        job.name,
    )
