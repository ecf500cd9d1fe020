"""Reading the configuration file, going on behind its faults, so that every one is told at once."""

from __future__ import annotations

import os
import pickle
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from heartbeat.config.agents import AgentSettings
from heartbeat.config.crossing import crossing_problems
from heartbeat.config.fields import check_job_name
from heartbeat.config.options import check_options
from heartbeat.config.settings import ConfigFile, JobSettings, Settings
from heartbeat.config.wording import dotted, nested_too_deeply, parse_toml, problems_of, show, split
from heartbeat.errors import ConfigError, Problem
from heartbeat.paths import Home

_LARGEST = 32 * 1024 * 1024
_Read = TypeVar("_Read", bound=BaseModel)


class JobTables:
    """The tables of the jobs as they stand in the file, handed out one by one.

    Packed into one block: the parser scatters them over 25 times their size, and as long as they
    lie there none of that can be given back.
    """

    def __init__(self, tables: dict[str, Any]) -> None:
        self._count = len(tables)
        packed = BytesIO()
        for name in list(tables):
            pickle.dump((name, tables.pop(name)), packed)
        self._packed = packed.getvalue()

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        packed = BytesIO(self._packed)
        for _ in range(self._count):
            yield pickle.load(packed)  # noqa: S301 - our own bytes


@dataclass(frozen=True, slots=True)
class Reading:
    """A configuration as far as it can be used, and what is wrong with the rest."""

    settings: Settings
    jobs: JobTables
    """Not looked at yet; see `read_job`."""
    problems: tuple[Problem, ...] = ()


def load_settings(home: Home) -> Settings:
    """The settings of *home*, without a look at the jobs; raises ConfigError with every problem."""
    reading = read_settings(home.config_file)
    if reading.problems:
        raise ConfigError(reading.problems)
    return reading.settings


def read_settings(file: Path, *, must_exist: bool = False) -> Reading:
    """Read a configuration, going on behind its faults; raises ConfigError when it cannot be read as TOML at all."""
    table = parse_toml(_read(file, must_exist=must_exist), str(file))
    jobs = table.pop("jobs", {})
    problems = []
    if not isinstance(jobs, dict):
        message, remedy = f"cannot use {show(jobs)}: it must be a table", "write a table for each job, as [jobs.NAME]"
        problems.append(Problem(str(file), "jobs", message, remedy))
        jobs = {}
    settings, faults, broken = _validated(Settings, ConfigFile, table, str(file))
    problems += faults
    if not settings.owner.zone:
        remedy = "write your zone, such as zone = 'Europe/Berlin'"
        problems.append(Problem(str(file), "owner.zone", "cannot tell the time zone of this machine", remedy))
    problems += _agent_problems(settings.agent, str(file), broken)
    problems += crossing_problems(settings, file)
    try:
        return Reading(settings, JobTables(jobs), tuple(problems))
    except RecursionError:
        raise nested_too_deeply(str(file)) from None


def read_job(name: str, table: Any, file: str) -> tuple[JobSettings | None, list[Problem], frozenset[str]]:
    """What a table says of a job, what is wrong with it, and the keys that were left out for that; changes *table*."""
    place = ("jobs", name)
    try:
        check_job_name(name)
    except ValueError as error:
        return None, [Problem(file, dotted(place), *split(error))], frozenset()
    if not isinstance(table, dict):
        message, remedy = f"cannot use {show(table)}: it must be a table", "write its keys in a table of this name"
        return None, [Problem(file, dotted(place), message, remedy)], frozenset()
    job, problems, broken = _validated(JobSettings, JobSettings, table, file, place)
    if job.options:
        problems += check_options(job.options, file, (*place, "options"))
    if job.catch_up == "all" and job.overlap not in (None, "queue"):
        message = f'cannot run every slot that passed with overlap = "{job.overlap}"'
        remedy = 'remove overlap, or write catch_up = "once"'
        problems.append(Problem(file, dotted((*place, "overlap")), message, remedy))
    return job, problems, frozenset(key for (key,) in broken)


def _validated(
    model: type[_Read], known: type[BaseModel], table: dict[str, Any], file: str, place: tuple[str, ...] = ()
) -> tuple[_Read, list[Problem], set[tuple[str, ...]]]:
    """The model of a table, its problems, and the keys that are taken out of *table* for them.

    A key is that of a job, or of a section; *known* is the model whose keys are told as the known ones.
    """
    problems: list[Problem] = []
    broken: set[tuple[str, ...]] = set()
    while True:
        try:
            return model.model_validate(table), problems, broken
        except ValidationError as error:
            problems += problems_of(error, known, file, place)
            faults = error.errors(include_url=False, include_context=False, include_input=False)
            for key in {_key_of(fault["loc"], place) for fault in faults}:
                broken.add(key)
                _take_out(table, key)


def _key_of(loc: tuple[int | str, ...], place: tuple[str, ...]) -> tuple[str, ...]:
    # A section that is a list of tables, such as rules, is left out as a whole.
    is_whole = place or not all(isinstance(part, str) for part in loc[:2])
    return tuple(map(str, loc[: 1 if is_whole else 2]))


def _take_out(table: dict[str, Any], key: tuple[str, ...]) -> None:
    *sections, name = key
    for section in sections:
        table = table.get(section, {})
    table.pop(name, None)


def _agent_problems(agent: AgentSettings, file: str, broken: set[tuple[str, ...]]) -> list[Problem]:
    problems = []
    if agent.command and "kind" not in agent.model_fields_set and ("agent", "kind") not in broken:
        message = "cannot tell whether to use the command: no kind is given"
        problems.append(Problem(file, "agent.kind", message, 'write kind = "command"'))
    if agent.kind == "command" and not agent.command and ("agent", "command") not in broken:
        message = 'cannot wake an agent of kind "command" without a command'
        problems.append(Problem(file, "agent.command", message, 'write command = ["/path/to/agent", …]'))
    if agent.kind == "http" and not agent.url and ("agent", "url") not in broken:
        message = 'cannot wake an agent of kind "http" without an address'
        problems.append(Problem(file, "agent.url", message, 'write url = "https://host/v1"'))
    if (agent.kind, agent.format, agent.key) == ("http", "webhook", None) and ("agent", "key") not in broken:
        message = 'cannot sign what goes to an agent of format "webhook" without a key'
        problems.append(Problem(file, "agent.key", message, 'write key = { file = "~/path" }'))
    return problems


def _read(file: Path, *, must_exist: bool) -> bytes:
    try:
        # Without O_NONBLOCK a FIFO in this place would block for ever.
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as opened:
            raw = opened.read(_LARGEST + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except OSError as error:
        # A link to nowhere is a mistake, not an absent configuration.
        if isinstance(error, FileNotFoundError) and not must_exist and not file.is_symlink():
            return b""
        message = f"cannot read it: {error.strerror}"
        problem = Problem(str(file), "", message, "correct the path or the permissions")
        raise ConfigError((problem,)) from None
    if raw is None or len(raw) > _LARGEST:
        message = f"cannot use it: it is not a file of at most {_LARGEST // 1024**2} MiB"
        raise ConfigError((Problem(str(file), "", message, "give a configuration file"),))
    return raw
