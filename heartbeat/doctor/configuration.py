"""Whether the configuration can be used: every problem at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from heartbeat.doctor._answer import Answer, count, fail, ok, warn
from heartbeat.doctor._case import Case
from heartbeat.errors import HeartbeatError
from heartbeat.service.reading import unread


def look(case: Case) -> Iterator[Answer]:
    """A daemon that runs goes on with the last valid one, and does not start again with a broken one."""
    file = case.home.config_file
    for problem in case.problems:
        yield fail(f"{problem.file}: {problem.message}", problem.remedy, problem.key)
    if case.config is None:
        return
    if not file.exists():
        yield warn(f"{file} is not there: everything has its default, and nothing is scheduled", "run `heartbeat init`")
        return
    jobs = case.config.jobs
    on = sum(job.enabled and not job.policy.paused for job in jobs.values())
    jobs_on = f"{on} of {count(len(jobs), 'job')} {'is' if on == 1 else 'are'} on"
    seen = f"{file} is valid: {jobs_on}, the agent is {case.settings.agent.kind}"
    yield ok(seen) if on else warn(seen, f"add a job to {file}, such as [jobs.due-queue]")
    yield from _unread(case)


def _unread(case: Case) -> Iterator[Answer]:
    """A daemon goes by what it read, not by what was written since."""
    with suppress(HeartbeatError):
        if (pid := unread(case.home)) is not None:
            seen = f"process {pid} runs with the configuration as it was before the last change"
            yield warn(seen, f"run `{case.as_owner}heartbeat reload`", "reload")
