"""What every agent must do, whichever kind: one file of heartbeat/agents, found by listing the folder."""

from __future__ import annotations

import importlib
import inspect
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from heartbeat.agents import check_agent, find_agent, kinds
from heartbeat.config.agents import KINDS as CONFIGURABLE
from heartbeat.config.settings import Settings
from heartbeat.errors import AgentError, AgentOnHold, ConfigError
from heartbeat.job import load
from heartbeat.model import Call, Prefs, Reply
from heartbeat.paths import find_home
from heartbeat.ports import Agent
from tests.agents.fakes import REPLY, TESTS, Fake, living
from tests.agents.stage import WAIT
from tests.conftest import Place

KINDS = kinds()
PROGRAMS = tuple(kind for kind in KINDS if kind != "http")
HOSTILE = "\u2028\x1b[2J $(touch pwned) `x` '\"\\ {prompt} {prompt_file} %s 会议 😀\n" * 20
SECRET = "hunter2-and-more"
ANY = Prefs()
QUICK = Prefs(timeout=timedelta(seconds=0.3))


class Setup:
    """An agent of one kind and its double."""

    def __init__(self, place: Place, kind: str, fake: Fake) -> None:
        self.place, self.kind, self.fake = place, kind, fake
        self.stop = threading.Event()

    @property
    def agent(self) -> Agent:
        home, environ = find_home(str(self.place.folder), {}), self.place.environment(OWN_SECRET=SECRET)
        found = find_agent(load(home, environ).settings, home, environ, self.stop)
        assert found is not None
        return found

    def call(self, prompt: str = "prompt", prefs: Prefs = ANY, *, restricted: bool = True) -> Reply:
        return self.agent.call(Call("wake_1", prompt, restricted, prefs))

    def failing(self, how: str, prefs: Prefs = ANY) -> AgentError:
        self.fake.behave(how)
        with pytest.raises(AgentError) as caught:
            self.call(prefs=prefs)
        return caught.value

    def stop_when_called(self) -> None:
        self.fake.wait()
        self.stop.set()


@pytest.fixture(params=KINDS)
def setup(request: pytest.FixtureRequest, place: Place) -> Iterator[Setup]:
    kind = str(request.param)
    with ExitStack() as stack:
        fake = stack.enter_context(importlib.import_module(f"tests.agents.fake_{kind}").fake(place))
        yield Setup(place, kind, fake)


def test_every_kind_of_agent_is_put_to_this_test() -> None:
    assert tuple(sorted(path.stem.removeprefix("fake_") for path in TESTS.glob("fake_*.py"))) == KINDS


def test_the_kinds_that_can_be_configured_are_those_there_are() -> None:
    assert sorted(CONFIGURABLE) == sorted(["none", *KINDS])


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_one_function_of_one_signature(kind: str) -> None:
    module = importlib.import_module(f"heartbeat.agents.{kind}")
    assert list(inspect.signature(module.agent).parameters) == ["settings", "home", "environ", "stop"]
    assert list(inspect.signature(module.check).parameters) == ["settings", "home", "environ", "file"]


def test_no_agent_is_found_where_none_is_configured(place: Place) -> None:
    place.configure("")
    home = find_home(str(place.folder), {})
    settings = load(home, {}).settings
    assert find_agent(settings, home, {}, threading.Event()) is None
    assert check_agent(settings, home, {}, "config.toml") is None


def test_an_unknown_kind_lists_the_known(place: Place) -> None:
    agent = Settings().agent.model_copy(update={"kind": "_program"})
    settings = Settings().model_copy(update={"agent": agent})
    with pytest.raises(ConfigError, match=r"cannot wake an agent of kind '_program'.*claude, codex, command"):
        find_agent(settings, find_home(str(place.folder), {}), {}, threading.Event())


def test_an_agent_that_could_be_called_now_is_no_problem(setup: Setup) -> None:
    setup.fake.behave("accept")
    home, environ = find_home(str(setup.place.folder), {}), setup.place.environment(OWN_SECRET=SECRET)
    assert check_agent(load(home, environ).settings, home, environ, "config.toml") is None


def test_it_has_a_name_for_the_ledger(setup: Setup) -> None:
    assert setup.agent.name == setup.kind


@pytest.mark.parametrize("prompt", ["", "-v", HOSTILE], ids=["empty", "dash", "hostile"])
def test_the_prompt_arrives_as_it_is_and_the_reply_comes_back_trimmed(setup: Setup, prompt: str) -> None:
    setup.fake.behave("accept")
    assert setup.call(prompt).text == REPLY
    # Hermes takes the prompt as an argument, where a dash at its beginning would make it an option.
    before = " " if setup.kind == "hermes" and prompt.startswith("-") else ""
    assert setup.fake.heard.decode() == before + prompt
    assert not list(setup.place.folder.rglob("pwned"))


def test_a_prompt_of_five_megabytes_arrives_or_is_refused_for_good(setup: Setup) -> None:
    setup.fake.behave("accept")
    prompt = "x" * 5_000_000
    if setup.fake.longest >= len(prompt):
        assert setup.call(prompt).text == REPLY
        assert setup.fake.heard == prompt.encode()
    else:
        with pytest.raises(AgentError, match=r"^cannot .*5000000 bytes") as caught:
            setup.call(prompt)
        assert not caught.value.retryable


def test_a_call_without_a_word_is_accepted(setup: Setup) -> None:
    setup.fake.behave("empty")
    assert setup.call().text == ""


def test_a_refusal_is_an_error_that_says_why_and_may_be_tried_again(setup: Setup) -> None:
    error = setup.failing("refuse")
    assert str(error).startswith("cannot ")
    assert "broken" in str(error)
    assert (error.retryable, isinstance(error, AgentOnHold)) == (True, False)


def test_an_agent_that_asks_for_time_is_on_hold_for_so_long(setup: Setup) -> None:
    error = setup.failing("limit")
    assert isinstance(error, AgentOnHold)
    assert error.retry_after is not None
    assert WAIT - 2 <= error.retry_after <= WAIT


@pytest.mark.parametrize("how", ["junk", "flood"])
def test_whatever_it_answers_the_end_is_a_reply_or_an_error(setup: Setup, how: str) -> None:
    setup.fake.behave(how)
    try:
        said = setup.call().text
    except AgentError as error:
        said = str(error)
        assert "\n" not in said
        assert len(said) < 1000
    assert len(said.encode()) <= 65_536


def test_it_keeps_the_deadline_of_the_call(setup: Setup) -> None:
    began = time.monotonic()
    error = setup.failing("hang", QUICK)
    assert "took longer than" in str(error)
    assert error.retryable
    assert QUICK.timeout.total_seconds() <= time.monotonic() - began < 20


def test_it_lets_go_when_heartbeat_stops_and_leaves_nothing_behind(setup: Setup) -> None:
    stopping = threading.Thread(target=setup.stop_when_called)
    stopping.start()
    error = setup.failing("hang")
    stopping.join()
    assert "stopping" in str(error)
    assert error.retryable
    assert living(setup.place) == []
    calls = setup.place.folder / "cache/calls"
    assert not calls.exists() or list(calls.iterdir()) == []


def test_no_secret_is_in_an_error_or_among_the_arguments(setup: Setup) -> None:
    error = setup.failing("refuse")
    assert SECRET not in str(error)
    argv = setup.place.folder / "argv"
    assert not argv.exists() or SECRET not in argv.read_text()
    for path in (setup.place.folder / "cache").rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes()


@pytest.mark.parametrize("setup", PROGRAMS, indirect=True)
def test_a_program_gets_no_variable_that_nobody_declared(setup: Setup) -> None:
    setup.fake.behave("accept")
    setup.call()
    lines = (setup.place.folder / "environment").read_text().splitlines()
    names = {line.split("=", 1)[0] for line in lines} - {"PWD", "OLDPWD", "SHLVL", "_"}
    own = {
        "command": {"HEARTBEAT_AGENT_MODEL", "HEARTBEAT_RESTRICTED"},
        "claude": {"CLAUDE_CODE_MAX_RETRIES", "API_TIMEOUT_MS", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"},
    }
    assert names - own.get(setup.kind, set()) == {
        *("PATH", "HOME", "LANG", "TZ", "HEARTBEAT_HOME", "HEARTBEAT_STATE_DIR", "HEARTBEAT_CACHE_DIR"),
        *("HEARTBEAT_WAKE_ID", "MY_KEY"),
    }
    assert (setup.place.folder / "id").read_text() == "wake_1"


@pytest.mark.parametrize("setup", PROGRAMS, indirect=True)
def test_a_program_works_in_a_private_folder_or_in_the_owners(setup: Setup) -> None:
    setup.fake.behave("accept")
    setup.call()
    own = Path((setup.place.folder / "cwd").read_text())
    assert own == setup.place.folder / "cache/agent"
    assert own.stat().st_mode & 0o777 == 0o700
    (setup.place.folder / "notes").mkdir()
    setup.call(prefs=Prefs(folder=str(setup.place.folder / "notes")))
    assert (setup.place.folder / "cwd").read_text() == str(setup.place.folder / "notes")
