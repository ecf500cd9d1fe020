"""The inline header of a script: a `# /// script` block whose table [tool.heartbeat] declares the job's defaults."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from pydantic import Field, ValidationError

from heartbeat.config import Schedules
from heartbeat.config.fields import Dialect, Text
from heartbeat.config.options import check_options
from heartbeat.config.times import Limit
from heartbeat.config.wording import parse_toml, problems_of
from heartbeat.errors import ConfigError, Problem
from heartbeat.job.script import HEAD, Script

_PLACE = ("tool", "heartbeat")
_KEY = ".".join(_PLACE)
_LEADERS = (b"#", b"//")


class Header(Schedules):
    """What a script says of itself; None where it leaves the matter to the defaults."""

    description: Text = ""
    timeout: Limit | None = None
    prompt: Text | None = None
    require_token: bool | None = None
    dialect: Dialect | None = None
    baseline: bool | None = None
    options: dict[str, Any] = Field(default_factory=dict)

    @property
    def declares_options(self) -> bool:
        return "options" in self.model_fields_set


@dataclass(frozen=True, slots=True)
class _Block:
    text: bytes
    """The TOML, without the comment marks."""
    first_line: int
    """Where the TOML begins in the script."""


def read_header(script: Script) -> Header:
    """The header of a script, empty when it has none; raises ConfigError with every fault of it."""
    block = _find_block(script.head, str(script.path))
    if block is None:
        return Header()
    table = parse_toml(block.text, str(script.path), first_line=block.first_line).get("tool", {})
    declared = table.get("heartbeat", {}) if isinstance(table, dict) else {}
    return _validate(declared, block, str(script.path))


def needs_heartbeat(script: Script) -> bool:
    """Whether a valid header lists heartbeat among its dependencies: only our own Python is sure to have it."""
    block = _find_block(script.head, str(script.path)) if script.path.suffix == ".py" else None
    listed = parse_toml(block.text, str(script.path)).get("dependencies") if block else None
    names = [entry for entry in listed if isinstance(entry, str)] if isinstance(listed, list) else []
    return any(re.match(r"heartbeat(?![\w.-])", name) for name in names)


def _validate(declared: object, block: _Block, file: str) -> Header:
    try:
        header = Header.model_validate(declared)
    except ValidationError as error:
        problems = problems_of(error, Header, file, _PLACE)
    else:
        problems = check_options(header.options, file, (*_PLACE, "options"))
        if not problems:
            return header
    raise ConfigError(tuple(_with_line(problem, block) for problem in problems))


def _find_block(head: bytes, file: str) -> _Block | None:
    """The one `script` block; a block of another kind, and text that merely looks like the start, is not ours."""
    lines = [line.rstrip() for line in head.split(b"\n")]
    starts = [
        (number, leader) for number, line in enumerate(lines) for leader in _LEADERS if line == leader + b" /// script"
    ]
    if not starts:
        return None
    if len(starts) > 1:
        raise _broken(file, starts[1][0] + 1, "a second header begins there", "keep one `/// script` block")
    start, leader = starts[0]
    inside: list[bytes] = []
    for line in lines[start + 1 :]:
        if line == leader + b" ///":
            return _Block(b"\n".join(inside), start + 2)
        if line != leader and not line.startswith(leader + b" "):
            break
        inside.append(line[len(leader) + 1 :])
    mark, limit = leader.decode(), HEAD // 1024
    remedy = f"end it with a line `{mark} ///`, with only comment lines between, in the first {limit} KiB"
    raise _broken(file, start + 1, "the header that begins there does not end", remedy)


def _broken(file: str, line: int, wrong: str, remedy: str) -> ConfigError:
    return ConfigError((Problem(file, _KEY, f"cannot read the header at line {line}: {wrong}", remedy),))


def _with_line(problem: Problem, block: _Block) -> Problem:
    """The problem with the line of its key, as far as a look at the text can tell."""
    path = re.split(r"[.\[]", problem.key.removeprefix(_KEY + "."))
    text = block.text.decode()
    for name in reversed([part for part in path if part]):
        found = re.search(rf"(?m)^[^#\n]*\b{re.escape(name)}\b", text)
        if found:
            line = block.first_line + text[: found.start()].count("\n")
            return replace(problem, message=f"{problem.message} (line {line})")
    return replace(problem, message=f"{problem.message} (line {block.first_line})")
