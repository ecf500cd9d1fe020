"""Sections [watch.NAME]: the probe and the configuration mean the same by them; and bad evidence never is health."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heartbeat.config.reading import read_settings
from heartbeat.config.watching import _EVIDENCE, WatchSettings
from heartbeat.paths import share
from heartbeat.probe.presets import PRESETS
from heartbeat.probe.targets import find_target
from heartbeat.probe.watched import DEFAULTS, EVIDENCE, Target, read_value
from tests.probe.scenes import INF, NAN, Scene, dead_pid, ticks_of

CONFIG = share("config")


def test_the_keys_are_those_that_the_configuration_checks() -> None:
    assert list(WatchSettings.model_fields) == list(DEFAULTS)
    assert _EVIDENCE == EVIDENCE
    preset = WatchSettings.model_fields["preset"].annotation
    assert {name for literal in get_args(preset) for name in get_args(literal)} == set(PRESETS)


def test_the_defaults_are_the_same_too() -> None:
    for key, field in WatchSettings.model_fields.items():
        given = field.default.total_seconds() if isinstance(field.default, timedelta) else field.default
        assert (given or type(DEFAULTS[key])()) == DEFAULTS[key], key


@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_a_preset_could_stand_in_a_section(preset: str) -> None:
    section = {"preset": preset}
    for key, value in PRESETS[preset].items():
        given = f"{value:.0f}s" if isinstance(value, float) else list(value) if isinstance(value, tuple) else value
        assert read_value(key, given) == value, key
        section[key] = given  # type: ignore[assignment]
    WatchSettings.model_validate(section)


def test_every_key_is_explained_on_the_reference_page() -> None:
    text = (CONFIG / "default.toml").read_text()
    part = text[text.index("\n[watch]\n") : text.index("\n[daemon]\n")]
    taken_in = "\n".join(line.removeprefix("#") for line in part.splitlines() if not line.startswith("# "))
    sections = tomllib.loads(taken_in)["watch"].values()
    assert {key for section in sections for key in section} == set(DEFAULTS)


def test_the_example_is_understood_by_both(tmp_path: Path) -> None:
    file = CONFIG / "examples" / "watch.toml"
    watch = read_settings(file).settings.watch
    assert set(watch) == {"hermes", "hermes-work", "openclaw", "backup", "bridge"}
    for name in watch:
        target = find_target(name, str(file), {})
        assert (target.problems, target.is_judgeable) == ((), True), name
    work = find_target("hermes-work", str(file), {})
    assert (work.unit, work.label) == ("hermes-gateway-work.service", "ai.hermes.gateway-work")


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ('preset = "hermez"', "hermez"),
        ("unit = 5", "unit"),
        ('stale = "15 minutes"', "15 minutes"),
        ('home = "x"\npreset = "hermes"', "write a whole path"),
        ('state_file = "state.json"', "or home as well"),
        ('home = "~/x"', "names nothing to look at"),
        ('statefile = "x"\nunit = "y"', "statefile"),
        ("required = []\npreset = 'hermes'", "required"),
    ],
)
def test_what_the_probe_ignores_the_configuration_tells(section: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"[watch.x]\n{section}\n")
    problems = read_settings(file).problems
    assert any(told in str(problem) for problem in problems), problems
    assert all(problem.key.startswith("watch.x") for problem in problems)


# Evidence that is absent, stale, of the future or malformed

WRONG_STAMPS: st.SearchStrategy[Any] = (
    st.sampled_from([None, NAN, INF, -INF, True, "", "now", "0", [], {}, 0, -1, 1e300, 2**80])
    | st.floats(max_value=-181).map(lambda age: ("ago", -age))
    | st.floats(min_value=61, max_value=1e12).map(lambda age: ("ago", -age))
    | st.floats(min_value=1000, max_value=1e9).map(lambda age: ("ago", age))
    | st.text(max_size=8)
)
WRONG_PIDS: st.SearchStrategy[Any] = st.sampled_from([None, "dead", "1", True, 0, -1, 2**31, 2**70, 1.5, [], {}, ""])
PLATFORMS: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=9), inner, max_size=2),
)
RECORDS = st.one_of(  # each is wrong in one way at least
    st.fixed_dictionaries({"pid": st.just("live"), "start_time": st.just("live"), "updated_at": WRONG_STAMPS}),
    st.fixed_dictionaries({"pid": WRONG_PIDS, "start_time": st.just("live"), "updated_at": st.just(("ago", 5))}),
    st.fixed_dictionaries(
        {"pid": st.just("live"), "start_time": st.integers(1, 999), "updated_at": st.just(("ago", 5))}
    ),
    st.fixed_dictionaries({"pid": WRONG_PIDS, "updated_at": WRONG_STAMPS, "platforms": PLATFORMS}),
).map(lambda fields: ("json", fields))
FILES = st.just(("absent", None)) | RECORDS | st.binary(max_size=60).map(lambda raw: ("raw", raw))
STARTS = st.just(("absent", None)) | st.binary(max_size=60).map(lambda raw: ("raw", raw))


@pytest.fixture
def write(scene: Scene) -> Callable[[str, tuple[str, Any]], None]:
    dead = dead_pid()

    def filled(key: str, value: Any) -> Any:
        if value == "live":
            return scene.live if key == "pid" else ticks_of(scene.live)
        if value == "dead":
            return dead
        return scene.now - value[1] if isinstance(value, tuple) else value

    def put(name: str, content: tuple[str, Any]) -> None:
        kind, value = content
        path = scene.put(name, "")
        path.unlink()
        if kind == "raw":
            path.write_bytes(value)
        elif kind == "json":
            path.write_text(json.dumps({key: filled(key, each) for key, each in value.items()}))

    return put


def test_bad_evidence_never_is_health(scene: Scene, write: Callable[[str, tuple[str, Any]], None]) -> None:
    scene.config(preset="hermes", unit="")  # nobody else vouches for it

    @settings(max_examples=300)
    @given(state=FILES, heartbeat=FILES, pid_file=FILES, starts=STARTS)
    def never_up(state: Any, heartbeat: Any, pid_file: Any, starts: Any) -> None:
        write("gateway_state.json", state)
        write("state/gateway.heartbeat", heartbeat)
        write("gateway.pid", pid_file)
        write("gateway-starts.log", starts)
        health = scene.examine()
        assert health.state != "up", health
        assert all(message.isprintable() for _, message in health.problems)

    never_up()


def test_bad_evidence_never_is_health_though_a_supervisor_runs_something(
    scene: Scene, write: Callable[[str, tuple[str, Any]], None]
) -> None:
    scene.unit()

    @settings(max_examples=40)
    @given(state=FILES, heartbeat=FILES)
    def never_up(state: Any, heartbeat: Any) -> None:
        write("gateway_state.json", state)
        write("state/gateway.heartbeat", heartbeat)
        assert scene.examine().state != "up"

    never_up()


@settings(max_examples=100)
@given(key=st.sampled_from(sorted(DEFAULTS)), value=PLATFORMS | st.integers() | st.dates())
def test_any_value_is_taken_in_its_form_or_refused(key: str, value: Any) -> None:
    try:
        read = read_value(key, value)
    except ValueError:
        return
    assert type(read) is type(DEFAULTS[key])
    assert getattr(Target("x", {key: read}), key) == read
