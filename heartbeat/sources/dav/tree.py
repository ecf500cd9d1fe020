"""XML from a stranger as a small tree: no document type, hence no entities of its own, and bounded in every direction.

A document type is refused at its first byte by the parser itself, in whatever encoding it comes, so neither entity
bombs nor external entities ever get to be declared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from heartbeat.sources import SourceFailed

DEEPEST = 32
MOST_ELEMENTS = 1_000_000
_NO_XML = "cannot use the answer: it is no XML of a DAV server; check the address, or whether it wants a login"


@dataclass(slots=True)
class Node:
    """One element; its name is `NAMESPACE LOCAL`, such as `DAV: href`."""

    name: str
    attributes: dict[str, str]
    children: list[Node] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    def all(self, name: str) -> Iterator[Node]:
        """The children of that name."""
        return (child for child in self.children if child.name == name)

    def first(self, *path: str) -> Node | None:
        """The first child of the first name, its first child of the second, and so on."""
        node: Node | None = self
        for name in path:
            node = next(node.all(name), None) if node else None
        return node


class _Forbidden(Exception):
    """The answer holds what no DAV server has reason to send."""


def parse(body: bytes) -> Node:
    """The root of a document; raises SourceFailed for whatever is no harmless XML."""
    builder = _Builder()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True  # else a calendar object comes in hundreds of pieces, one a line
    parser.StartDoctypeDeclHandler = builder.doctype
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    try:
        parser.Parse(body, True)
    except (expat.ExpatError, LookupError, UnicodeError):  # LookupError: an encoding Python does not know
        raise SourceFailed(_NO_XML) from None
    except _Forbidden as forbidden:
        raise SourceFailed(f"cannot use the answer: {forbidden}; check the address") from None
    if builder.root is None:
        raise SourceFailed(_NO_XML)
    return builder.root


class _Builder:
    """Makes nodes of what the parser meets."""

    def __init__(self) -> None:
        self.root: Node | None = None
        self._open: list[Node] = []
        self._count = 0

    def doctype(self, *_: object) -> None:
        raise _Forbidden("its XML declares a document type")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MOST_ELEMENTS or len(self._open) >= DEEPEST:
            raise _Forbidden("its XML has too many elements, or too many inside each other")
        node = Node(name, attributes)
        if self._open:
            self._open[-1].children.append(node)
        else:
            self.root = node
        self._open.append(node)

    def end(self, _name: str) -> None:
        self._open.pop()

    def text(self, piece: str) -> None:
        self._open[-1].pieces.append(piece)
