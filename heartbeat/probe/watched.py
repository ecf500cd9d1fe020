"""What is watched, and the keys that say so: a section `[watch.NAME]` in the probe's words. Standard library only.

`heartbeat.config.watching` has the same keys for `heartbeat check`, which the probe is too quick to load; a test
compares them.
"""

from __future__ import annotations

from heartbeat.probe.presets import PRESETS
from heartbeat.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_SCOPES = ("user", "system")
DEFAULTS: Mapping[str, str | float | tuple[str, ...]] = {
    "preset": "",
    "home": "",
    "installed": (),
    "state_file": "",
    "pid_key": "pid",
    "start_key": "start_time",
    "updated_key": "updated_at",
    "phase_key": "",
    "phases": (),
    "platforms_key": "platforms",
    "required": (),
    "stale": 900.0,
    "heartbeat_file": "",
    "heartbeat_stale": 180.0,
    "pid_file": (),
    "starts_log": "",
    "unit": "",
    "scope": "",
    "label": "",
    "restarters": (),
    "commands": (),
}
"""What holds when neither the section nor its preset says anything; durations in seconds."""
FILES = ("installed", "state_file", "heartbeat_file", "pid_file", "starts_log")
EVIDENCE = ("state_file", "heartbeat_file", "pid_file", "unit", "label")
"""Of these a section must name at least one: without it there is nothing to look at."""


class Target(Record):
    """One daemon that is watched: the keys of its section, which config/default.toml explains, and of its preset.

    Files are whole names; `home` is empty when there is none. `problems` is what is wrong in the section, as
    (code, message); `is_judgeable` says that enough of it is left to look for the daemon, `is_usual` that its commands
    mean this one when they name no other home.
    """

    __slots__ = (*DEFAULTS, "is_judgeable", "is_usual", "name", "problems")

    preset: str
    home: str
    installed: tuple[str, ...]
    state_file: str
    pid_key: str
    start_key: str
    updated_key: str
    phase_key: str
    phases: tuple[str, ...]
    platforms_key: str
    required: tuple[str, ...]
    stale: float
    heartbeat_file: str
    heartbeat_stale: float
    pid_file: tuple[str, ...]
    starts_log: str
    unit: str
    scope: str
    label: str
    restarters: tuple[str, ...]
    commands: tuple[str, ...]

    def __init__(
        self,
        name: str,
        values: Mapping[str, object],
        problems: tuple[tuple[str, str], ...] = (),
        *,
        is_usual: bool = True,
    ) -> None:
        self.name = name
        self.problems = problems
        self.is_usual = is_usual
        self.is_judgeable = any(values.get(key) for key in EVIDENCE)
        for key, default in DEFAULTS.items():
            setattr(self, key, values.get(key, default))


def read_value(key: str, value: object) -> object:
    """A value of a section in the form of the key's default; raises ValueError with what is wrong."""
    default = DEFAULTS.get(key)
    if default is None:
        raise ValueError(f"{key} is no key of it; known are: {', '.join(DEFAULTS)}")
    if isinstance(default, float):
        return _seconds(key, value)
    if isinstance(default, tuple):
        items = value if isinstance(value, list) else [value]
        if not all(map(_is_text, items)):
            raise ValueError(f"{key} must be text, or a list of it")
        return tuple(items)
    if not _is_text(value):
        raise ValueError(f"{key} must be text")
    known = {"preset": tuple(PRESETS), "scope": _SCOPES}.get(key)
    if known and value not in known:
        raise ValueError(f"{key} must be one of: {', '.join(known)}")
    return value


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value.isprintable()


def _seconds(key: str, value: object) -> float:
    """A duration such as `1h30m`; `heartbeat.durations` reads the same, and is too slow to load."""
    total, digits = 0, ""
    for letter in value if isinstance(value, str) else "?":
        if letter.isascii() and letter.isdigit() and len(digits) < 9:  # noqa: PLR2004 - more is longer than any life
            digits += letter
        elif letter in _UNITS and digits:
            total, digits = total + int(digits) * _UNITS[letter], ""
        else:
            digits = "?"
            break
    if digits or not total:
        raise ValueError(f'{key} must be a duration such as "15m"')
    return float(total)
