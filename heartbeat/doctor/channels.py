"""The ways to the owner: whether each can be used, and whether there is any."""

from __future__ import annotations

from collections.abc import Iterator

from heartbeat.channels import check_channels
from heartbeat.doctor._answer import Answer, fail, ok, warn
from heartbeat.doctor._case import Case


def look(case: Case) -> Iterator[Answer]:
    """Nothing is sent; `heartbeat messages test` does."""
    channels = case.settings.channels
    if not channels:
        yield warn(
            "there is no channel: only `heartbeat brief` tells what was found",
            f"add [channels.NAME] to {case.home.config_file}",
        )
        return
    problems = check_channels(case.settings, case.home, case.environ, str(case.home.config_file))
    for problem in problems:
        yield fail(problem.message, problem.remedy, problem.key)
    for name, channel in channels.items():
        if not any(problem.key.startswith(f"channels.{name}.") for problem in problems):
            yield ok(
                f"{channel.kind}: nothing speaks against it; `heartbeat messages test {name}` sends something", name
            )
    if not any("incident" in channel.takes for channel in channels.values()):
        yield warn(
            "no channel takes incidents: faults are told only in the brief",
            'add "incident" to takes of one',
            "incidents",
        )
