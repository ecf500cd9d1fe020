"""How each preset calls its program, and where it looks for the truth: pure functions, no program is run."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.agents import claude, codex, command, hermes, openclaw
from heartbeat.agents._answers import REPLY_LIMIT, count, dollars, objects, reply_text, total
from heartbeat.agents._failures import pause_in
from heartbeat.agents._program import Ran, Spot
from heartbeat.config import Settings
from heartbeat.errors import AgentError, AgentOnHold
from heartbeat.model import Call, Captured, Execution, Prefs, Reply, Usage
from heartbeat.paths import Home

NOW = datetime(2026, 6, 10, 8, tzinfo=UTC)
PRICED = partial(codex.read, prices=(1.25, 10.0))
READERS: dict[str, Callable[[Ran], Reply]] = {
    "claude": claude.read,
    "codex": PRICED,
    "command": command.read,
    "hermes": hermes.read,
    "openclaw": openclaw.read,
}
CALL = Call("wake_1", "the prompt")


def ran(
    *lines: Any, code: int | None = 0, err: str = "", answer: Any = None, signal: int | None = None, raw: bytes = b""
) -> Ran:
    out = raw + b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    execution = Execution(NOW, NOW, code, signal, stdout=Captured(out), stderr=Captured(err.encode()))
    return Ran(execution, json.dumps(answer) if isinstance(answer, dict) else answer, "Europe/Berlin")


def failing(read: Callable[[Ran], Reply], done: Ran) -> AgentError:
    with pytest.raises(AgentError) as caught:
        read(done)
    assert str(caught.value).startswith("cannot wake the agent")
    return caught.value


def spot(*program: str) -> Spot:
    return Spot(program, "/folder", "/scratch")


def pairs(argv: tuple[str, ...], name: str) -> list[str]:
    """Every value of an option."""
    return [following for word, following in pairwise(argv) if word == name]


# Claude Code

RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": " the reply ",
    "session_id": "c-1",
    "usage": {
        "input_tokens": 4,
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 230,
        "output_tokens": 56,
    },
    "total_cost_usd": 0.0123,
}
REPORT = {"failed": False, "completed": True, "session_id": "h-1", "input_tokens": 234, "cache_read_tokens": 1000}


def refused(status: int, said: str) -> dict[str, Any]:
    return {**RESULT, "is_error": True, "api_error_status": status, "result": said}


def test_what_claude_read_wrote_and_cost_is_known() -> None:
    assert claude.read(ran({"type": "system"}, RESULT)) == Reply("the reply", "c-1", Usage(1234, 56, 0.0123))


@pytest.mark.parametrize(
    "done",
    [
        ran(),
        ran({"type": "system", "session_id": "c-1"}, {"type": "assistant"}),
        ran(RESULT, code=1),
        ran(RESULT, code=None, signal=15),
        ran({**RESULT, "is_error": True}),
        ran({**RESULT, "is_error": "false"}),
        ran({name: value for name, value in RESULT.items() if name != "is_error"}),
        ran({**RESULT, "result": None}),
        ran(raw=json.dumps(RESULT).encode()[:-9]),
    ],
    ids=["nothing", "no result", "status", "signal", "error", "text", "unsaid", "no text", "cut"],
)
def test_claude_is_believed_only_when_all_of_it_agrees(done: Ran) -> None:
    assert failing(claude.read, done).retryable


@pytest.mark.parametrize(
    ("status", "said", "hold", "retryable", "after", "told"),
    [
        (401, "Invalid API key", False, True, 900, "ANTHROPIC_API_KEY"),
        (403, "forbidden", False, True, 900, "ANTHROPIC_API_KEY"),
        (429, "Claude AI usage limit reached|1781082000", True, True, 3600, "usage limit reached"),
        (429, "You've hit your limit · resets 3pm (Europe/Berlin)", True, True, 5 * 3600, "resets 3pm"),
        (429, "slow down", True, True, None, "slow down"),
        (529, "Overloaded", True, True, None, "Overloaded"),
        (400, "Your credit balance is too low", True, True, None, "credit"),
        (500, "API Error: 500", False, True, None, "API Error: 500"),
        (408, "timed out", False, True, None, "timed out"),
        (None, "Request timed out.", False, True, None, "timed out"),
        (None, "Invalid API key · Please run /login", False, True, 900, "ANTHROPIC_API_KEY"),
        (400, "prompt is too long", False, False, None, "heartbeat wakes retry"),
        (404, "model: no-such", False, False, None, "no-such"),
        (True, "odd", False, True, None, "odd"),
    ],
)
def test_what_claude_complains_of_says_when_to_try_again(
    status: int, said: str, *, hold: bool, retryable: bool, after: float | None, told: str
) -> None:
    error = failing(claude.read, ran(refused(status, said), code=1))
    assert (isinstance(error, AgentOnHold), error.retryable, error.retry_after) == (hold, retryable, after)
    assert told in str(error)
    assert error.usage == Usage(1234, 56, 0.0123)


@pytest.mark.parametrize(("kind", "told"), [("error_max_turns", "turns"), ("error_max_budget_usd", "max_usd")])
def test_a_cap_of_claude_is_not_tried_again_and_what_it_cost_is_known(kind: str, told: str) -> None:
    error = failing(claude.read, ran({**RESULT, "subtype": kind, "is_error": True, "result": None}, code=1))
    assert not error.retryable
    assert told in str(error)
    assert error.usage == Usage(1234, 56, 0.0123)


def test_claude_is_called_without_a_person_and_within_a_fence() -> None:
    line = claude.line(replace(CALL, prefs=Prefs("opus", max_usd=0.25)), spot("claude"))
    session = pairs(line.argv, "--session-id")[0]
    assert line.argv == (
        *("claude", "-p", "--output-format", "stream-json", "--verbose"),
        *("--restricted", "--strict-mcp-config", "--tools", "Read,Grep,Glob"),
        *("--permission-prompts", "none", "--max-turns", "10", "--max-budget-usd", "0.25"),
        *("--session-id", session, "--model", "opus"),
    )
    assert line.stdin == b"the prompt"
    assert line.env["API_TIMEOUT_MS"] == "240000"
    assert session not in claude.line(CALL, spot("claude")).argv
    cheap = claude.line(replace(CALL, prefs=Prefs(max_usd=0.004)), spot("claude")).argv
    assert pairs(cheap, "--max-budget-usd") == ["0.004"]


@pytest.mark.parametrize(
    ("tools", "restricted", "fence"),
    [
        (None, False, ("--restricted", "--strict-mcp-config", "--tools", "Read,Grep,Glob")),
        (("Bash", "Read"), True, ("--restricted", "--strict-mcp-config", "--tools", "Read")),
        (("Bash",), True, ("--restricted", "--strict-mcp-config", "--tools", "")),
        ((), False, ("--tools", "")),
        (
            ("Bash(git log:*)", "Read", "mcp__mail__search"),
            False,
            ("--tools", "Bash,Read", "--allowedTools", "Bash(git log:*),Read,mcp__mail__search"),
        ),
    ],
)
def test_strangers_narrow_the_tools_of_claude(
    tools: tuple[str, ...] | None, *, restricted: bool, fence: tuple[str, ...]
) -> None:
    argv = claude.line(Call("w", "p", restricted, Prefs(tools=tools)), spot("claude")).argv
    assert argv[5 : argv.index("--permission-prompts")] == fence


# Codex

TURN = {"type": "turn.completed", "usage": {"input_tokens": 1234, "cached_input_tokens": 1000, "output_tokens": 56}}
MESSAGE = {"type": "item.completed", "item": {"type": "agent_message", "text": "from the events"}}
THREAD = {"type": "thread.started", "thread_id": "t-1"}


def test_the_cost_of_codex_comes_from_the_owners_prices() -> None:
    reply = PRICED(ran(THREAD, MESSAGE, TURN, answer=" from the file "))
    assert (reply.text, reply.session) == ("from the file", "t-1")
    assert reply.usage == Usage(1234, 56, (1234 * 1.25 + 56 * 10) / 1e6)
    assert codex.read(ran(THREAD, MESSAGE, TURN)) == Reply("from the events", "t-1", Usage(1234, 56))


@pytest.mark.parametrize(
    ("done", "hold", "after", "told"),
    [
        (ran(THREAD, MESSAGE, code=0), False, None, "exit status 0"),
        (ran(THREAD, MESSAGE, TURN, code=1), False, None, "exit status 1"),
        (ran(THREAD, TURN, {"type": "turn.failed", "error": {"message": "broken"}}), False, None, "broken"),
        (ran({"type": "error", "message": "We're currently experiencing high demand"}, code=1), True, None, "demand"),
        (ran({"type": "error", "message": "usage limit. Try again in 2h 5m."}, code=1), True, 7500, "2h 5m"),
        (ran({"type": "error", "message": "unexpected status 401 Unauthorized"}, code=1), False, 900, "codex login"),
        (ran(code=1, err="Not inside a trusted directory"), False, None, "trusted directory"),
    ],
)
def test_what_codex_complains_of_is_read_from_its_words(
    done: Ran, *, hold: bool, after: float | None, told: str
) -> None:
    error = failing(codex.read, done)
    assert (isinstance(error, AgentOnHold), error.retryable, error.retry_after) == (hold, True, after)
    assert told in str(error)


def test_codex_is_called_without_any_tool_for_the_text_of_strangers() -> None:
    tools = ("shell", "write", "web_search")
    fenced = codex.line(replace(CALL, prefs=Prefs("gpt", tools)), spot("codex", "-c", "model_provider=mine")).argv
    assert fenced[:4] == ("codex", "-c", "model_provider=mine", "exec")
    assert {"--json", "--ephemeral", "--skip-git-repo-check", "--ignore-user-config", "--ignore-rules"} <= set(fenced)
    assert pairs(fenced, "-s") == ["read-only"]
    assert pairs(fenced, "--disable") == ["plugins", "remote_plugin", "apps", "shell_tool"]
    assert {"web_search=disabled", 'shell_environment_policy.inherit="core"'} <= set(pairs(fenced, "-c"))
    assert fenced[-5:] == ("-m", "gpt", "-o", "/scratch/answer", "-")
    opened = codex.line(Call("w", "p", restricted=False, prefs=Prefs(tools=tools)), spot("codex")).argv
    assert pairs(opened, "-s") == ["workspace-write"]
    assert not {"--ignore-user-config", "web_search=disabled", "shell_tool"} & set(opened)
    assert 'shell_environment_policy.inherit="core"' in opened


def test_a_tool_that_codex_does_not_have_lists_those_it_has(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="cannot give codex the tool 'Bash'; write some of shell, write") as caught:
        codex.line(replace(CALL, prefs=Prefs(tools=("Bash",))), spot("codex"))
    assert not caught.value.retryable
    settings = Settings.model_validate({"agent": {"kind": "codex", "tools": ["Bash"]}})
    problem = codex.check(settings, Home(tmp_path, tmp_path, tmp_path), {}, "config.toml")
    assert problem is not None
    assert problem.key == "agent.tools"


# Hermes


def test_hermes_is_believed_when_its_usage_file_says_so() -> None:
    reply = hermes.read(ran(raw=b" the reply\n", answer={**REPORT, "output_tokens": 56, "estimated_cost_usd": 0}))
    assert reply == Reply("the reply", "h-1", Usage(1234, 56, 0.0))


@pytest.mark.parametrize(
    ("done", "hold", "after", "told"),
    [
        (ran(raw=b"the reply"), False, None, "exit status 0"),
        (ran(raw=b"the reply", answer="{}"), False, None, "exit status 0"),
        (ran(raw=b"the reply", answer={**REPORT, "completed": False}), False, None, "exit status 0"),
        (ran(raw=b"the reply", answer={**REPORT, "failed": None}), False, None, "exit status 0"),
        (ran(raw=b"the reply", answer=REPORT, code=2), False, None, "exit status 2"),
        (ran(raw=b"API call failed: broken", answer={**REPORT, "failed": True}), False, None, "broken"),
        (ran(raw=b"Error code: 401 - no", answer={**REPORT, "failed": True}), False, 900, "hermes setup"),
        (ran(raw=b"Error code: 429", answer={**REPORT, "failed": True}), True, None, "429"),
        # Half an answer may quote a stranger: nothing is read into it.
        (ran(raw=b"Error code: 429, retry after 99999", answer={**REPORT, "completed": False}), False, None, "429"),
        (ran(raw=b"rate limit|4102444800"), False, None, "rate limit"),
    ],
)
def test_an_exit_status_of_hermes_alone_means_nothing(done: Ran, *, hold: bool, after: float | None, told: str) -> None:
    error = failing(hermes.read, done)
    assert (isinstance(error, AgentOnHold), error.retryable, error.retry_after) == (hold, True, after)
    assert told in str(error)


def test_hermes_gets_the_prompt_in_a_file_whenever_it_may_read_one() -> None:
    fenced = hermes.line(replace(CALL, prefs=Prefs("m", ("file", "terminal"))), spot("hermes"))
    assert fenced.argv == (
        *("hermes", "-z", "the prompt", "-t", "todo", "--ignore-rules", "--usage-file", "/scratch/answer", "-m", "m"),
    )
    opened = hermes.line(Call("w", "the prompt", restricted=False, prefs=Prefs(tools=("file", "web"))), spot("hermes"))
    assert "/scratch/prompt.txt" in opened.argv[2]
    assert "the prompt" not in " ".join(opened.argv)
    assert opened.argv[3:] == ("-t", "file,web", "--usage-file", "/scratch/answer")
    assert opened.files == {"prompt.txt": b"the prompt"}
    assert pairs(hermes.line(Call("w", "p", restricted=False, prefs=Prefs(tools=())), spot("h")).argv, "-t") == ["todo"]


def test_a_prompt_is_an_argument_up_to_what_linux_takes() -> None:
    longest = "é" * 65_535 + "x"
    assert hermes.line(replace(CALL, prompt=longest), spot("hermes")).argv[2] == longest
    with pytest.raises(AgentError, match=r"131072 bytes.*tools") as caught:
        hermes.line(replace(CALL, prompt=longest + "x"), spot("hermes"))
    assert not caught.value.retryable
    with pytest.raises(AgentError, match=r"131073 bytes.*\{prompt_file\}") as caught:
        command.line(replace(CALL, prompt=longest), spot("agent", "p={prompt}"))
    assert not caught.value.retryable
    assert command.line(replace(CALL, prompt="a\0b"), spot("agent", "{prompt}")).argv[1] == "a\ufffdb"


# OpenClaw

CLAW = {
    "ok": True,
    "final": " the reply ",
    "sessionId": "o-1",
    "costUsd": 0.0123,
    "usage": {"input": 234, "cacheRead": 1000, "output": 56},
}


def test_openclaw_is_read_among_log_lines_and_over_many_lines() -> None:
    raw = b"[plugins] {loaded}\n{not json\n" + json.dumps(CLAW, indent=2).encode() + b"\nbye\n"
    assert openclaw.read(ran(raw=raw)) == Reply("the reply", "o-1", Usage(1234, 56, 0.0123))


@pytest.mark.parametrize(
    ("done", "hold", "told"),
    [
        (ran(CLAW, code=2), False, "exit status 2"),
        (ran({**CLAW, "ok": "true"}), False, "exit status 0"),
        (ran({**CLAW, "final": None}), False, "exit status 0"),
        (ran({"ok": False, "error": {"message": "gone", "kind": "timeout"}}, code=2), False, "timeout: gone"),
        (ran({"ok": False, "error": {"message": "later", "kind": "rate_limit"}}, code=1), True, "rate_limit: later"),
        (ran(code=1, err="first\nlast"), False, "it said: last"),
    ],
)
def test_openclaw_is_believed_only_when_all_of_it_agrees(done: Ran, *, hold: bool, told: str) -> None:
    error = failing(openclaw.read, done)
    assert (isinstance(error, AgentOnHold), error.retryable) == (hold, True)
    assert told in str(error)


@pytest.mark.parametrize(
    ("config", "tools", "restricted", "may"),
    [
        ('{"tools": {"allow": ["read"]}}', None, True, True),
        ('{"tools": {"allow": ["read", "exec"]}}', None, True, False),
        ('{"tools": {"allow": ["read"], "alsoAllow": ["exec"]}}', None, True, False),
        ('{"tools": {"allow": ["read"]}, "agents": {"list": [{"tools": {"allow": ["exec"]}}]}}', None, True, False),
        ('{"tools": {"allow": ["read"]}, "x": {"$include": "y"}}', None, True, False),
        ('{"tools": {"allow": []}}', None, True, False),
        ('{"tools": {"allow": "read"}}', None, True, False),
        ('{"tools": {"allow": [["read"]]}}', None, True, False),
        ("{tools: {allow: ['read']}}", None, True, False),
        ("[" * 5000, None, True, False),
        ("", None, True, False),
        ('{"tools": {"allow": ["read", "exec"]}}', ("read", "exec"), True, False),
        ('{"tools": {"allow": ["read", "exec"]}}', ("read", "exec"), False, True),
        ('{"tools": {"allow": ["read", "exec"]}}', ("read",), False, False),
        ("{}", None, False, True),
    ],
)
def test_openclaw_is_called_only_with_a_configuration_that_keeps_it_to_its_tools(
    tmp_path: Path, config: str, tools: tuple[str, ...] | None, *, restricted: bool, may: bool
) -> None:
    (tmp_path / "oc.json").write_text(config)
    call = Call("w", "p", restricted, Prefs(tools=tools))
    program = spot("openclaw", "agent", "exec", f"--config={tmp_path}/oc.json")
    if may:
        assert openclaw.line(call, program).argv[:3] == ("openclaw", "agent", "exec")
        return
    with pytest.raises(AgentError, match=r"^cannot keep openclaw .*tools.allow.*trusted = true") as caught:
        openclaw.line(call, program)
    assert not caught.value.retryable


@pytest.mark.parametrize(
    "words", [(), ("--config",), ("--config", "oc.json"), ("--config", "/no/such"), ("--config", "/")]
)
def test_without_a_configuration_openclaw_gets_no_text_of_strangers(words: tuple[str, ...]) -> None:
    with pytest.raises(AgentError, match="cannot keep openclaw"):
        openclaw.line(CALL, spot("openclaw", "agent", "exec", *words))


def test_the_last_configuration_of_a_command_counts(tmp_path: Path) -> None:
    (tmp_path / "safe.json").write_text('{"tools": {"allow": ["read"]}}')
    with pytest.raises(AgentError, match="cannot keep openclaw"):
        openclaw.line(CALL, spot("openclaw", "exec", "--config", f"{tmp_path}/safe.json", "--config", "/x"))


def test_openclaw_ends_before_our_own_limit() -> None:
    call = Call("w", "p", restricted=False, prefs=Prefs("m", folder="/f", timeout=timedelta(minutes=1)))
    assert openclaw.line(call, spot("openclaw")).argv == (
        *("openclaw", "agent", "exec", "--message-file", "-", "--json", "--timeout", "50"),
        *("--cwd", "/folder", "--model", "m"),
    )
    short = replace(call, prefs=Prefs(timeout=timedelta(seconds=5)))
    assert pairs(openclaw.line(short, spot("openclaw")).argv, "--timeout") == ["1"]


def test_check_says_beforehand_that_openclaw_is_not_fenced(tmp_path: Path) -> None:
    home = Home(tmp_path, tmp_path, tmp_path)

    def problem(**agent: Any) -> str:
        settings = Settings.model_validate({"agent": {"kind": "openclaw", "command": ["/bin/true"], **agent}})
        return str(openclaw.check(settings, home, {}, "config.toml") or "")

    assert "agent.command: cannot keep openclaw" in problem()
    assert "trusted = true" in problem()
    assert problem(trusted=True) == ""


# A program of the owner's


def test_the_owners_program_is_told_what_the_owner_prefers() -> None:
    env = command.line(Call("w", "p", restricted=True, prefs=Prefs("m", ("a", "b"))), spot("agent")).env
    assert env == {"HEARTBEAT_AGENT_MODEL": "m", "HEARTBEAT_RESTRICTED": "1", "HEARTBEAT_AGENT_TOOLS": "a,b"}
    env = command.line(Call("w", "p", restricted=False), spot("agent")).env
    assert env == {"HEARTBEAT_AGENT_MODEL": "", "HEARTBEAT_RESTRICTED": "0"}


@pytest.mark.parametrize(
    ("err", "seconds"),
    [
        ("retry-after: 90", 90.0),
        ("busy\nRetry-After: 1.5\n", 1.5),
        ("retry-after: 90\nbusy", None),
        ("retry-after: soon", None),
        ("", None),
    ],
)
def test_exit_status_75_puts_the_agent_on_hold(err: str, seconds: float | None) -> None:
    error = failing(command.read, ran(code=75, err=err))
    assert isinstance(error, AgentOnHold)
    assert error.retry_after == seconds
    assert not isinstance(failing(command.read, ran(code=74, err=err)), AgentOnHold)


# Times, numbers, texts


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("usage limit reached|1781082000", 3600),
        ("usage limit reached|1781082000000", 3600),
        ("usage limit reached|1781078399", 1),
        ("usage limit reached|9999999999", 8 * 86_400),
        ("{'retry_after': 20}", 20),
        ("Retry-After: 2.5", 2.5),
        ("Please try again in 17.252s. Visit", 17.252),
        ("try again in 20ms", 1),
        ("Try again in 3 days 4 hours and 5 minutes.", 3 * 86_400 + 4 * 3600 + 300),
        ("try again in 1h30m", 5400),
        ("limit resets 11am", 3600),
        ("limit resets at 10:30 (Europe/Berlin)", 1800),
        ("try again at 9:59 AM.", 86_400 - 60),
        ("resets 12am", 14 * 3600),
        ("resets 12pm (UTC)", 4 * 3600),
        ("resets 3pm (No/Such)", 5 * 3600),
        ("resets 25", None),
        ("resets 25pm", None),
        ("resets Oct 7, 3pm", None),
        ("try again later", None),
        ("try again in a while", None),
        ("try again in 5 apples", None),
        ("try again in 1 week", 7 * 86_400),
    ],
)
def test_the_time_an_agent_asks_for_is_understood(said: str, seconds: float | None) -> None:
    # It is 10 in Berlin.
    assert pause_in(said, NOW, "Europe/Berlin") == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    "value", [None, True, "7", -1, -0.5, math.nan, math.inf, -math.inf, 10**400, 2**53 + 1, [], {}]
)
def test_what_is_no_number_is_unknown(value: Any) -> None:
    assert (count(value), dollars(value)) == (None, None)
    assert total({"a": value, "b": 5}, "a", "b") is None
    assert total({"a": 5, "b": value}, "a", "b") == 5


def test_numbers_are_kept_up_to_the_limit() -> None:
    assert (count(2**53), count(0), count(7.0), dollars(0), dollars(0.5)) == (2**53, 0, 7, 0.0, 0.5)


def test_a_reply_is_cut_at_the_limit_and_says_so() -> None:
    assert reply_text("é" * (REPLY_LIMIT // 2)) == "é" * (REPLY_LIMIT // 2)
    cut = reply_text("é" * (REPLY_LIMIT // 2) + "x")
    assert cut.endswith("é\n[cut here]")
    assert REPLY_LIMIT - 2 <= len(cut.encode()) <= REPLY_LIMIT
    assert reply_text("\ud800a ") == "?a"


def test_a_line_that_is_no_json_costs_only_itself() -> None:
    raw = b'\xff{\n{"a": 1} log\n{"b": \n{"c": {"d": "\n"}}\n  {"e": 1}\n' + b'{"x":' * 3000 + b'\n{"f": 2}'
    assert list(objects(raw)) == [{"a": 1}, {"f": 2}]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["result", "ok"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
NAMES = (
    *("type", "subtype", "is_error", "result", "session_id", "usage", "total_cost_usd", "api_error_status", "item"),
    *("error", "ok", "final", "costUsd", "failed", "completed", "message", "input_tokens", "output_tokens", "input"),
)
TYPES = st.sampled_from(["result", "error", "turn.completed", "turn.failed", "item.completed", "thread.started"])
TRUE = st.just(value=True) | st.just(value=False)
EVENT = st.dictionaries(st.sampled_from(NAMES), TYPES | TRUE | JSON, max_size=8)


@pytest.mark.parametrize("kind", READERS)
@given(
    lines=st.lists(EVENT | JSON, max_size=3),
    raw=st.binary(max_size=20),
    code=st.sampled_from([0, 1, None]),
    answer=st.none() | st.text(max_size=20) | EVENT.map(json.dumps),
)
def test_whatever_a_program_leaves_the_end_is_a_reply_or_an_error(
    kind: str, lines: list[Any], raw: bytes, code: int | None, answer: str | None
) -> None:
    done = ran(*lines, raw=raw, code=code, signal=None if code is not None else 9)
    try:
        reply = READERS[kind](replace(done, answer=answer))
    except AgentError as error:
        said, usage = str(error), error.usage
    else:
        said, usage = reply.session, reply.usage
        reply.text.encode()
    assert "\n" not in said
    assert len(said.encode()) < 2000
    assert usage is None or isinstance(usage, Usage)
    for number in (usage.tokens_in, usage.tokens_out, usage.usd) if usage else ():
        assert number is None or (math.isfinite(number) and number >= 0)
