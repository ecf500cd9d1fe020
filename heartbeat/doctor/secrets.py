"""Whether each secret can be had, by this shell and by the daemon; none is shown, and no program is run for one."""

from __future__ import annotations

from collections.abc import Iterator

from heartbeat.doctor._answer import Answer, count, fail, ok, skip
from heartbeat.doctor._case import Case
from heartbeat.job import Config
from heartbeat.named import secrets_named


def look(case: Case) -> Iterator[Answer]:
    """A variable of this shell's is no variable of a service's: what the daemon said of it counts."""
    config = case.config
    if config is None:
        yield skip("the configuration is not valid; see the answer to the question configuration")
        return
    inside = case.inside if case.lives else None
    there = set(inside.unready) if inside else None
    unready = {problem.key: problem for problem in config.unready}
    for key, problem in unready.items():
        if there is None or key in there:
            yield fail(problem.message, problem.remedy, key)
        else:
            yield ok("the daemon has it, and this shell does not", key)
    for key in sorted((there or set()) - unready.keys()):
        remedy = 'keep it in a file, as { file = "~/path" }; if it was put there since: `heartbeat restart`'
        yield fail("this shell has it, and the daemon could not have it when it read its configuration", remedy, key)
    yield from _count(config)


def _count(config: Config) -> Iterator[Answer]:
    named = set(secrets_named(config))
    if not named:
        yield ok("the configuration names none")
    elif not config.unready:
        kept = sum(bool(secret.command or secret.keyring) for secret in named)
        asked = f"; programs keep {kept} of them, and were not asked" if kept else ""
        yield ok(f"{count(len(named), 'secret')} named, and nothing in this shell speaks against having them{asked}")
