"""What every agent must do, whichever kind: one file of heartbeat/agents, found by listing the folder."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import heartbeat.agents
from heartbeat.agents import check_agent, find_agent
from heartbeat.errors import AgentError
from heartbeat.job import load
from heartbeat.paths import find_home
from heartbeat.ports import Agent
from tests.conftest import CONFIG, Place, wait_for

KINDS = sorted(path.stem for path in Path(heartbeat.agents.__file__).parent.glob("[!_]*.py"))
HOSTILE = "\u2028\x1b[2J\x00 $(touch pwned) `x` '\"\\ {prompt} {prompt_file} %s 会议 😀\n" * 20


class Setup:
    """An agent of one kind, made to behave as the test needs; `heard` is what reached it."""

    def __init__(self, place: Place, kind: str) -> None:
        self.place = place
        self.kind = kind
        self.stop = threading.Event()

    @property
    def agent(self) -> Agent:
        home, environ = find_home(str(self.place.folder), {}), self.place.environment(OWN_SECRET="hunter2")
        found = find_agent(load(home, environ).settings, home, environ, self.stop)
        assert found is not None
        return found

    def behave(self, how: str) -> None:
        BEHAVIOURS[self.kind](self.place, how)

    def stop_when_started(self) -> None:
        wait_for(self.place.folder / "started")
        self.stop.set()

    @property
    def heard(self) -> bytes:
        return (self.place.folder / "heard").read_bytes()


def command(place: Place, how: str) -> None:
    """`accept`, `refuse` or `hang`."""
    place.configure(CONFIG.replace("[jobs.check]", 'timeout = "2s"\n[jobs.check]'))
    ending = {"accept": "echo ' the reply '", "refuse": "echo broken >&2; exit 1", "hang": "echo $$ > pid; sleep 600"}
    place.file(
        "agent.sh",
        '#!/bin/sh\ncd "$HEARTBEAT_HOME"\nenv > environment\ncat > heard\necho "$HEARTBEAT_WAKE_ID" > id\n'
        f"touch started\n{ending[how]}\n",
    )


BEHAVIOURS: dict[str, Callable[[Place, str], None]] = {"command": command}


@pytest.fixture(params=KINDS)
def setup(request: pytest.FixtureRequest, place: Place) -> Setup:
    return Setup(place, request.param)


def test_every_kind_of_agent_is_put_to_this_test() -> None:
    assert sorted(BEHAVIOURS) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_one_function_of_one_signature(kind: str) -> None:
    module = __import__(f"heartbeat.agents.{kind}", fromlist=["agent"])
    assert list(inspect.signature(module.agent).parameters) == ["settings", "home", "environ", "stop"]
    assert list(inspect.signature(module.check).parameters) == ["settings", "home", "environ", "file"]


def test_no_agent_is_found_where_none_is_configured(place: Place) -> None:
    place.configure("")
    home = find_home(str(place.folder), {})
    assert find_agent(load(home, {}).settings, home, {}, threading.Event()) is None


def test_an_agent_that_could_be_called_now_is_no_problem(setup: Setup) -> None:
    setup.behave("accept")
    home, environ = find_home(str(setup.place.folder), {}), setup.place.environment()
    assert check_agent(load(home, environ).settings, home, environ, "config.toml") is None


def test_it_has_a_name_for_the_ledger(setup: Setup) -> None:
    setup.behave("accept")
    assert setup.agent.name == setup.kind


@pytest.mark.parametrize("prompt", ["", "short", HOSTILE, "x" * 1_000_000], ids=["empty", "short", "hostile", "1 MB"])
def test_the_prompt_arrives_as_it_is_and_the_reply_comes_back_trimmed(setup: Setup, prompt: str) -> None:
    setup.behave("accept")
    assert setup.agent.call("wake_1", prompt) == "the reply"
    assert setup.heard == prompt.encode()
    assert (setup.place.folder / "id").read_text() == "wake_1\n"


def test_a_refusal_is_an_error_that_says_whether_trying_again_helps(setup: Setup) -> None:
    setup.behave("refuse")
    with pytest.raises(AgentError, match=r"^cannot .*broken") as caught:
        setup.agent.call("wake_1", "prompt")
    assert isinstance(caught.value.retryable, bool)


def test_it_keeps_its_own_deadline(setup: Setup) -> None:
    setup.behave("hang")
    began = time.monotonic()
    with pytest.raises(AgentError, match="took longer than 2s") as caught:
        setup.agent.call("wake_1", "prompt")
    assert caught.value.retryable
    assert 2 <= time.monotonic() - began < 30


def test_it_lets_go_when_heartbeat_stops(setup: Setup) -> None:
    setup.behave("hang")
    stopping = threading.Thread(target=setup.stop_when_started)
    stopping.start()
    with pytest.raises(AgentError, match="stopping") as caught:
        setup.agent.call("wake_1", "prompt")
    stopping.join()
    assert caught.value.retryable


def test_it_gets_no_variable_that_nobody_declared(setup: Setup) -> None:
    setup.behave("accept")
    setup.agent.call("wake_1", "prompt")
    names = {line.split("=", 1)[0] for line in (setup.place.folder / "environment").read_text().splitlines()}
    of_the_shell = {"PWD", "OLDPWD", "SHLVL", "_"}
    assert names - of_the_shell == {
        *("PATH", "HOME", "LANG", "TZ", "HEARTBEAT_HOME", "HEARTBEAT_STATE_DIR", "HEARTBEAT_CACHE_DIR"),
        "HEARTBEAT_WAKE_ID",
    }
