"""Hostile and odd XML, and where a server may send us with the password in hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heartbeat.sources import SourceFailed
from heartbeat.sources.dav import tree
from heartbeat.sources.dav.addresses import relative, resolve, take_apart
from heartbeat.sources.dav.multistatus import CALDAV, DAV, resources, was_cut_off

SET = "c:supported-calendar-component-set"
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


@pytest.mark.parametrize(
    "document",
    [
        '<!DOCTYPE a [<!ENTITY l0 "ha">' + LAUGHS + "]><a>&l9;</a>",
        '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
        '<!DOCTYPE a SYSTEM "http://127.0.0.1:1/a.dtd"><a/>',
        '<!DOCTYPE a [<!ENTITY % p SYSTEM "http://127.0.0.1:1/p"> %p;]><a/>',
        "<!DOCTYPE a><a/>",
    ],
    ids=["laughs", "file", "dtd", "parameter", "bare"],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_document_type_is_refused_in_every_encoding(document: str, encoding: str) -> None:
    with pytest.raises(SourceFailed, match="its XML declares a document type"):
        tree.parse(document.encode(encoding))


@pytest.mark.parametrize(
    "body",
    [b"", b" ", b"<", b"<html><br></html>", b"{}", b"<a></b>", b"<a>&unknown;</a>", b"<a/><b/>", b"\xff\xfe\x00",
     b'<?xml version="1.0" encoding="nonsense"?><a/>', b"<a>\x00</a>", b"BEGIN:VCALENDAR"],
    ids=repr,
)  # fmt: skip
def test_what_is_no_xml_is_a_failure(body: bytes) -> None:
    with pytest.raises(SourceFailed, match="it is no XML of a DAV server"):
        tree.parse(body)


@given(st.binary())
def test_no_answer_breaks_the_reader(body: bytes) -> None:
    try:
        list(resources(body))
    except SourceFailed as failed:
        assert str(failed).startswith("cannot ")  # noqa: PT017


@pytest.mark.parametrize(("extra", "taken"), [(0, True), (1, False)])
def test_so_many_elements_inside_each_other_are_taken_and_no_more(extra: int, taken: bool) -> None:
    depth = tree.DEEPEST + extra
    body = b"<a>" * depth + b"</a>" * depth
    if taken:
        assert tree.parse(body).name == "a"
    else:
        with pytest.raises(SourceFailed, match="too many inside each other"):
            tree.parse(body)


@pytest.mark.parametrize(("extra", "taken"), [(0, True), (1, False)])
def test_so_many_elements_are_taken_and_no_more(monkeypatch: pytest.MonkeyPatch, extra: int, taken: bool) -> None:
    monkeypatch.setattr(tree, "MOST_ELEMENTS", 1000)
    body = b"<a>" + b"<b/>" * (999 + extra) + b"</a>"
    if taken:
        assert len(tree.parse(body).children) == 999
    else:
        with pytest.raises(SourceFailed, match="too many elements"):
            tree.parse(body)


def test_text_is_whole_with_its_entities_and_sections() -> None:
    assert tree.parse(b"<a>1 &lt; 2 <!-- x --><![CDATA[& 3\r\n]]>&#228;</a>").text == "1 < 2 & 3\nä"


def multistatus(*responses: str) -> bytes:
    names = 'xmlns:m="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"'
    return f"<m:multistatus {names}>{''.join(responses)}</m:multistatus>".encode()


def test_only_properties_that_were_found_count() -> None:
    body = multistatus(
        "<m:response><m:href> /a/ </m:href>"
        "<m:propstat><m:prop><m:displayname>A</m:displayname></m:prop><m:status>HTTP/1.1 200 OK</m:status></m:propstat>"
        "<m:propstat><m:prop><m:getetag>x</m:getetag></m:prop><m:status>HTTP/1.1 404 Not Found</m:status></m:propstat>"
        "</m:response>",
        "<m:response><m:href>/b/</m:href><m:status>HTTP/1.1 507 Insufficient Storage</m:status></m:response>",
        "<m:response/>",
    )
    first, second, third = resources(body)
    assert (first.href, first.display_name, set(first.props)) == ("/a/", "A", {DAV + "displayname"})
    assert (second.status, third.href, third.props) == (507, "", {})
    assert was_cut_off([first, second])
    assert not was_cut_off([first, third])


@pytest.mark.parametrize(
    ("kinds", "components", "events"),
    [
        ("<c:calendar/>", "", True),
        ("<c:calendar/>", f"<{SET}/>", True),
        ("<c:calendar/>", f'<{SET}><c:comp name="vevent"/></{SET}>', True),
        ("<c:calendar/>", f'<{SET}><c:comp name="VTODO"/></{SET}>', False),
        ("<m:collection/>", "", False),
        ("<m:calendar/>", "", False),
        ("", "", False),
    ],
)  # fmt: skip
def test_a_calendar_is_known_by_its_type_and_components(kinds: str, components: str, events: bool) -> None:
    props = f"<m:resourcetype>{kinds}</m:resourcetype>{components}"
    (one,) = resources(multistatus(f"<m:response><m:propstat><m:prop>{props}</m:prop></m:propstat></m:response>"))
    assert one.may_hold_events is events
    assert one.hrefs(CALDAV + "calendar-home-set") == []


@pytest.mark.parametrize("body", [b"<multistatus/>", b'<html xmlns="DAV:"/>', b'<error xmlns="DAV:"/>'])
def test_another_document_is_a_failure(body: bytes) -> None:
    with pytest.raises(SourceFailed, match="not that of a DAV server"):
        list(resources(body))


@pytest.mark.parametrize(
    ("address", "bare", "user"),
    [
        ("https://x.org", "https://x.org/", None),
        (" https://X.org/dav ", "https://x.org/dav/", None),
        ("https://me:p%40ss@x.org:8443/a//?q#f", "https://x.org:8443/a/?q", ("me", "p@ss")),
        ("http://localhost:5232/", "http://localhost:5232/", None),
        ("http://127.0.0.1/", "http://127.0.0.1/", None),
        ("http://[::1]:5232/a", "http://[::1]:5232/a/", None),
    ],
)
def test_an_address_is_taken_apart(address: str, bare: str, user: tuple[str, str] | None) -> None:
    assert take_apart(address) == (bare, user)


@pytest.mark.parametrize(
    "address",
    ["http://x.org/canary", "http://localhost.x.org/canary", "http://128.0.0.1/canary", "http://canary.localhost:1/",
     "ftp://x.org/canary", "canary", "https://", "https://[canary/", "https://x.org:canary/", ""],
)  # fmt: skip
def test_a_password_never_goes_unprotected(address: str) -> None:
    with pytest.raises(SourceFailed, match="cannot use the address") as failed:
        take_apart(address)
    assert "canary" not in str(failed.value)


GIVEN = "https://caldav.icloud.com/"


@pytest.mark.parametrize(
    ("given", "href", "there"),
    [
        (GIVEN, "/123/principal/", "https://caldav.icloud.com/123/principal/"),
        (GIVEN, "https://p34-caldav.icloud.com:443/123/calendars/", "https://p34-caldav.icloud.com/123/calendars/"),
        (GIVEN, "https://caldav.icloud.com:8443/a/", "https://caldav.icloud.com/a/"),
        (GIVEN, "http://caldav.icloud.com/a/", "https://caldav.icloud.com/a/"),
        ("https://x.org:8443/dav/", "http://x.org/dav/me/", "https://x.org:8443/dav/me/"),
        ("https://x.org/dav/", "me/", "https://x.org/dav/me/"),
        ("https://x.org/dav/", "/dav/a%20b/", "https://x.org/dav/a%20b/"),
        ("https://x.org/dav/", "/dav/a b/", "https://x.org/dav/a b/"),
        ("https://x.org/dav/", "//x.org/a/", "https://x.org/a/"),
        ("https://x.org/dav/", "../../a/", "https://x.org/a/"),
        ("https://dav.example.co.uk/", "https://p1.example.co.uk/", "https://p1.example.co.uk/"),
        ("https://x.org/", "https://me:secret@x.org/a/", "https://x.org/a/"),
    ],
)
def test_a_server_may_send_us_on(given: str, href: str, there: str) -> None:
    assert resolve(given, given, href) == there


@pytest.mark.parametrize(
    ("given", "href"),
    [
        (GIVEN, "http://p34-caldav.icloud.com/a/"),
        (GIVEN, "https://p34-caldav.icloud.com:8443/a/"),
        (GIVEN, "https://icloud.com.evil.org/a/"),
        (GIVEN, "https://evilicloud.com/a/"),
        (GIVEN, "//evil.org/a/"),
        (GIVEN, "ftp://evil.org/a/"),
        (GIVEN, "javascript:alert(1)"),
        (GIVEN, "https://[evil/"),
        (GIVEN, "https://evil.org:x/"),
        ("https://x.org/", "https://y.org/"),
        ("https://example.co.uk/", "https://evil.co.uk/"),
        ("https://example.com.au/", "https://evil.com.au/"),
        ("https://10.0.0.1/", "https://11.0.0.1/"),
        ("http://127.0.0.1:5232/", "http://128.0.0.1:5232/"),
        ("http://localhost/", "https://evil.localhost/"),
    ],
)
def test_a_server_may_not_send_the_password_to_strangers(given: str, href: str) -> None:
    with pytest.raises(SourceFailed, match="cannot ") as failed:
        resolve(given, given, href)
    assert "evil" not in str(failed.value)


@pytest.mark.parametrize(
    "address", ["https://x.org/s3cret/", "https://x.org/s3cret/a:b/c/", "https://x.org/other/", "https://p2.dav.org/a/"]
)
def test_what_is_kept_of_an_address_leads_back_and_holds_nothing_of_the_given_one(address: str) -> None:
    given = "https://x.org/s3cret/" if "x.org" in address else "https://caldav.dav.org/s3cret/"
    kept = relative(given, address)
    assert resolve(given, given, kept) == address
    assert "s3cret" not in kept
