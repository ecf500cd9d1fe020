"""Where things are: the shipped folders, and one installation's folders."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs
import pytest

from heartbeat import paths
from heartbeat.paths import Home, find_home, share


def test_a_folder_on_the_command_line_beats_the_environment(tmp_path: Path) -> None:
    environ = {
        "HEARTBEAT_HOME": "/elsewhere",
        "HEARTBEAT_STATE_DIR": "/elsewhere/state",
        "HEARTBEAT_CACHE_DIR": "/elsewhere/cache",
    }
    home = find_home(str(tmp_path), environ)
    assert home == Home(tmp_path, tmp_path / "state", tmp_path / "cache")
    assert find_home(None, environ).config == Path("/elsewhere")


def test_one_folder_holds_everything_under_its_own_name(tmp_path: Path) -> None:
    home = find_home(None, {"HEARTBEAT_HOME": str(tmp_path)})
    assert home.config_file == tmp_path / "config.toml"
    assert home.jobs == tmp_path / "jobs"
    state = tmp_path / "state"
    assert home.ledger_file == state / "ledger.db"
    assert home.lock_file == state / "daemon.lock"
    assert home.agent_lock_file == state / "agent.lock"
    assert home.pulse_file == state / "pulse"
    assert home.starts_file == state / "starts.log"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["STATE", "CACHE"])
def test_one_folder_can_be_moved_alone(tmp_path: Path, name: str) -> None:
    home = find_home(None, {"HEARTBEAT_HOME": str(tmp_path), f"HEARTBEAT_{name}_DIR": "/moved"})
    assert home.config == tmp_path
    assert home.state == (Path("/moved") if name == "STATE" else tmp_path / "state")
    assert home.cache == (Path("/moved") if name == "CACHE" else tmp_path / "cache")


def test_without_a_folder_the_users_own_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    home = find_home(None, {})
    assert all(folder.is_relative_to(tmp_path) for folder in (home.config, home.state, home.cache))
    assert find_home(None, {"HEARTBEAT_STATE_DIR": "/moved"}) == Home(home.config, Path("/moved"), home.cache)
    assert find_home("", {"HEARTBEAT_HOME": "", "HEARTBEAT_STATE_DIR": "", "XDG_CONFIG_HOME": ""}) == home
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("given", [{}, {"XDG_CONFIG_HOME": "/elsewhere"}])
def test_the_users_own_installation_may_be_named_by_the_folder_of_its_configuration(
    given: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    own = find_home(None, given)
    assert find_home(str(own.config), given) == own
    assert find_home(f"{own.config}/", given) == own
    assert find_home(None, {**given, "HEARTBEAT_HOME": str(own.config)}) == own
    assert find_home(f"{own.config}/inner", given).state == own.config / "inner" / "state"


def test_the_systems_installation_is_named_by_the_folder_of_its_configuration() -> None:
    system = Home(Path("/etc/heartbeat"), Path("/var/lib/heartbeat"), Path("/var/cache/heartbeat"))
    assert find_home("/etc/heartbeat", {}) == find_home(None, {"HEARTBEAT_HOME": "/etc/heartbeat/"}) == system


@pytest.mark.parametrize("given", [{}, {"CONFIG": "/c"}, {"STATE": "/s/"}, {"CACHE": "/a b/x"}, {"CONFIG": ""}])
def test_the_users_own_folders_are_where_other_programs_keep_theirs(
    given: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CONFIG", "STATE", "CACHE"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
    for name, value in given.items():
        monkeypatch.setenv(f"XDG_{name}_HOME", value)
    expected = (platformdirs.user_config_path, platformdirs.user_state_path, platformdirs.user_cache_path)
    assert find_home(None, os.environ) == Home(*(where("heartbeat") for where in expected))


def test_every_folder_is_absolute_because_children_start_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    environ = {"HEARTBEAT_HOME": "x/../home", "HEARTBEAT_STATE_DIR": "s", "HEARTBEAT_CACHE_DIR": "~/c"}
    assert find_home(None, environ) == Home(tmp_path / "home", tmp_path / "s", Path("/home/me/c"))
    assert find_home("~/h", {}).state == Path("/home/me/h/state")


@pytest.mark.parametrize(
    "home",
    [
        Home(Path("/a"), Path("/a/state"), Path("/a/cache")),
        Home(Path("/etc/heartbeat"), Path("/var/lib/heartbeat"), Path("/var/cache/heartbeat")),
        Home(Path("/with space/\xe9"), Path("/s"), Path("/c")),
    ],
)
def test_a_child_process_finds_the_same_installation(home: Home) -> None:
    assert find_home(None, home.environment()) == home


@pytest.mark.parametrize("name", ["jobs", "gates", "ledger", "config", "systemd", "launchd"])
def test_a_shipped_folder_of_a_checkout_is_the_one_at_its_top(name: str) -> None:
    assert share(name) == Path(paths.__file__).parents[1] / name


def test_in_an_installed_package_only_its_own_folders_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "heartbeat"
    (package / "share" / "jobs").mkdir(parents=True)
    (tmp_path / "site-packages" / "gates").mkdir()
    (tmp_path / "site-packages" / "pyproject.toml").touch()
    monkeypatch.setattr(paths, "_INSTALLED", package / "share")
    monkeypatch.setattr(paths, "_CHECKOUT", package.parent)
    assert share("jobs") == package / "share" / "jobs"
    with pytest.raises(FileNotFoundError, match=r"^cannot find the shipped folder 'gates' .*; reinstall heartbeat"):
        share("gates")
    (package / "share" / "jobs").rmdir()
    (package / "share").rmdir()
    (tmp_path / "site-packages" / "pyproject.toml").unlink()
    with pytest.raises(FileNotFoundError):
        share("gates")
