"""Other daemons: `[watch.NAME]` of the configuration, read by the probe itself. Standard library only.

The rest of the configuration may be as broken as it likes. What is wrong in a section is a problem of its target, which
then is never `up`.
"""

from __future__ import annotations

import os
import stat

from heartbeat.probe.presets import HOME_VARIABLES, PRESETS, service_of
from heartbeat.probe.watched import DEFAULTS, EVIDENCE, FILES, Target, read_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from heartbeat.probe.health import Health

_LARGEST = 32 * 1024 * 1024
_OF_STATE = ("required", "phases")
"""Keys about what a state file says: without one they would never be looked at."""
_UNITS = (".service", ".timer", ".scope", ".socket", ".path", ".target")


def known_targets(config_file: str) -> tuple[str, ...]:
    """The names of what the configuration has watched; none when it cannot be read, see `config_problems`."""
    sections, _ = _read_sections(config_file)
    return tuple(filter(None, sections))


def config_problems(config_file: str) -> tuple[tuple[str, str], ...]:
    """What keeps targets from being known, as (code, message)."""
    sections, fault = _read_sections(config_file)
    if fault:
        return (("config_unreadable", fault),)
    return (_invalid('""', "a target needs a name"),) if "" in sections else ()


def examine_target(
    name: str,
    folders: tuple[str, str, str],
    *,
    now: float | None = None,
    environ: Mapping[str, str] | None = None,
    thorough: bool = True,
) -> Health:
    """The state of a target now; *folders* are those of the installation whose configuration names it.

    What restarts it is looked for only when the look is *thorough*: it can make a target no worse than `degraded`.
    """
    import time

    from heartbeat.probe.foreign import gather_foreign
    from heartbeat.probe.foreign_judge import judge_target

    target = find_target(name, f"{folders[0]}/config.toml", os.environ if environ is None else environ)
    evidence = gather_foreign(target, thorough=thorough)
    return judge_target(target, evidence, now=time.time() if now is None else now, monotonic=time.monotonic())


def find_target(name: str, config_file: str, environ: Mapping[str, str]) -> Target:
    """What the configuration says of a target; a preset's name stands for itself when the configuration is silent."""
    sections, fault = _read_sections(config_file)
    problems = [("config_unreadable", fault)] if fault else []
    section = sections.get(name, {"preset": name} if name in PRESETS else None)
    if section is None:
        if not fault:
            problems.append(("target_unknown", f"{config_file} has no section [watch.{name}]; write one"))
        return Target(name, {}, tuple(problems))
    if not isinstance(section, dict):
        section = {}
        problems.append(_invalid(name, "it must be a table"))
    values: dict[str, object] = {}
    for key, value in section.items():
        try:
            values[key] = read_value(key, value)
        except ValueError as error:
            problems.append(_invalid(name, str(error)))
    preset = str(values.get("preset", ""))
    if preset:
        values = {**_of_preset(preset, values, environ), **values}
    faults, values = _with_whole_names(values)
    problems += [_invalid(name, reason) for reason in faults]
    if not values.get("state_file"):
        problems += [_invalid(name, f"{key} needs a state_file") for key in _OF_STATE if values.get(key)]
    if not any(values.get(key) for key in EVIDENCE):
        problems.append(_invalid(name, f"it names nothing to look at; write a preset, or one of {', '.join(EVIDENCE)}"))
    usual = os.path.expanduser(str(PRESETS[preset]["home"])) if preset else values["home"]
    return Target(name, values, tuple(problems), is_usual=values["home"] == usual)


def _read_sections(config_file: str) -> tuple[Mapping[str, object], str]:
    """The sections by name, and what keeps them from being read."""
    import tomllib  # here: whoever asks of heartbeat itself does not wait for it

    try:
        table = tomllib.loads(_text_of(config_file))
    except FileNotFoundError:
        if not os.path.islink(config_file):
            return {}, ""
        return {}, f"cannot read {config_file}: it is a link to nothing; see `heartbeat check`"
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        return {}, f"cannot read {config_file}: {reason}; see `heartbeat check`"
    watch = table.get("watch", {})
    return (watch, "") if isinstance(watch, dict) else ({}, f"cannot use watch in {config_file}: it must be a table")


def _text_of(config_file: str) -> str:
    from heartbeat.pulse import read_whole

    if stat.S_ISFIFO(os.stat(config_file).st_mode):
        raise OSError("it is a pipe")  # from which nothing would be read, as from an empty file
    return read_whole(config_file, _LARGEST).decode()


def _of_preset(preset: str, given: Mapping[str, object], environ: Mapping[str, str]) -> dict[str, object]:
    """What the preset says, for the home that is given, or that the daemon's own variable names."""
    values: dict[str, object] = dict(PRESETS[preset])
    usual = os.path.expanduser(str(values["home"]))
    home = os.path.expanduser(str(given.get("home") or environ.get(HOME_VARIABLES[preset]) or usual)).rstrip("/")
    return {**values, **service_of(preset, home), "home": home}


def _with_whole_names(values: Mapping[str, object]) -> tuple[list[str], dict[str, object]]:
    """What is wrong with the names of files, and the values with every file by its whole name."""
    home = os.path.expanduser(str(values.get("home", "")))
    faults, filled = [], {**values, "home": home}
    if home and not os.path.isabs(home):
        faults.append("home must be a whole path, or one from ~")
        filled["home"] = home = ""
    for key in FILES:
        value = values.get(key, ())
        names = [_whole(name, home) for name in (value if isinstance(value, tuple) else (str(value),)) if name]
        whole = tuple(filter(os.path.isabs, names))
        if len(whole) < len(names):
            faults.append(f"{key} must be a whole path, or home must say which folder it is in")
        filled[key] = whole if isinstance(DEFAULTS[key], tuple) else "".join(whole)
    unit = str(values.get("unit", ""))
    filled["unit"] = f"{unit}.service" if unit and not unit.endswith(_UNITS) else unit
    return faults, filled


def _whole(name: str, home: str) -> str:
    name = os.path.expanduser(name)
    if not name.startswith("{tmp}"):  # of a preset
        return os.path.join(home, name)
    try:
        uid = os.stat(home).st_uid
    except OSError:
        uid = os.getuid()
    temporary = os.environ.get("TMPDIR", "").rstrip("/") or "/tmp"  # noqa: S108 - only read
    return name.replace("{tmp}", temporary).replace("{uid}", str(uid))


def _invalid(name: str, reason: str) -> tuple[str, str]:
    return "target_invalid", f"cannot use all of [watch.{name}]: {reason}"
