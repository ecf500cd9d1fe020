"""The section [channels]: what a channel must say, what it takes, and what keeps it from being used."""

from __future__ import annotations

from pathlib import Path

import pytest

from heartbeat.channels import check_channels, routes_of
from heartbeat.config.reading import read_settings
from heartbeat.errors import Problem
from heartbeat.job import load
from heartbeat.model import MessageKind, Urgency
from heartbeat.paths import find_home
from heartbeat.routing import Route
from tests.conftest import Place


def problems_of(folder: Path, table: str) -> tuple[Problem, ...]:
    file = folder / "config.toml"
    file.write_text(f"[owner]\nzone = 'UTC'\n[channels.way]\n{table}")
    return read_settings(file).problems


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("kind = 'apprise'", 'kind "apprise" without a url'),
        ("kind = 'apprise'\nurl = 'ntfy://topic'", "cannot keep a secret in"),
        ("kind = 'apprise'\nurl = { file = 'x' }\npath = 'y'", "cannot use path"),
        ("kind = 'command'", 'kind "command" without a command'),
        ("kind = 'command'\ncommand = ['']", "whose first word is empty"),
        ("kind = 'file'", 'kind "file" without a path'),
        ("kind = 'desktop'\ncommand = ['x']", "cannot use command"),
        ("kind = 'desktop'\ntakes = []", "it is empty"),
        ("kind = 'desktop'\nattempts = 0", "it is too small"),
        ("kind = 'desktop'\nattempts = 101", "it is too large"),
        ("kind = 'pigeon'", "not one of the known words"),
        ("takes = ['brief']", "kind"),
    ],
)
def test_what_a_channel_lacks_or_has_too_much_is_told(tmp_path: Path, table: str, message: str) -> None:
    (problem, *_) = problems_of(tmp_path, table)
    assert problem.key.startswith("channels.way")
    assert message in str(problem)
    assert problem.remedy


def test_a_channel_takes_everything_unless_it_says_otherwise(tmp_path: Path) -> None:
    assert problems_of(tmp_path, "kind = 'desktop'\n[channels.few]\nkind = 'desktop'\ntakes = ['brief']") == ()
    settings = read_settings(tmp_path / "config.toml").settings
    assert routes_of(settings) == (
        Route("way", frozenset(MessageKind), frozenset(Urgency)),
        Route("few", frozenset({MessageKind.BRIEF}), frozenset(Urgency)),
    )


@pytest.mark.parametrize(
    ("table", "key", "message"),
    [
        ("kind = 'command'\ncommand = ['no-such-pager']", "channels.way.command", "it is not on the PATH /bin"),
        ("kind = 'command'\ncommand = ['./pager']", "channels.way.command", "there is no such program"),
        ("kind = 'file'\npath = 'config.toml/x'", "channels.way.path", "we may not write into"),
        ("kind = 'file'\npath = '.'", "channels.way.path", "it is not a file"),
        ("kind = 'desktop'\nenv = { PATH = '/nowhere' }", "channels.way.kind", "it is not on the PATH /nowhere"),
    ],
)
def test_what_keeps_a_channel_from_being_used_is_told_by_check(
    tmp_path: Path, table: str, key: str, message: str
) -> None:
    assert problems_of(tmp_path, f"{table}\n[environment]\npath = '/bin'") == ()
    settings = read_settings(tmp_path / "config.toml").settings
    (problem,) = check_channels(settings, find_home(str(tmp_path), {}), {}, "config.toml")
    assert problem.key == key
    assert message in problem.message


def test_a_secret_of_a_channel_that_cannot_be_had_stops_nobody(tmp_path: Path) -> None:
    table = "kind = 'apprise'\nurl = { env = 'GONE' }\nsecrets = { KEY = { file = 'gone' } }"
    assert problems_of(tmp_path, table) == ()
    config = load(find_home(str(tmp_path), {}), {})
    assert sorted(problem.key for problem in config.unready) == ["channels.way.secrets.KEY", "channels.way.url"]


def test_a_variable_that_is_set_twice_is_told(tmp_path: Path) -> None:
    from heartbeat.errors import ConfigError

    problems_of(tmp_path, "kind = 'desktop'\nenv = { KEY = 'x' }\nsecrets = { KEY = { env = 'KEY' } }")
    with pytest.raises(ConfigError, match=r"channels\.way\.secrets\.KEY: cannot set KEY twice"):
        load(find_home(str(tmp_path), {}), {})


def test_the_check_of_a_configuration_tells_it_with_all_else(place: Place) -> None:
    place.configure(
        "[channels.way]\nkind = 'command'\ncommand = ['no-such-pager']\nsecrets = { KEY = { env = 'GONE' } }"
    )
    message = place.error("check", status=4)
    assert "channels.way.command: cannot start 'no-such-pager'" in message
    assert "channels.way.secrets.KEY: cannot find the variable GONE" in message
