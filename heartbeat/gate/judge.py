"""The wake gate: from what a run printed, and how it ended, to a verdict."""

from __future__ import annotations

import signal
from collections import Counter
from dataclasses import replace

from heartbeat.durations import show_duration
from heartbeat.gate.dialects import hermes, nanoclaw
from heartbeat.gate.findings import read_gate, read_wake, shorten, text_finding
from heartbeat.gate.hints import Evidence, hint
from heartbeat.gate.strict_json import Refusal, read_object, show
from heartbeat.model import Captured, Execution, Gate, Judgement, Verdict

__all__ = ["DIALECTS", "MAX_LINE", "check", "judge", "text_finding"]

DIALECTS = ("strict", "hermes", "nanoclaw")
MAX_LINE = 1024 * 1024
_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"
_LAST_WORDS = 4096


def judge(execution: Execution, *, token: str, require_token: bool, dialect: str, unique: str = "") -> Judgement:
    """The verdict of a run that was not interrupted.

    *unique* (the run's id) makes what the foreign dialects say new every time; strict does without.
    """
    ending = _ending(execution)
    if dialect == "hermes":
        return hermes(execution, ending, unique)
    if dialect == "nanoclaw":
        return nanoclaw(execution, ending, unique)
    if dialect != "strict":
        raise ValueError(f"cannot judge in the dialect {dialect!r}; use one of {', '.join(DIALECTS)}")
    output = _judge_output(execution.stdout, execution.stderr, token, require_token=require_token)
    return output if ending is None else _despite(output, ending)


def check(stdout: bytes) -> Judgement:
    """The verdict on a script's stdout alone, as if it had ended with exit status 0; any token is accepted."""
    return _judge_output(Captured(head=stdout), Captured(), "", require_token=False)


def _ending(execution: Execution) -> Judgement | None:
    """The verdict of a run that did not end well, whatever it printed."""
    if execution.start_error:
        return Judgement(Verdict.FAILED, "cannot_start", execution.start_error)
    if execution.timed_out:
        ran = show_duration(execution.ended_at - execution.started_at)
        advice = "make the script faster, or give the job a longer timeout; does it wait for input or for a child?"
        return Judgement(Verdict.TIMEOUT, "timeout", f"over its time limit: ended after {ran}", advice)
    said = _last_words(execution.stderr)
    look = "" if said else "it wrote nothing to stderr; run it by hand to see why"
    if execution.signal is not None:
        return Judgement(
            Verdict.FAILED,
            "killed_by_signal",
            f"killed by {_signal_name(execution.signal)}{said}",
            look,
        )
    if execution.exit_code != 0:
        status = "unknown" if execution.exit_code is None else execution.exit_code
        return Judgement(Verdict.FAILED, "exit_status", f"ended with exit status {status}{said}", look)
    return None


def _last_words(stderr: Captured) -> str:
    last = stderr.joined()[-_LAST_WORDS:].decode(errors="replace").strip().rsplit("\n", 1)[-1]
    return f"; it said: {last[:200]}" if last else ""


def _signal_name(number: int) -> str:
    try:
        return f"{signal.Signals(number).name} (signal {number})"
    except ValueError:
        return f"signal {number}"


def _despite(output: Judgement, ending: Judgement) -> Judgement:
    """A run that ended badly, with the gate it printed before."""
    if output.gate is None:
        return ending
    advice = ending.hint
    if ending.verdict is Verdict.FAILED:
        advice = "the gate is valid, but counts only with exit status 0; end the script with exit 0 if all is well"
    return replace(ending, gate=output.gate, context=output.context, hint=advice)


def _judge_output(stdout: Captured, stderr: Captured, token: str, *, require_token: bool) -> Judgement:
    above, line = _last_line(stdout)
    try:
        gate = _read(line, stdout, token, require_token=require_token)
    except Refusal as refusal:
        advice = refusal.hint or hint(Evidence.of(refusal.code, line, above, stderr.joined()))
        line_number = above.count(b"\n") + 1
        where = f"line {line_number}: " if line and not stdout.dropped else ""
        return Judgement(Verdict.MALFORMED, refusal.code, f"{where}{refusal.reason}", advice)
    context = above.decode("utf-8", "replace")
    if gate.wake and not gate.findings:
        gate = replace(gate, findings=(text_finding(context, gate.reason),))
    verdict = Verdict.WAKE if gate.wake else Verdict.QUIET
    reason = gate.reason or f"the gate says {'true' if gate.wake else 'false'}"
    return Judgement(verdict, verdict.value, reason, _keys_twice(gate), gate, shorten(context))


def _keys_twice(gate: Gate) -> str:
    """What to mend in a valid gate: of two findings under one key and version only the first can be told."""
    counts = Counter((finding.key, finding.version) for finding in gate.findings)
    twice = next((key for (key, _), count in counts.items() if count > 1), None)
    return f"the key {show(twice)} stands twice; give each thing a key of its own" if twice is not None else ""


def _last_line(stdout: Captured) -> tuple[bytes, bytes]:
    """What stands above the last line that holds anything but blanks, and that line without the blanks behind it."""
    whole = stdout.joined().removeprefix(_BOM)
    end = len(whole.rstrip(_BLANK))
    start = whole.rfind(b"\n", 0, end) + 1
    return whole[:start], whole[start:end]


def _read(line: bytes, stdout: Captured, token: str, *, require_token: bool) -> Gate:
    """The gate on *line*; raises Refusal."""
    if not line:
        raise Refusal("no_output", "nothing was printed on stdout")
    # A line whose beginning was left out could seem to be a gate by the end of a text that a stranger wrote.
    if stdout.dropped and b"\n" not in stdout.tail.rstrip(_BLANK):
        raise Refusal("gate_line_too_long", f"the last line begins in the {stdout.dropped} bytes that were left out")
    if len(line) > MAX_LINE:
        raise Refusal("gate_line_too_long", f"the last line has {len(line)} bytes; the limit is {MAX_LINE}")
    values = read_object(_decode(line))
    read_wake(values)
    _check_token(values.get("token"), token, required=require_token)
    return read_gate(values)


def _decode(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        where = f"byte 0x{line[error.start]:02X} at byte {error.start + 1} of the last line"
        raise Refusal("gate_not_utf8", f"not UTF-8: {where}") from None


def _check_token(given: object, token: str, *, required: bool) -> None:
    if given in (None, ""):
        if required:
            raise Refusal("token_missing", 'the gate has no "token", which this job requires')
    elif type(given) is not str or (given != token and (token or required)):
        raise Refusal("token_wrong", '"token" is not the HEARTBEAT_TOKEN of this run')
