"""Whether the configuration can be used: every problem at once."""

from __future__ import annotations

from collections.abc import Iterator

from heartbeat.doctor._answer import Answer, fail, ok, warn
from heartbeat.doctor._case import Case


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
    seen = f"{file} is valid: {on} of {len(jobs)} jobs are on, the agent is {case.settings.agent.kind}"
    yield ok(seen) if on else warn(seen, f"add a job to {file}, such as [jobs.due-queue]")
