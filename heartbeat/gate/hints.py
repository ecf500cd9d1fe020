"""What the author of a script should mend, guessed from the line that is not a gate."""

from __future__ import annotations

import difflib
import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from heartbeat.gate.characters import is_odd, name_of, only_odd
from heartbeat.gate.strict_json import Refusal, nesting, read_loosely, show

_LONGEST = 1024 * 1024
_WINDOW = 64 * 1024
_MANY = 200
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)  # an open one runs to the end: linear on any input
_CONTROL = re.compile(r"[\x00-\x1f]")
_QUOTES = "\u201c\u201d\u201e\u201f\u2018\u2019\u00ab\u00bb"  # the typographic ones
_GENERIC = 'print one JSON object as the last line, such as {"wakeAgent": false}'

_BY_CODE = {
    "no_output": 'print {"wakeAgent": false} as the last line, also when there is nothing to report',
    "gate_line_too_long": "keep the gate line under 1 MiB: print long text on lines above it",
    "output_too_long": "print less than 1 MiB",
    "duplicate_key": "write each key once",
    "unpaired_surrogate": "text was cut in the middle of a character: cut it by characters, not by UTF-16 units",
    "too_deep": "flatten the value, or hand it on as text",
    "token_missing": 'print the variable HEARTBEAT_TOKEN in the gate, in Python "token": os.environ["HEARTBEAT_TOKEN"]',
    "token_wrong": "read HEARTBEAT_TOKEN anew in every run; it must not be stored, shortened or quoted twice",
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a clue looks at."""

    code: str
    line: str
    bare: str
    """The line with its strings emptied."""
    value: Any
    """What the line holds as JSON, if it is JSON."""
    above: str
    """The end of what stands above the line."""
    stderr: str

    @classmethod
    def of(cls, code: str, line: bytes, above: bytes, stderr: bytes) -> Evidence:
        text = line[:_LONGEST].decode("utf-8", "replace").strip(" \t\r")
        near, errors = (raw[-_WINDOW:].decode("utf-8", "replace") for raw in (above, stderr))
        return cls(code, text, _STRING.sub('""', text), _value(text), near, errors)

    @property
    def members(self) -> dict[str, Any]:
        return self.value if isinstance(self.value, dict) else {}


def hint(evidence: Evidence) -> str:
    """One sentence on what to mend."""
    said = (clue(evidence) for clue in _CLUES)
    return next((words for words in said if words), _BY_CODE.get(evidence.code, _GENERIC))


def _slip(pattern: str, words: str) -> Callable[[Evidence], str]:
    """A clue that looks at the line without what its strings hold."""
    sought = re.compile(pattern)
    return lambda evidence: words if evidence.code == "gate_not_json" and sought.search(evidence.bare) else ""


def _raw_control(evidence: Evidence) -> str:
    inside = len(_CONTROL.findall(evidence.line)) - len(_CONTROL.findall(evidence.bare))
    if evidence.code == "gate_not_json" and inside:
        return "a text holds a raw control character, such as a TAB; escape it (json.dumps and jq do)"
    return ""


def _on_stderr(evidence: Evidence) -> str:
    if "wakeAgent" in evidence.stderr and "wakeAgent" not in evidence.line + evidence.above:
        return "the gate was printed on stderr; print it on stdout"
    return ""


def _settled(evidence: Evidence) -> str:
    return _BY_CODE.get(evidence.code, "")


def _several_lines(evidence: Evidence) -> str:
    tail = evidence.above + evidence.line[:_WINDOW]
    starts = [match.start() for match in re.finditer(r"^[ \t]*\{", evidence.above, re.MULTILINE)][-20:]
    if any("wakeAgent" in _object(tail[start:]) for start in starts):
        return "print the gate on one line (json.dumps without indent, jq -c)"
    return ""


def _gate_above(evidence: Evidence) -> str:
    if "wake" in evidence.line.casefold():
        return ""
    lines = evidence.above.removesuffix("\n").split("\n")[-_MANY:]
    for distance, line in enumerate(reversed(lines), 1):
        if "wakeAgent" in line and isinstance(_object(line).get("wakeAgent"), bool):
            where = "1 line" if distance == 1 else f"{distance} lines"
            after = only_odd(evidence.line) or f"the line {show(evidence.line)}"
            return f"a gate stands {where} above, but then comes {after}; print the gate last"
    return ""


def _utf16(evidence: Evidence) -> str:
    if evidence.line.count("\0") > len(evidence.line) // 4:
        return "the line holds NUL bytes, as UTF-16 and UTF-32 do; print UTF-8"
    return ""


def _not_utf8(evidence: Evidence) -> str:
    if evidence.code != "gate_not_utf8":
        return ""
    return "print UTF-8 (in Python: PYTHONIOENCODING=utf-8), or escape such characters as \\uXXXX (json.dumps does)"


def _carriage_return(evidence: Evidence) -> str:
    before, found, after = evidence.line.rpartition("\r")
    if found and before and after.lstrip().startswith("{"):
        return "a CR does not end a line: print a line feed between the progress text and the gate"
    return ""


def _wrapped(evidence: Evidence) -> str:
    if isinstance(evidence.value, list) and "wakeAgent" in json.dumps(evidence.value):
        return "print the gate itself, not inside an array"
    if isinstance(evidence.value, str) and _object(evidence.value):
        return "the gate is encoded twice, as a JSON text; print the object, not its quoted form"
    return ""


def _odd_character(evidence: Evidence) -> str:
    if evidence.code != "gate_not_json" or ("wake" not in evidence.line.casefold() and not only_odd(evidence.line)):
        return ""
    for character in evidence.bare[:_WINDOW]:
        if character not in "\t\r " and is_odd(character):
            name = name_of(character)
            also = "; only a line feed ends a line" if len(f"a{character}b".splitlines()) > 1 else ""
            return f"the line holds {name}; remove it{also}"
    return ""


def _beside(evidence: Evidence) -> str:
    """Something before or after a whole object."""
    before, brace, rest = evidence.line.partition("{")
    if not brace or nesting(brace + rest)[0]:
        return ""
    try:
        _, end = json.JSONDecoder().raw_decode(brace + rest)
    except ValueError:
        return ""
    before, after = before.strip(), (brace + rest)[end:].strip()
    if before:
        return f"{show(before)} stands before the object; put the gate alone on its line"
    if after.startswith("{"):
        return "two objects stand on one line; print one gate"
    if after.startswith(("#", "//", "/*")):
        return "JSON has no comments; remove what follows the object"
    return f"{show(after)} stands after the object; put the gate alone on its line" if after else ""


def _unclosed(evidence: Evidence) -> str:
    surplus = evidence.bare.count("{") - evidence.bare.count("}")
    if surplus > 0:
        return "the object is not closed; was the output cut, or is a } missing?"
    return "the object is not opened; is a { missing?" if surplus < 0 else ""


def _misspelt(evidence: Evidence) -> str:
    keys = {_letters(key): key for key in list(evidence.members)[:_MANY]}
    close = difflib.get_close_matches("wakeagent", keys, 1, 0.7) or [key for key in ("wake", "wakeup") if key in keys]
    if evidence.code == "key_missing" and close:
        return f'the key {show(keys[close[0]])} must be spelt exactly "wakeAgent"'
    return ""


def _nested(evidence: Evidence) -> str:
    if evidence.code == "key_missing" and '"wakeAgent"' in evidence.line:
        return '"wakeAgent" stands deeper inside; put it at the top level of the object'
    return ""


def _no_boolean(evidence: Evidence) -> str:
    if evidence.code != "value_not_boolean":
        return ""
    value = evidence.members.get("wakeAgent")
    if isinstance(value, str) and value.strip().casefold() in ("true", "false"):
        return f"write {value.strip().casefold()} without quotes"
    return "write true or false; 0, 1, null and texts are not accepted"


def _value(text: str) -> Any:
    try:
        return read_loosely(text)
    except Refusal:
        return None


def _object(text: str) -> dict[str, Any]:
    value = _value(text)
    return value if isinstance(value, dict) else {}


def _letters(key: str) -> str:
    return re.sub(r"[^a-z]", "", unicodedata.normalize("NFKD", key).casefold())


_CLUES: tuple[Callable[[Evidence], str], ...] = (
    _on_stderr,
    _settled,
    _no_boolean,
    _slip("^(```|~~~)", "print the gate without a Markdown fence around it"),
    _utf16,
    _slip("\x1b", "the line holds a terminal colour or control sequence; print it without (NO_COLOR=1, jq -M)"),
    _gate_above,
    _not_utf8,
    _misspelt,
    _nested,
    _several_lines,
    _carriage_return,
    _wrapped,
    _slip(f"[{_QUOTES}]", 'JSON needs plain double quotes ("), not typographic ones'),
    _odd_character,
    _raw_control,
    _beside,
    _slip(r"\{\s*'|:\s*(True|False|None)\b", "this is Python's notation, not JSON; use print(json.dumps(...))"),
    _slip(r",\s*[}\]]", "remove the trailing comma"),
    _slip(r"//|/\*|#", "JSON has no comments; remove it"),
    _slip(r"[{,]\s*[A-Za-z_]\w*\s*:", 'write the key in double quotes: "wakeAgent"'),
    _slip(r":\s*(?!(true|false|null)\b)[A-Za-z]", "write true or false, in full and in lower case"),
    _slip(r":\s*[,}]", "the value behind the colon is missing; is a variable empty?"),
    _unclosed,
)
