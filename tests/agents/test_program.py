"""An agent that is a program is bounded, kept apart, and leaves nothing behind."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from importlib import import_module
from pathlib import Path

import pytest

from heartbeat.agents import check_agent, find_agent
from heartbeat.agents._answers import REPLY_LIMIT
from heartbeat.config import read_job, read_settings
from heartbeat.errors import AgentError
from heartbeat.job import load
from heartbeat.model import Call, Prefs, Reply, Usage
from heartbeat.paths import find_home
from tests.agents.fakes import ProgramFake, living
from tests.conftest import Place
from tests.test_documents import ROOT, fenced_blocks

SECRET = "hunter2-and-more"
PRESETS = ("claude", "codex", "hermes", "openclaw")


def call(place: Place, prefs: Prefs | None = None, prompt: str = "prompt", *, restricted: bool = True) -> Reply:
    home, environ = find_home(str(place.folder), {}), place.environment(OWN_SECRET=SECRET)
    agent = find_agent(load(home, environ).settings, home, environ, threading.Event())
    assert agent is not None
    return agent.call(Call("wake_1", prompt, restricted, prefs or Prefs()))


def script(place: Place, body: str, more: str = "") -> None:
    """An agent of the kind `command`."""
    ProgramFake(place, "command").configure(f'command = ["{place.folder}/agent.sh"]\n{more}')
    place.file("agent.sh", f'#!/bin/sh\ncd "$HEARTBEAT_HOME"\n{body}\n')


@pytest.fixture
def presets(place: Place) -> Iterator[dict[str, ProgramFake]]:
    """The double of one preset at a time: the last that was asked for is configured."""

    class Doubles(dict[str, ProgramFake]):
        def __missing__(self, kind: str) -> ProgramFake:
            fake: ProgramFake = stack.enter_context(import_module(f"tests.agents.fake_{kind}").fake(place))
            return fake

    with ExitStack() as stack:
        yield Doubles()


def test_a_grandchild_in_a_session_of_its_own_that_ignores_the_end_is_ended(place: Place) -> None:
    script(place, "trap '' TERM\nsetsid sh -c 'trap \"\" TERM; touch up; sleep 600' &\nwait; wait")
    with pytest.raises(AgentError, match="took longer"):
        call(place, Prefs(timeout=timedelta(seconds=0.3)))
    assert (place.folder / "up").exists()
    assert living(place) == []


def test_what_an_agent_that_ended_well_left_running_is_ended(place: Place) -> None:
    script(place, "setsid sleep 600 >/dev/null 2>&1 &\necho done")
    assert call(place).text == "done"
    assert living(place) == []


def test_an_agent_that_prints_its_secret_shows_only_its_name(place: Place) -> None:
    script(place, 'echo "key $MY_KEY"; echo "key $MY_KEY" >&2; exit "$(cat status)"')
    place.file("status", "0")
    assert call(place).text == "key [secret MY_KEY]"
    place.file("status", "1")
    with pytest.raises(AgentError, match=r"it said: key \[secret MY_KEY\]"):
        call(place)


def test_a_secret_in_an_answer_file_is_taken_out_too(place: Place) -> None:
    ProgramFake(place, "codex").configure(f'command = ["{place.folder}/agent.sh"]')
    place.file(
        "agent.sh",
        '#!/bin/sh\nfor last; do file=$before; before=$last; done\nprintf %s "$MY_KEY" > "$file"\n'
        'echo \'{"type": "turn.completed"}\'\n',
    )
    assert call(place).text == "[secret MY_KEY]"


@pytest.mark.parametrize("made", ["mkfifo", "mkdir", "ln -s /etc/passwd", "dd if=/dev/zero bs=1M count=5 of="])
def test_whatever_lies_in_place_of_an_answer_file_is_survived(place: Place, made: str) -> None:
    ProgramFake(place, "codex").configure(f'command = ["{place.folder}/agent.sh"]')
    target = '"$file"' if made.endswith("=") else ' "$file"'
    place.file(
        "agent.sh",
        f"#!/bin/sh\nfor last; do file=$before; before=$last; done\n{made}{target} 2>/dev/null\n"
        'echo \'{"type": "turn.completed"}\'\n',
    )
    assert len(call(place).text) <= REPLY_LIMIT


def test_a_long_reply_keeps_its_beginning(place: Place) -> None:
    script(place, "echo begin; head -c 9000000 /dev/zero | tr '\\0' x")
    text = call(place).text
    assert text.startswith("begin\nxxx")
    assert text.endswith("\n[cut here]")
    assert len(text) == REPLY_LIMIT


def test_what_a_crash_left_of_old_calls_is_removed_and_young_ones_are_kept(place: Place) -> None:
    script(place, "echo done")
    old, young = place.folder / "cache/calls/call-old", place.folder / "cache/calls/call-young"
    for folder in (old, young):
        folder.mkdir(parents=True)
        (folder / "prompt.txt").touch()
    os.utime(old, (0, 0))
    call(place)
    assert sorted((place.folder / "cache/calls").iterdir()) == [young]


def test_a_prompt_file_is_the_owners_alone(place: Place) -> None:
    script(place, 'ls -l "$1" | cut -c1-10; cat "$1"')
    ProgramFake(place, "command").configure(f'command = ["{place.folder}/agent.sh", "{{prompt_file}}"]')
    assert call(place).text == "-rw-------\nprompt"


def test_a_folder_of_the_owners_that_is_not_there_is_told(place: Place) -> None:
    script(place, "echo done")
    with pytest.raises(AgentError, match=r"cannot start .* in '/no/such/folder'") as caught:
        call(place, Prefs(folder="/no/such/folder"))
    assert caught.value.retryable


def test_a_cache_that_cannot_be_made_is_told(place: Place) -> None:
    script(place, "echo done")
    (place.folder / "cache").write_text("in the way")
    with pytest.raises(AgentError, match="cannot prepare the call") as caught:
        call(place)
    assert caught.value.retryable


def test_the_examples_of_the_document_are_valid(tmp_path: Path) -> None:
    blocks = [body for _, info, body in fenced_blocks((ROOT / "docs/agents.md").read_text()) if info == "toml"]
    kinds = set()
    for block in blocks:
        file = tmp_path / "config.toml"
        file.write_text("\n".join(block))
        reading = read_settings(file)
        assert reading.problems == ()
        kinds.add(reading.settings.agent.kind)
        for name, table in reading.jobs:
            assert read_job(name, table, str(file))[1] == []
    assert kinds >= {"claude", "codex", "command", "openclaw"}


# The presets, against doubles that know only the options of the real ones


@pytest.mark.parametrize("kind", PRESETS)
def test_every_way_to_call_a_preset_is_understood_by_its_program(
    presets: dict[str, ProgramFake], place: Place, kind: str
) -> None:
    fake = presets[kind]
    fake.behave("accept")
    prices = (1234 * 1.25 + 56 * 10) / 1e6
    usd = prices if kind == "codex" else 0.0123
    tools = {"claude": ("Bash(ls)", "Read"), "codex": ("shell", "write"), "hermes": ("file",), "openclaw": ("read",)}
    for prefs in (Prefs(), Prefs("a-model", tools[kind], max_usd=1.0)):
        for restricted in (True, False):
            reply = call(place, prefs, "What is new?", restricted=restricted)
            assert (reply.text, fake.heard) == ("the reply", b"What is new?")
            assert reply.usage == Usage(1234, 56, usd)
            assert reply.session
            assert SECRET not in " ".join(fake.argv)


def test_the_variables_of_the_owner_go_before_those_of_the_preset(
    presets: dict[str, ProgramFake], place: Place
) -> None:
    fake = presets["claude"]
    fake.configure('env = { CLAUDE_CODE_MAX_RETRIES = "3" }')
    fake.behave("accept")
    call(place, Prefs(timeout=timedelta(seconds=50)))
    assert fake.environment["CLAUDE_CODE_MAX_RETRIES"] == "3"
    assert fake.environment["API_TIMEOUT_MS"] == "20000"


@pytest.mark.parametrize(("kind", "how"), [("claude", "sigint"), ("hermes", "killed")])
def test_a_program_that_was_cut_off_and_says_0_has_not_accepted(
    presets: dict[str, ProgramFake], place: Place, kind: str, how: str
) -> None:
    presets[kind].behave(how)
    with pytest.raises(AgentError, match="exit status 0") as caught:
        call(place)
    assert caught.value.retryable


@pytest.mark.parametrize("kind", [*PRESETS, "command"])
def test_check_finds_a_program_that_is_not_installed(presets: dict[str, ProgramFake], place: Place, kind: str) -> None:
    fake = presets[kind]
    home, environ = find_home(str(place.folder), {}), place.environment(OWN_SECRET=SECRET)
    problem = check_agent(load(home, environ).settings, home, environ, "config.toml")
    assert problem is not None
    assert f"cannot start '{kind}': it is not on the PATH" in str(problem)
    fake.behave("accept")
    assert check_agent(load(home, environ).settings, home, environ, "config.toml") is None


def test_a_preset_may_have_another_name_and_words_before_its_own(place: Place) -> None:
    ProgramFake(place, "claude").configure('command = ["~/bin/wrapped", "--profile", "home"]')
    place.file("bin/wrapped", '#!/bin/sh\necho "$@" > "$HEARTBEAT_HOME/words"\n')
    with pytest.raises(AgentError):
        call(place)
    assert (Path(place.folder) / "words").read_text().startswith("--profile home -p --output-format stream-json")
