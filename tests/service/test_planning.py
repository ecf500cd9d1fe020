"""What `install` would set up, told from the folders, the configuration and the shell that asks."""

from __future__ import annotations

import re
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from heartbeat import __version__
from heartbeat.config import Settings
from heartbeat.errors import Invalid, NotFound
from heartbeat.paths import Home, find_home
from heartbeat.service import planning
from heartbeat.service.planning import SYSTEM, addressed, called, clean_path, doubts, make_plan, name_of, scope_of
from tests.conftest import COMMAND

HERE = str(COMMAND.parent)
ENVIRON = {"PATH": "/usr/bin:/bin", "LANG": "de_DE.UTF-8"}


def one_folder(path: str) -> Home:
    return find_home(path, {})


# Names


def test_the_users_own_folders_and_the_systems_have_the_plain_name() -> None:
    assert name_of(find_home(None, {}), {}) == "heartbeat"
    assert name_of(find_home(None, {}), {"HEARTBEAT_HOME": "/srv/other"}) == "heartbeat"
    assert name_of(SYSTEM, {}) == "heartbeat"
    assert name_of(one_folder("/etc/heartbeat"), {}) == "heartbeat"


@pytest.mark.parametrize(
    ("folder", "shape"),
    [
        ("/srv/beat", "heartbeat-beat-[0-9a-f]{6}"),
        ("/srv/My Beat.2", "heartbeat-my-beat-2-[0-9a-f]{6}"),
        ("/srv/Élan", "heartbeat-lan-[0-9a-f]{6}"),
        ("/srv/…", "heartbeat-[0-9a-f]{6}"),
        ("/", "heartbeat-[0-9a-f]{6}"),
        ("/srv/" + "a" * 200, "heartbeat-a{30}-[0-9a-f]{6}"),
        ("/srv/%i$HOME\n[Service]", "heartbeat-i-home-service-[0-9a-f]{6}"),
    ],
)
def test_a_folder_of_its_own_has_a_name_of_its_own(folder: str, shape: str) -> None:
    assert re.fullmatch(shape, name_of(one_folder(folder), {}))


def test_two_installations_never_share_a_name() -> None:
    homes = [one_folder("/a/beat"), one_folder("/b/beat"), one_folder("/a/Beat")]
    homes.append(Home(Path("/a/beat"), Path("/elsewhere"), Path("/a/beat/cache")))
    assert len({name_of(home, {}) for home in homes}) == len(homes)


@pytest.mark.parametrize(
    ("home", "verb", "typed"),
    [
        (find_home(None, {}), "logs -f", "heartbeat logs -f"),
        (SYSTEM, "stop", "heartbeat stop --system"),
        (SYSTEM, "init", "heartbeat --home /etc/heartbeat init"),
        (one_folder("/srv/my beat"), "stop", "heartbeat --home '/srv/my beat' stop"),
    ],
)
def test_a_verb_is_shown_so_that_it_works_where_it_is_typed(home: Home, verb: str, typed: str) -> None:
    assert called(verb, home, {}) == typed
    assert called(verb, home, {}, absolute=True) == typed.replace("heartbeat", str(COMMAND), 1)


@pytest.mark.parametrize(
    ("home", "text", "typed"),
    [
        (SYSTEM, "start it with `heartbeat start`", "start it with `heartbeat start --system`"),
        (
            SYSTEM,
            "`heartbeat check` names them; `heartbeat health`",
            "`heartbeat check --system` names them; `heartbeat --home /etc/heartbeat health`",
        ),
        (SYSTEM, "`heartbeat install --system --as USER`", "`heartbeat install --system --as USER`"),
        (one_folder("/srv/beat"), "`heartbeat logs -f` shows why", "`heartbeat --home /srv/beat logs -f` shows why"),
        (find_home(None, {}), "`heartbeat reload`, `systemctl restart x`", "`heartbeat reload`, `systemctl restart x`"),
    ],
)
def test_the_commands_in_a_message_are_those_of_the_installation(home: Home, text: str, typed: str) -> None:
    assert addressed(text, home, {}) == typed


# PATH


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("/usr/bin:/bin", ["/usr/bin", "/bin"]),
        ("/bin:/usr/bin/:/bin:/usr/bin", ["/bin", "/usr/bin"]),
        ("bin:.:~/bin::/usr/bin", ["/usr/bin"]),
        ("/no/such/folder:/etc/passwd:/usr/bin", ["/usr/bin"]),
        ("/tmp:/run/user/0:/usr/bin", ["/usr/bin"]),
        ("", ["/usr/local/bin", "/usr/bin", "/bin"]),
        ("nothing:usable", ["/usr/local/bin", "/usr/bin", "/bin"]),
        (f"{HERE}:/bin", ["/bin"] if HERE.startswith(planning._FLEETING) else [HERE, "/bin"]),
    ],
)
def test_of_the_path_only_lasting_folders_are_kept_and_the_command_is_always_found(path: str, kept: list[str]) -> None:
    assert clean_path(path).split(":") == list(dict.fromkeys([*kept, HERE]))


def test_a_folder_with_a_control_character_cannot_get_into_a_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "_FLEETING", ())
    plain, bad = tmp_path / "bin", tmp_path / "x\nExecStartPre=evil"
    plain.mkdir()
    bad.mkdir()
    assert clean_path(f"{bad}:{plain}").split(":") == [str(plain), HERE]


# The whole


def test_a_plan_starts_this_interpreter_in_exactly_these_folders() -> None:
    plan = make_plan(one_folder("/srv/beat"), Settings(), ENVIRON, scope="user")
    assert plan.argv == (sys.executable, "-P", "-m", "heartbeat", "run")
    assert plan.environment == {
        "HEARTBEAT_HOME": "/srv/beat",
        "HEARTBEAT_STATE_DIR": "/srv/beat/state",
        "HEARTBEAT_CACHE_DIR": "/srv/beat/cache",
        "LANG": "de_DE.UTF-8",
    }
    assert (plan.path, plan.version, plan.scope, plan.user) == (f"/usr/bin:/bin:{HERE}", __version__, "user", "")


def test_nothing_else_of_the_shell_gets_into_a_plan() -> None:
    environ = {**ENVIRON, "API_TOKEN": "hunter2-hunter2", "HEARTBEAT_DEBUG": "1", "PYTHONPATH": "/evil"}
    plan = make_plan(one_folder("/srv/beat"), Settings(), environ, scope="user")
    assert plan == make_plan(one_folder("/srv/beat"), Settings(), ENVIRON, scope="user")


def test_drain_and_credentials_are_those_of_the_configuration() -> None:
    settings = Settings.model_validate(
        {"daemon": {"drain": timedelta(seconds=42)}, "service": {"credentials": {"mail": "/etc/mail.pw"}}}
    )
    plan = make_plan(one_folder("/srv/beat"), settings, ENVIRON, scope="user")
    assert plan.drain == timedelta(seconds=42)
    assert plan.credentials == {"mail": "/etc/mail.pw"}


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "C.UTF-8"),
        ({"LANG": ""}, "C.UTF-8"),
        ({"LANG": "de_DE.UTF-8"}, "de_DE.UTF-8"),
        ({"LANG": "de_DE.UTF-8", "LC_CTYPE": "fr_FR.UTF-8"}, "fr_FR.UTF-8"),
        ({"LANG": "de_DE.UTF-8", "LC_ALL": "it_IT.UTF-8"}, "it_IT.UTF-8"),
        ({"LANG": "x\nUser=root"}, "C.UTF-8"),
    ],
)
def test_the_language_is_the_shells(environ: dict[str, str], language: str) -> None:
    assert make_plan(one_folder("/srv/beat"), Settings(), environ, scope="user").environment["LANG"] == language


def test_the_systems_scope_is_that_of_its_folders_and_no_others() -> None:
    assert scope_of(one_folder("/etc/heartbeat")) == "system"
    assert scope_of(one_folder("/etc/heartbeat/state")) == "user"
    assert scope_of(find_home(None, {"HEARTBEAT_HOME": "/etc/heartbeat"})) == "system"


def test_folders_that_depend_on_where_one_stands_are_refused() -> None:
    with pytest.raises(Invalid, match="cannot use the folder 'here/heartbeat'"):
        make_plan(Home(Path("here/heartbeat"), Path("/s"), Path("/c")), Settings(), ENVIRON, scope="user")


def test_a_user_that_does_not_exist_is_refused() -> None:
    with pytest.raises(NotFound, match="cannot find the user 'no-such-user'"):
        make_plan(SYSTEM, Settings(), ENVIRON, scope="system", user="no-such-user")


# Doubts


@pytest.mark.parametrize(
    ("executable", "prefix", "said"),
    [
        ("/tmp/venv/bin/python", "/tmp/venv", "where the system clears away"),
        ("/home/ann/.cache/uv/archive-v0/x/bin/python", "/home/ann/.cache/uv/archive-v0/x", "is a cache"),
        ("/home/ann/.local/pipx/.cache/5f/bin/python", "/home/ann/.local/pipx/.cache/5f", "is a cache"),
        ("/home/ann/.cache/pipx/5f/bin/python", "/home/ann/.cache/pipx/5f", "is a cache"),
        ("/home/ann/.local/share/pipx/venvs/heartbeat/bin/python", "/home/ann/.local/share/pipx/venvs/heartbeat", ""),
        ("/home/ann/.local/share/uv/tools/heartbeat/bin/python", "/home/ann/.local/share/uv/tools/heartbeat", ""),
    ],
)
def test_an_interpreter_that_will_be_gone_is_warned_of(
    executable: str, prefix: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").touch()
    monkeypatch.setattr(sys, "executable", executable)
    monkeypatch.setattr(sys, "prefix", prefix)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    found = doubts(make_plan(one_folder(str(tmp_path)), Settings(), ENVIRON, scope="user"), ENVIRON)
    assert [said in doubt for doubt in found] == ([True] if said else [])


def test_root_and_an_installation_without_jobs_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    told = "\n".join(doubts(make_plan(one_folder("/srv/beat"), Settings(), ENVIRON, scope="user"), ENVIRON))
    assert "`heartbeat install --system --as USER`" in told
    assert "`heartbeat --home /srv/beat init` writes one" in told
    plan = make_plan(SYSTEM, Settings(), ENVIRON, scope="system", user="root")
    assert "it runs as root, and so does the agent" in "\n".join(doubts(plan, ENVIRON))
