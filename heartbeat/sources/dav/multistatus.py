"""The answer of status 207 (RFC 4918, section 13): what a server says of each resource."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from heartbeat.sources import SourceFailed
from heartbeat.sources.dav.tree import Node, parse

DAV = "DAV: "
CALDAV = "urn:ietf:params:xml:ns:caldav "
ETAG = DAV + "getetag"
DATA = CALDAV + "calendar-data"
_APPLE = "http://calendarserver.org/ns/ "
_OK = 200
_CUT_OFF = 507
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource: its address as the server wrote it, and the properties it has."""

    href: str
    status: int
    props: dict[str, Node]
    """Those that were found, by name."""

    def text(self, name: str) -> str:
        return self.props[name].text.strip() if name in self.props else ""

    def hrefs(self, name: str) -> list[str]:
        """The addresses that a property holds."""
        node = self.props.get(name)
        return [text for href in node.all(DAV + "href") if (text := href.text.strip())] if node else []

    @property
    def display_name(self) -> str:
        return self.text(DAV + "displayname")[:_LONGEST_NAME]

    @property
    def is_calendar(self) -> bool:
        kinds = self.props.get(DAV + "resourcetype")
        return kinds is not None and kinds.first(CALDAV + "calendar") is not None

    @property
    def may_hold_events(self) -> bool:
        """Whether it is a calendar, and not one for tasks only; one that says nothing of its components may."""
        components = self.props.get(CALDAV + "supported-calendar-component-set")
        named = {child.attributes.get("name", "").upper() for child in components.children} if components else set()
        return self.is_calendar and (not named or "VEVENT" in named)

    @property
    def version(self) -> str:
        """What changes with the contents of a collection; empty where the server has no such thing."""
        return self.text(_APPLE + "getctag") or self.text(DAV + "sync-token")


def resources(body: bytes) -> Iterator[Resource]:
    """Each resource of an answer; raises SourceFailed when it is none of a DAV server."""
    root = parse(body)
    if root.name != DAV + "multistatus":
        raise SourceFailed("cannot use the answer: it is not that of a DAV server; check the address")
    return (_resource(response) for response in root.all(DAV + "response"))


def was_cut_off(found: Sequence[Resource]) -> bool:
    """Whether the server says that it left some of the answer out."""
    return any(resource.status == _CUT_OFF for resource in found)


def _resource(response: Node) -> Resource:
    href = response.first(DAV + "href")
    props = {
        prop.name: prop
        for part in response.all(DAV + "propstat")
        if _status(part) == _OK
        for holder in part.all(DAV + "prop")
        for prop in holder.children
    }
    return Resource(href.text.strip() if href else "", _status(response), props)


def _status(node: Node) -> int:
    """The code of its status line; 200 where there is none, as in a response that has properties."""
    line = node.first(DAV + "status")
    words = line.text.split() if line else []
    code = words[1][:3] if len(words) > 1 else ""
    return int(code) if code.isascii() and code.isdigit() else _OK
