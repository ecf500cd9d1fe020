"""Shell text -> words and what stands between them. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

WORD, NESTED, END = "word", "nested", "end"
"""A word; the text inside a `$(…)` of the word that comes next; what ends a command."""
_BLANK, _APART = " \t\r", ";&|()"


def tokens(text: str) -> Iterator[tuple[str, str]]:
    """(kind, value) of everything but comments, redirections and here-documents."""
    reader = _Tokens(text)
    while reader.at < len(text):
        yield from reader.step()
    yield from reader.flush()


class _Tokens:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._word: list[str] | None = None
        self._nested: list[str] = []
        self._redirected = False
        self._documents: list[str] = []

    def step(self) -> Iterator[tuple[str, str]]:
        letter, after = self.text[self.at], self.text[self.at + 1 : self.at + 2]
        if letter in _BLANK:
            yield from self.flush()
            self.at += 1
        elif letter == "#" and self._word is None:
            self._go(self.text.find("\n", self.at))
        elif letter in "<>" or (letter == "&" and after == ">"):
            yield from self._redirection()
        elif letter == "\n" or letter in _APART:
            yield from self._separator(letter, after)
        else:
            self._piece(letter, after)

    def flush(self) -> Iterator[tuple[str, str]]:
        """The word that ends here."""
        word, self._word = self._word, None
        nested, self._nested = self._nested, []
        for text in nested:
            yield NESTED, text
        if word is None:
            return
        if self._redirected:
            self._redirected = False
        else:
            yield WORD, "".join(word)

    def _separator(self, letter: str, after: str) -> Iterator[tuple[str, str]]:
        yield from self.flush()
        self._redirected = False
        double = letter in ";&|" and after == letter
        self.at += 2 if double or (letter == "|" and after == "&") else 1
        yield END, letter * 2 if double else letter
        if letter == "\n":
            self._skip_documents()

    def _redirection(self) -> Iterator[tuple[str, str]]:
        if self.text[self.at + 1 : self.at + 2] == "(":  # <(…)
            end = _closing(self.text, self.at + 2)
            self._add("", nested=self.text[self.at + 2 : end])
            self.at = end + 1
            return
        if self._word and "".join(self._word).isdigit():
            self._word = None
        yield from self.flush()
        start = self.at
        while self.text[self.at : self.at + 1] and self.text[self.at] in "<>&|-":
            self.at += 1
        if self.text[start : self.at] in {"<<", "<<-"}:
            self._documents.append(self._delimiter())
        else:
            self._redirected = self.text[start : self.at] not in {">&-", "<&-"}

    def _delimiter(self) -> str:
        while self.text[self.at : self.at + 1] and self.text[self.at] in _BLANK:
            self.at += 1
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in f"{_BLANK}{_APART}<>\n":
            self.at += 1
        return "".join(letter for letter in self.text[start : self.at] if letter not in "'\"\\")

    def _skip_documents(self) -> None:
        documents, self._documents = self._documents, []
        for delimiter in documents:
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                line = self.text[self.at : end if end >= 0 else len(self.text)]
                self._go(end + 1 if end >= 0 else -1)
                if line.lstrip("\t").rstrip("\r") == delimiter:
                    break

    def _piece(self, letter: str, after: str) -> None:
        """A part of a word that is no plain end of it."""
        if letter == "'":
            end = self.text.find("'", self.at + 1)
            self._add(self.text[self.at + 1 : end if end >= 0 else len(self.text)])
            self._go(end + 1 if end >= 0 else -1)
        elif letter == '"':
            self.at += 1
            self._double()
        elif letter == "\\":
            if after != "\n":
                self._add(after)
            self.at += 2
        else:
            self._plain(letter, after)

    def _double(self) -> None:
        self._add("")
        while self.at < len(self.text) and (letter := self.text[self.at]) != '"':
            after = self.text[self.at + 1 : self.at + 2]
            if letter == "\\":
                self._add(after if after in '"\\$`' else "" if after == "\n" else letter + after)
                self.at += 2
            else:
                self._plain(letter, after)
        self.at += 1

    def _plain(self, letter: str, after: str) -> None:
        if letter == "$" and after == "(":
            end = _closing(self.text, self.at + 2)
            self._add(self.text[self.at : end + 1], nested=self.text[self.at + 2 : end])
            self.at = end + 1
        elif letter == "$" and after == "{":
            end = self.text.find("}", self.at)
            self._add(self.text[self.at : end + 1 if end >= 0 else len(self.text)])
            self._go(end + 1 if end >= 0 else -1)
        elif letter == "`":
            end = self.text.find("`", self.at + 1)
            end = end if end >= 0 else len(self.text)
            self._add(self.text[self.at : end + 1], nested=self.text[self.at + 1 : end])
            self.at = end + 1
        else:
            self._add(letter)
            self.at += 1

    def _add(self, text: str, nested: str = "") -> None:
        self._word = self._word or []
        self._word.append(text)
        if nested:
            self._nested.append(nested)

    def _go(self, at: int) -> None:
        """On to a place; -1 is the end."""
        self.at = at if at >= 0 else len(self.text)


def _closing(text: str, at: int) -> int:
    """Where the bracket that was opened before *at* is closed; the end when it is not."""
    depth = 1
    while at < len(text):
        letter = text[at]
        if letter == "\\":
            at += 1
        elif letter in "'\"":
            end = text.find(letter, at + 1)
            at = end if end >= 0 else len(text)
        elif letter == "(":
            depth += 1
        elif letter == ")":
            depth -= 1
            if not depth:
                return at
        at += 1
    return len(text)
