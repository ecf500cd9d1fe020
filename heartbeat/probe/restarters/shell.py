"""Shell text -> the simple commands in it: read the way a shell reads, not searched for words. Pure.

So that `echo "systemctl restart heartbeat"`, a comment, a here-document or the wrong branch of a `case` names nobody.
"""

from __future__ import annotations

from heartbeat.probe.restarters.tokens import END, NESTED, tokens
from heartbeat.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_DEEPEST = 4
_IGNORED = ("if", "then", "else", "elif", "fi", "do", "!", "{", "}", "time", "function", "coproc")
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"


class Step(Record):
    """One simple command.

    `assigned` are the variables set for it (`NAME=value`), `looped` says that it stands in a loop, `piped` are the
    words of the command whose output it reads; `user` is who it is run as and `script` the file it stands in, where
    known.
    """

    __slots__ = ("assigned", "looped", "piped", "script", "user", "words")

    def __init__(
        self,
        words: Sequence[str],
        *,
        assigned: Sequence[str] = (),
        looped: bool = False,
        piped: Sequence[str] = (),
        user: str = "",
        script: str = "",
    ) -> None:
        self.words = tuple(words)
        self.assigned = tuple(assigned)
        self.looped = looped
        self.piped = tuple(piped)
        self.user = user
        self.script = script

    def inner(self, words: Sequence[str], *, user: str = "", looped: bool = False, script: str = "") -> Step:
        """What this command runs in its turn."""
        return Step(
            words,
            assigned=self.assigned,
            looped=self.looped or looped,
            piped=self.piped,
            user=user or self.user,
            script=script or self.script,
        )


def parse(text: str, known: Mapping[str, str] | None = None, depth: int = 0) -> list[Step]:
    """Every simple command that the text could run; *known* are the variables it starts with."""
    reader = _Reader(dict(known or {}), depth)
    for kind, value in tokens(text):
        if kind == END:
            reader.end(value)
        elif kind == NESTED:
            reader.nested.append(value)
        else:
            reader.words.append(value)
    reader.end("\n")
    return reader.steps


def fits(pattern: str, text: str) -> bool:
    """Whether a pattern with `*` fits the whole text; nothing else in it is special."""
    first, *rest = pattern.split("*")
    if not rest:
        return pattern == text
    if not text.startswith(first):
        return False
    at = len(first)
    for piece in rest[:-1]:
        at = text.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return text.endswith(rest[-1]) and len(text) - len(rest[-1]) >= at


class _Case:
    """One `case … in`: its branches are left out once it is known that they are not taken."""

    def __init__(self, value: str) -> None:
        self.value = "" if "$" in value or "`" in value else value
        self.patterns: list[str] = []
        self.waiting = True
        self.taken = self.skipped = False

    def decide(self) -> None:
        fitting = any("?" in pattern or "[" in pattern or fits(pattern, self.value) for pattern in self.patterns)
        self.skipped = bool(self.value) and (self.taken or not fitting)
        self.taken = self.taken or not self.skipped
        self.waiting, self.patterns = False, []


class _Reader:
    def __init__(self, known: dict[str, str], depth: int) -> None:
        self.steps: list[Step] = []
        self.words: list[str] = []
        self.nested: list[str] = []
        self._known = known
        self._depth = depth
        self._loops = 0
        self._cases: list[_Case] = []
        self._piped: Sequence[str] = ()

    def end(self, by: str) -> None:
        """A command has ended, by what stands there."""
        words, self.words = self.words, []
        nested, self.nested = self.nested, []
        if self._cases and self._cases[-1].waiting and words[:1] != ["esac"]:
            self._see_pattern(words, by)
            return
        words = self._keywords(words)
        if self._cases and self._cases[-1].waiting and words:
            self._see_pattern(words, by)  # `case x in y)` on one line
            return
        skipped = any(case.skipped for case in self._cases)
        if not skipped:
            self._keep(words, nested)
        self._piped = words if by == "|" else ()
        if by == ";;" and self._cases:
            self._cases[-1].waiting = True

    def _see_pattern(self, words: Sequence[str], by: str) -> None:
        case = self._cases[-1]
        case.patterns.extend(words)
        if by == ")":
            case.decide()

    def _keywords(self, words: list[str]) -> list[str]:
        """The words after the shell's own, which are noted."""
        while words:
            first = words[0]
            if first in {"for", "select"}:
                self._loops += 1
                if words[2:3] == ["in"]:
                    self._known[words[1]] = " ".join(fill(words[3:], self._known))
                return []
            if first == "case" and words[2:3] == ["in"]:
                self._cases.append(_Case(" ".join(fill(words[1:2], self._known))))
                return words[3:]
            if first in {"while", "until"}:
                self._loops += 1
            elif first == "done":
                self._loops = max(0, self._loops - 1)
            elif first == "esac":
                del self._cases[-1:]
            elif first not in _IGNORED:
                break
            words = words[1:]
        return words

    def _keep(self, words: Sequence[str], nested: Sequence[str]) -> None:
        words = fill(words, self._known)
        count = 0
        while count < len(words) and _is_assignment(words[count]):
            count += 1
        assigned, words = words[:count], words[count:]
        if words[:1] in (["export"], ["local"], ["readonly"], ["declare"]):
            assigned, words = [word for word in words[1:] if _is_assignment(word)], []
        if words:
            self.steps.append(Step(words, assigned=assigned, looped=self._loops > 0, piped=self._piped))
        else:
            self._known.update(word.partition("=")[::2] for word in assigned)
        if self._depth < _DEEPEST:
            for text in nested:
                inner = parse(text, self._known, self._depth + 1)
                self.steps.extend(step.inner(step.words, looped=self._loops > 0) for step in inner)


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign and name and not name.strip(_LETTERS) and not name[0].isdigit())


def fill(words: Iterable[str], known: Mapping[str, str]) -> list[str]:
    """The words with the variables that are known; one that stands for several words becomes several."""
    filled = []
    for word in words:
        if "$" not in word:
            filled.append(word)
            continue
        text = _filled(word, known)
        is_whole = " " in word or "$(" in text or "`" in text
        filled.extend([text] if is_whole else text.split() or [text])
    return filled


def _filled(word: str, known: Mapping[str, str]) -> str:
    first, *rest = word.split("$")
    text = first
    for piece in rest:
        if piece.startswith("{"):
            inside, _, after = piece[1:].partition("}")
            size = _name_length(inside)
            name, default = inside[:size], inside[size:].lstrip(":").removeprefix("-")
            value = known.get(name) or default
        else:
            size = 1 if piece[:1].isdigit() else _name_length(piece)
            name, after = piece[:size], piece[size:]
            value = known.get(name, "")
        text += value + after if value else f"${piece}"
    return text


def _name_length(text: str) -> int:
    return len(text) - len(text.lstrip(_LETTERS))
