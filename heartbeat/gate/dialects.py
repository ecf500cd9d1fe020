"""The wake gates of Hermes and NanoClaw, for scripts that were written for those."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from heartbeat.gate.findings import read_wake, shorten, text_finding
from heartbeat.gate.hints import Evidence, hint
from heartbeat.gate.strict_json import MAX_DEPTH, Refusal, describe, nesting, read_loosely
from heartbeat.model import Execution, Gate, Judgement, Verdict

_HERMES_DEPTH = 500  # its parser recurses, and Python stops it at 1,000 frames, its callers' included
_PYTHON_LINE_ENDS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_JS_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_NANOCLAW_OUTPUT = 1024 * 1024


def hermes(execution: Execution, ending: Judgement | None, unique: str) -> Judgement:
    """Hermes wakes in doubt: only a clean false, or no output at all, is quiet."""
    if ending is not None:
        return _hermes_error(ending.reason, execution, unique)
    try:
        stdout = execution.stdout.joined().decode("utf-8")
    except UnicodeDecodeError as error:
        return _hermes_error(f"stdout is not UTF-8 at byte {error.start + 1}", execution, unique)
    text = stdout.replace("\r\n", "\n").replace("\r", "\n")
    printed = text.strip()
    if not printed:
        return Judgement(Verdict.QUIET, "quiet", "nothing was printed", gate=Gate(wake=False))
    line = printed[max(printed.rfind(end) for end in _PYTHON_LINE_ENDS) + 1 :].strip()
    if _too_deep_for_hermes(line):
        return Judgement(Verdict.FAILED, "too_deep", "the last line is nested too deeply for Hermes' parser")
    value = _hermes_value(line)
    if value is False:
        return Judgement(Verdict.QUIET, "quiet", "the gate says false", gate=Gate(wake=False), context=shorten(text))
    reason = "the gate says true" if value is True else "the last line is not a clean false"
    return _wake(reason, text, unique)


def nanoclaw(execution: Execution, ending: Judgement | None, unique: str) -> Judgement:
    """NanoClaw sleeps in doubt: only a clean true wakes, with nothing but its `data`."""
    if ending is not None:
        return ending
    stdout = execution.stdout.joined().decode("utf-8", "replace").strip(_JS_SPACE)
    above, _, line = stdout.rpartition("\n")
    try:
        _check_nanoclaw_size(execution)
        return _nanoclaw_verdict(line, unique)
    except Refusal as refusal:
        evidence = Evidence.of(refusal.code, line.encode(), above.encode(), execution.stderr.joined())
        return Judgement(Verdict.MALFORMED, refusal.code, refusal.reason, refusal.hint or hint(evidence))


def _hermes_error(problem: str, execution: Execution, unique: str) -> Judgement:
    streams: Sequence[tuple[str, bytes]] = (
        ("stderr", execution.stderr.joined()),
        ("stdout", execution.stdout.joined()),
    )
    printed = [f"{name}:\n{raw.decode('utf-8', 'replace').strip()}" for name, raw in streams if raw.strip()]
    return _wake(f"the script failed: {problem}", "\n".join([f"the script failed: {problem}", *printed]), unique)


def _too_deep_for_hermes(line: str) -> bool:
    return line.count("[") + line.count("{") > _HERMES_DEPTH and nesting(line, _HERMES_DEPTH)[0]


def _hermes_value(line: str) -> Any:
    try:
        gate = json.loads(line)
    except ValueError:
        return None
    return gate.get("wakeAgent") if isinstance(gate, dict) else None


def _check_nanoclaw_size(execution: Execution) -> None:
    for name, stream in (("stdout", execution.stdout), ("stderr", execution.stderr)):
        if stream.total > _NANOCLAW_OUTPUT:
            raise Refusal("output_too_long", f"{name} has {stream.total} bytes; the limit is {_NANOCLAW_OUTPUT}")


def _nanoclaw_verdict(line: str, unique: str) -> Judgement:
    if not line:
        raise Refusal("no_output", "nothing was printed on stdout")
    if nesting(line)[0]:
        # NanoClaw reads on; a value this deep could be neither recorded nor shown.
        raise Refusal("too_deep", f"nested over {MAX_DEPTH} levels deep")
    gate = read_loosely(line)
    if not isinstance(gate, dict):
        raise Refusal("gate_not_json", f"{describe(gate)}, not a JSON object")
    if not read_wake(gate):
        return Judgement(Verdict.QUIET, "quiet", "the gate says false", gate=Gate(wake=False))
    return _nanoclaw_wake(gate.get("data"), unique)


def _nanoclaw_wake(data: object, unique: str) -> Judgement:
    data = json.loads(_whole_characters(json.dumps(data, ensure_ascii=False)))
    shown = data not in (None, False, 0, "")
    woken = _wake("the gate says true", json.dumps(data, ensure_ascii=False, indent=2) if shown else "", unique)
    assert woken.gate is not None
    return replace(woken, gate=replace(woken.gate, data=data))


def _wake(reason: str, text: str, unique: str) -> Judgement:
    gate = Gate(wake=True, findings=(text_finding(text, "", unique=unique),))
    return Judgement(Verdict.WAKE, "wake", reason, gate=gate, context=shorten(text))


def _whole_characters(text: str) -> str:
    """The text with half characters (unpaired surrogates), which no file can hold, replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
