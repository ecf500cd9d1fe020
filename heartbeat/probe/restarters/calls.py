"""The commands that a program in Python, Perl, JavaScript … spells out as literals, found without knowing its language.

A literal counts only as the first argument of a call that runs something, or as the start of a list: text that is
printed or documented names nobody. Pure.
"""

from __future__ import annotations

from heartbeat.probe.restarters.shell import Step, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_CALLS = frozenset(
    (
        *("run", "call", "check_call", "check_output", "Popen", "create_subprocess_exec", "create_subprocess_shell"),
        *("system", "popen", "popen2", "popen3", "execv", "execvp", "execl", "execlp", "spawnlp", "spawnvp"),
        *("getoutput", "getstatusoutput", "shell_exec", "passthru", "proc_open", "capture2", "capture2e", "capture3"),
        *("exec", "execSync", "execFile", "execFileSync", "spawn", "spawnSync", "execa", "sh"),
    )
)
_WITHOUT_BRACKET = frozenset({"system", "exec"})
_LOOPS = ("while ", "while(", "setInterval(", "for (;;)", "for(;;)", "loop do", "loop {")
_QUOTES = "'\"`"
_SEPARATORS = " \t\r\n,["


def spelled(text: str) -> list[Step]:
    """The commands in the text of a program."""
    looped = any(word in text for word in _LOOPS)
    steps: list[Step] = []
    for words, is_shell in _commands(text):
        steps.extend(parse(words[0]) if is_shell else [Step(words)])
    return [step.inner(step.words, looped=looped) for step in steps]


def _commands(text: str) -> Iterator[tuple[list[str], bool]]:
    at = 0
    while at < len(text):
        letter = text[at]
        if letter == "#" or text.startswith("//", at):
            at = _line_end(text, at)
        elif letter in _QUOTES:
            lead = _lead(text, at)
            words, at = _literals(text, at, several=bool(lead))
            if lead and words[0].strip():
                yield words, len(words) == 1 and lead != "["
        else:
            at += 1


def _lead(text: str, at: int) -> str:
    """What makes a command of the literal at this place; empty when nothing does."""
    end = at
    while end and text[end - 1] in "rbfuRBFU":
        end -= 1
    if end and (text[end - 1].isalnum() or text[end - 1] == "_"):
        end = at  # a name that ends in such a letter
    while end and text[end - 1] in " \t\r\n":
        end -= 1
    before = text[end - 1 : end]
    if before == "[":
        return before
    name = _name_before(text, end - 1 if before == "(" else end)
    if name in (_CALLS if before == "(" else _WITHOUT_BRACKET):
        return name
    line = text[text.rfind("\n", 0, at) + 1 : at].rstrip()
    return "`" if text[at] == "`" and line[-1:] in {"", "=", ";", "{", "}"} else ""


def _name_before(text: str, end: int) -> str:
    start = end
    while start and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    return text[start:end]


def _literals(text: str, at: int, *, several: bool) -> tuple[list[str], int]:
    """The literal here, and those that follow it as the next arguments; and the place after them."""
    words = []
    while at < len(text) and text[at] in _QUOTES:
        word, at = _literal(text, at)
        words.append(word)
        after = at
        while after < len(text) and text[after] in _SEPARATORS:
            after += 1
        if not several or "," not in text[at:after]:
            break
        at = after
    return words, at


def _literal(text: str, at: int) -> tuple[str, int]:
    quote = text[at] * 3 if text.startswith(text[at] * 3, at) else text[at]
    start = at = at + len(quote)
    while at < len(text) and not text.startswith(quote, at):
        if text[at] == "\n" and quote in {"'", '"'}:
            return text[start:at], at  # an apostrophe in a comment: it must not swallow the rest
        at += 2 if text[at] == "\\" else 1
    return text[start:at], min(at + len(quote), len(text))


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return end if end >= 0 else len(text)
