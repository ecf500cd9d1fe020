"""The scripts that the jobs of one configuration name: each folder is listed, each file read and checked only once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from heartbeat.errors import ConfigError
from heartbeat.job.header import Header, needs_heartbeat, read_header
from heartbeat.job.script import Folders, Unusable, check_script, find_script
from heartbeat.paths import Home


@dataclass(frozen=True, slots=True)
class Program:
    """A script that will start, and what it says of itself."""

    path: Path
    argv: tuple[str, ...]
    shipped: bool
    header: Header


class Programs:
    def __init__(self, home: Home, environ: Mapping[str, str]) -> None:
        self._folders = Folders(home)
        self._home, self._environ = home, environ
        self._known: dict[tuple[str, str], Program | Unusable | ConfigError] = {}

    def find(self, job: str, given: str | None, search_path: str) -> Program | Unusable | ConfigError:
        """The program of a job, by the path *given* or by the job's name, or what is wrong with it."""
        if given is None:
            return self._read(job, given, search_path)
        if (given, search_path) not in self._known:
            self._known[given, search_path] = self._read(job, given, search_path)
        return self._known[given, search_path]

    def _read(self, job: str, given: str | None, search_path: str) -> Program | Unusable | ConfigError:
        try:
            script = find_script(job, given, self._home, self._environ, self._folders)
            check_script(script, search_path)
            header = read_header(script)
            argv = script.argv(ours=script.uses_our_python or needs_heartbeat(script))
        except (Unusable, ConfigError) as error:
            return error
        return Program(script.path, argv, script.shipped, header)
