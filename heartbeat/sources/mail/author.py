"""Who wrote a mail: the one mailbox in its one From field, read strictly, for forgers live on what parsers forgive."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from heartbeat.sources.mail.lexer import BLANK, COMMENT, QUOTED, WORD, Token, lex
from heartbeat.sources.mail.message import Message
from heartbeat.sources.mail.names import canonical_domain, poses_as_ascii, readable_domain
from heartbeat.sources.mail.words import LONGEST, decoded, text_of

MOST_REPLY_TO = 5
LONGEST_REPLY_TO = 2_000
_LONGEST_SHOWN = 500
"""Letters of each of several From fields."""
# Over the kinds of the tokens, one letter each.
_LOCAL = r"(?P<local>w(?:\.w)*|q)"
_DOMAIN = r"(?P<domain>w(?:\.w)*\.?)"
_NAMED = re.compile(rf"(?P<name>[wq.c_]*)<_*{_LOCAL}@{_DOMAIN}_*>[c_]*")
_BARE = re.compile(rf"[c_]*{_LOCAL}@{_DOMAIN}[c_]*")
_SAID_TWICE = re.compile(rf"(?P<name>[^<>]*)<_*{_LOCAL}@{_DOMAIN}_*>_*")
_REPLY_DOMAIN = re.compile(r"@[c_]*(?P<domain>w(?:\.w)*\.?)?")


@dataclass(frozen=True, slots=True)
class Address:
    """A mailbox: as it stands but for case, the domain as it is compared."""

    local: str
    domain: str

    def is_same(self, other: Address | None) -> bool:
        return other is not None and (self.local.lower(), self.domain) == (other.local.lower(), other.domain)

    def __str__(self) -> str:
        """In ASCII, so that a letter that only looks like another is seen."""
        return f"{self.local}@{self.domain}".encode("ascii", "backslashreplace").decode("ascii")


@dataclass(frozen=True, slots=True)
class Author:
    """What the From of a mail says."""

    address: Address | None
    """None unless it is one well-formed mailbox; then `defect` says why."""
    name: str
    """What stands around the address: names and comments, decoded. Without an address everything."""
    defect: str = ""


def read_author(message: Message) -> Author:
    """The author by the From field alone: Sender and Reply-To are other people."""
    fields = list(message.all("from"))
    if not fields:
        return Author(None, "", "it has none")
    if len(fields) > 1:
        shown = fields[:5] + fields[5:][-1:]  # a program shows the first or the last, and there may be a thousand
        said = (_said(lex(text_of(field[: 4 * _LONGEST_SHOWN])))[:_LONGEST_SHOWN] for field in shown)
        return Author(None, ", ".join(said), "it stands there twice")
    return _read(fields[0])


def read_mailbox(text: str) -> Address | None:
    """The address of a text that is one mailbox; None of any other."""
    return _parsed(lex(text))[0]


def reply_domains(message: Message) -> set[str]:
    """The domains that answers would go to; one that cannot be read stands as itself, for it is another one."""
    fields = list(message.all("reply-to"))
    if len(fields) > MOST_REPLY_TO or any(len(field) > LONGEST_REPLY_TO for field in fields):
        return {"?"}  # nobody needs so many, and reading them all would take its time
    domains = set()
    for field in fields:
        tokens = lex(text_of(field))
        for found in _REPLY_DOMAIN.finditer(_kinds(tokens)):
            text = _text(tokens, found, "domain") if found["domain"] else "?"
            domains.add(canonical_domain(text) or text)
    return domains


def _read(field: bytes) -> Author:
    text = text_of(field)
    tokens = lex(text)
    address, around = _parsed(tokens)
    name = _said(around).strip(" <>")
    defect = ""
    if len(field) > LONGEST:
        defect = "it is too long"
    elif any(unicodedata.category(letter) == "Cc" for letter in (text + name).replace("\t", " ")):
        defect = "it holds control characters"
    elif address is None:
        defect = _why(_kinds(tokens))
    elif not (address.local + readable_domain(address.domain)).isascii() and not _is_utf8(field):
        defect = "its address is in an unknown charset"
    return Author(address, name) if not defect else Author(None, _said(tokens), defect)


def _parsed(tokens: list[Token]) -> tuple[Address | None, list[Token]]:
    """The address, if the tokens are one mailbox, and the tokens around it."""
    kinds = _kinds(tokens)
    found = _NAMED.fullmatch(kinds) or _BARE.fullmatch(kinds)
    address = _address(tokens, found)
    if found is None and (found := _SAID_TWICE.fullmatch(kinds)):
        # Many programs put nothing around a name that is the address; whichever is read, it is the same.
        address = _address(tokens, found)
        said = lex(decoded(_text(tokens, found, "name")).strip(" \t'"))
        if address is None or not address.is_same(_address(said, _BARE.fullmatch(_kinds(said)))):
            return None, tokens
    if found is None or address is None:
        return None, tokens
    return address, tokens[: found.start("local")] + tokens[found.end("domain") :]


def _address(tokens: list[Token], found: re.Match[str] | None) -> Address | None:
    if found is None:
        return None
    local, domain = _text(tokens, found, "local"), canonical_domain(_text(tokens, found, "domain"))
    if domain is None or poses_as_ascii(local):
        return None
    return Address(unicodedata.normalize("NFC", local), domain)


def _kinds(tokens: list[Token]) -> str:
    return "".join(token.kind for token in tokens)


def _text(tokens: list[Token], found: re.Match[str], group: str) -> str:
    return "".join(token.text for token in tokens[found.start(group) : found.end(group)])


def _said(tokens: list[Token]) -> str:
    """All that a reader may see, decoded; comments at the end, for without them an address may come out."""
    shown = "".join(_set_apart(tokens))
    return " ".join(decoded(text).strip() for text in (shown, *_comments(tokens)))


def _set_apart(tokens: list[Token]) -> Iterator[str]:
    """What is no comment; a quoted string and an encoded word do not run into a word that is glued to them."""
    before = ""
    for kind, text in tokens:
        if kind != COMMENT:
            yield f" {text} " if kind == QUOTED else " " + text if kind == before == WORD else text
        before = kind


def _comments(tokens: list[Token]) -> list[str]:
    return [token.text for token in tokens if token.kind == COMMENT]


def _why(kinds: str) -> str:
    bare = kinds.replace(BLANK, "").replace(COMMENT, "")
    if ":" in bare and bare.endswith(";"):
        return "it is a group"
    if not set(bare) - set("<>"):
        return "it is empty"
    if "," in bare and bare.count("@") > 1:
        return "it names several authors"
    return "it is not one well-formed address"


def _is_utf8(field: bytes) -> bool:
    try:
        field.decode()
    except UnicodeDecodeError:
        return False
    return True
