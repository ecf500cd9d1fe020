"""CalDAV servers as they are: each odd in its own way, played by a double."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape

import pytest
import tenacity

from heartbeat.sources import SourceFailed, fetch
from heartbeat.sources.answers import FetchFailed
from heartbeat.sources.calendars import caldav
from heartbeat.sources.calendars.asking import Content, Ics, Unchanged
from tests.caldav_servers import Answer, Asked, Double, double
from tests.calendar_sources.asking import asking, entry, event, ics, see, starts

CALENDAR = "<m:resourcetype><m:collection/><c:calendar/></m:resourcetype>"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Double]:
    monkeypatch.setattr(fetch, "_growing", tenacity.wait_none())  # the pauses between tries are not the matter here
    with double() as made:
        yield made


def multistatus(*responses: tuple[str, str]) -> Answer:
    """The answer that gives each href its properties."""
    inner = "".join(
        f"<m:response><m:href>{href}</m:href><m:propstat><m:prop>{props}</m:prop>"
        "<m:status>HTTP/1.1 200 OK</m:status></m:propstat></m:response>"
        for href, props in responses
    )
    names = 'xmlns:m="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav" xmlns:s="http://calendarserver.org/ns/"'
    return 207, f'<?xml version="1.0"?><m:multistatus {names}>{inner}</m:multistatus>'


def named(name: str, tag: str = "1") -> str:
    return f"{CALENDAR}<m:displayname>{name}</m:displayname><s:getctag>{tag}</s:getctag>"


def data(*objects: str) -> Answer:
    return multistatus(
        *((f"/{number}.ics", f"<m:getetag>x</m:getetag><c:calendar-data>{escape(text)}</c:calendar-data>")
          for number, text in enumerate(objects))
    )  # fmt: skip


Script = Mapping[tuple[str, str], Answer]


def plays(server: Double, script: Script) -> None:
    """Answer by method and path; 404 to all else."""
    server.play = lambda asked: script.get((asked.method, asked.path), (404, ""))


HOME: Script = {
    ("PROPFIND", "/"): multistatus(("/", "<m:current-user-principal><m:href>/me/</m:href></m:current-user-principal>")),
    ("PROPFIND", "/me/"): multistatus(("/me/", "<c:calendar-home-set><m:href>/cal/</m:href></c:calendar-home-set>")),
    ("PROPFIND", "/cal/"): multistatus(("/cal/", ""), ("/cal/a/", named("A")), ("/cal/b/", named("B"))),
    ("REPORT", "/cal/a/"): data(ics(event("a"))),
    ("REPORT", "/cal/b/"): data(ics(event("b"))),
}


def read(server: Double, place: str = "", known: str = "", **more: Any) -> Content:
    settings = {"user": "me", "password": "canary", **more.pop("settings", {})}
    return caldav.read(entry("caldav", server.root + place, **settings), asking(known=known, **more))


def shown(server: Double) -> list[tuple[str, str]]:
    return starts(see(entry("caldav", server.root, user="me", password="canary")))


def test_a_server_is_followed_from_its_root_to_its_calendars(server: Double) -> None:
    plays(server, HOME)
    content = read(server)
    assert isinstance(content, Ics)
    assert len(content.contents) == 2
    questions = [(asked.method, asked.path, asked.headers["Depth"]) for asked in server.asked]
    assert questions[:3] == [("PROPFIND", "/", "0"), ("PROPFIND", "/me/", "0"), ("PROPFIND", "/cal/", "1")]
    assert sorted(questions[3:]) == [("REPORT", "/cal/a/", "1"), ("REPORT", "/cal/b/", "1")]
    assert all(asked.headers["Authorization"].startswith("Basic ") for asked in server.asked)
    report = server.asked[-1].body
    assert b'<c:time-range start="20260609T074500Z" end="20260611T114500Z"/>' in report
    assert b"expand" not in report


@pytest.mark.parametrize("root", [404, 405, 403, 501, "empty"])
def test_the_well_known_address_is_tried_where_the_root_says_nothing(server: Double, root: int | str) -> None:
    plays(
        server,
        {
            **HOME,
            ("PROPFIND", "/"): multistatus(("/", "")) if root == "empty" else (int(root), ""),
            ("PROPFIND", "/.well-known/caldav"): (301, "", {"Location": "/dav/"}),
            ("PROPFIND", "/dav/"): HOME["PROPFIND", "/"],
        },
    )
    content = read(server)
    assert isinstance(content, Ics)
    assert len(content.contents) == 2


def test_a_token_is_sent_in_place_of_a_password(server: Double) -> None:
    plays(server, HOME)
    read(server, settings={"token": "canary-token"})
    assert {asked.headers["Authorization"] for asked in server.asked} == {"Bearer canary-token"}


@pytest.mark.parametrize(
    "href", ["http://other.invalid/cal/", "https://evil.invalid/", "//other.invalid/cal/", "http://[::1"]
)
def test_no_other_host_gets_the_password(server: Double, href: str) -> None:
    home = multistatus(("/me/", f"<c:calendar-home-set><m:href>{href}</m:href></c:calendar-home-set>"))
    plays(server, {**HOME, ("PROPFIND", "/me/"): home})
    with pytest.raises(SourceFailed, match="cannot "):
        read(server)
    assert {asked.path for asked in server.asked} <= {"/", "/me/", "/.well-known/caldav"}


def test_a_redirect_to_another_host_does_not_carry_the_password(server: Double) -> None:
    with double() as other:
        plays(server, {("PROPFIND", "/"): (302, "", {"Location": other.root})})
        with pytest.raises(SourceFailed):
            read(server)
        assert other.asked
        assert not [asked for asked in other.asked if "Authorization" in asked.headers]


def test_addresses_that_a_proxy_gets_wrong_are_put_right(server: Double) -> None:
    listing = multistatus(("http://127.0.0.1:1/cal/a%20b/", named("A")), ("https://127.0.0.1/cal/b c/", named("B")))
    plays(
        server,
        {
            **HOME,
            ("PROPFIND", "/cal/"): listing,
            ("REPORT", "/cal/a%20b/"): data(ics(event("a"))),
            ("REPORT", "/cal/b%20c/"): data(ics(event("b"))),
        },
    )
    content = read(server)
    assert isinstance(content, Ics)
    assert (len(content.contents), content.faults) == (2, ())


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 412, 500, 501, 507])
def test_a_calendar_that_is_refused_is_reported_and_the_others_stay(server: Double, status: int) -> None:
    plays(server, {**HOME, ("REPORT", "/cal/a/"): (status, "")})
    content = read(server)
    assert isinstance(content, Ics)
    assert len(content.contents) == 1
    (fault,) = content.faults
    assert fault.startswith(f"calendar 'A': cannot fetch: the server answers {status}")
    again = read(server, known=content.fingerprint)
    assert isinstance(again, Ics), "what was not whole is asked for anew"
    plays(server, HOME)
    assert isinstance(read(server, known=content.fingerprint), Ics)


def test_when_every_calendar_is_refused_the_source_fails_and_says_for_how_long(server: Double) -> None:
    busy = (503, "", {"Retry-After": "3600"})
    plays(server, {**HOME, ("REPORT", "/cal/a/"): busy, ("REPORT", "/cal/b/"): busy})
    with pytest.raises(FetchFailed, match="answers 503") as failed:
        read(server)
    assert failed.value.retry_after == 3600


@pytest.mark.parametrize(
    "answer",
    [
        (207, ""),
        (207, "<html/>"),
        (200, "<html/>"),
        (207, "<!DOCTYPE x><x/>"),
        (207, HOME["REPORT", "/cal/a/"][1][:-20]),
    ],
    ids=["empty", "another document", "200", "document type", "cut"],
)
def test_an_answer_that_is_none_is_never_an_empty_day(server: Double, answer: Answer) -> None:
    plays(server, {**HOME, ("REPORT", "/cal/a/"): answer})
    content = read(server)
    assert isinstance(content, Ics)
    assert (len(content.contents), len(content.faults)) == (1, 1)
    plays(server, {**HOME, ("PROPFIND", "/cal/"): answer})
    with pytest.raises(SourceFailed):
        read(server)


def test_an_answer_that_the_server_cut_off_is_reported(server: Double) -> None:
    cut = "<m:response><m:href>/cal/a/</m:href><m:status>HTTP/1.1 507 Insufficient Storage</m:status></m:response>"
    whole = HOME["REPORT", "/cal/a/"][1]
    plays(server, {**HOME, ("REPORT", "/cal/a/"): (207, whole.replace("</m:multistatus>", f"{cut}</m:multistatus>"))})
    content = read(server)
    assert isinstance(content, Ics)
    assert len(content.contents) == 2
    assert content.faults == ("calendar 'A': cannot read all of it: the server cuts its answer off",)


def test_events_without_their_data_are_reported(server: Double) -> None:
    plays(server, {**HOME, ("REPORT", "/cal/a/"): multistatus(("/1.ics", "<m:getetag>x</m:getetag>"), ("/cal/a/", ""))})
    content = read(server)
    assert isinstance(content, Ics)
    assert content.faults == ("calendar 'A': cannot read 1 of its events: the server sends them without their data",)


def test_a_server_that_ignores_the_span_changes_nothing(server: Double) -> None:
    far = [ics(event(f"far{year}", f"{year}0610T080000Z")) for year in range(1990, 2050) if year != 2026]
    plays(server, {**HOME, ("REPORT", "/cal/a/"): data(*far, ics(event("a")))})
    assert shown(server) == [("a", "08:00"), ("b", "08:00")]


def test_overrides_in_objects_of_their_own_are_put_together(server: Double) -> None:
    series = event("s", "20260601T080000Z", "RRULE:FREQ=DAILY")
    override = event("s", "20260610T083000Z", "RECURRENCE-ID:20260610T080000Z")
    plays(server, {**HOME, ("REPORT", "/cal/a/"): data(ics(series), ics(override)), ("REPORT", "/cal/b/"): data()})
    assert shown(server) == [("s", "08:30")]


def test_a_broken_object_costs_only_itself(server: Double) -> None:
    broken = ["", "BEGIN:VCALENDAR", ics("BEGIN:VEVENT", "DTSTART:x", "END:VEVENT"), "<html>"]
    plays(server, {**HOME, ("REPORT", "/cal/a/"): data(*broken, ics(event("a")))})
    assert shown(server) == [("a", "08:00"), ("b", "08:00")]


def without_versions(script: Script) -> Script:
    return {key: (answer[0], answer[1].replace("<s:getctag>1</s:getctag>", "")) for key, answer in script.items()}


def test_without_versions_the_events_are_compared(server: Double) -> None:
    plays(server, without_versions(HOME))
    first = read(server)
    assert isinstance(first, Ics)
    server.asked.clear()
    assert read(server, known=first.fingerprint) == Unchanged(first.fingerprint)
    assert sorted(asked.method for asked in server.asked) == ["PROPFIND", "REPORT", "REPORT"]
    plays(server, without_versions({**HOME, ("REPORT", "/cal/a/"): data(ics(event("a", "20260610T083000Z")))}))
    assert isinstance(read(server, known=first.fingerprint), Ics)


def test_a_sync_token_is_a_version_too(server: Double) -> None:
    def script(token: str) -> Script:
        listing = multistatus(("/cal/a/", f"{CALENDAR}<m:sync-token>{token}</m:sync-token>"))
        return {**HOME, ("PROPFIND", "/cal/"): listing}

    plays(server, script("1"))
    first = read(server)
    assert isinstance(first, Ics)
    server.asked.clear()
    assert read(server, known=first.fingerprint) == Unchanged(first.fingerprint)
    assert [asked.method for asked in server.asked] == ["PROPFIND"]
    plays(server, {**script("2"), ("REPORT", "/cal/a/"): data()})
    assert isinstance(read(server, known=first.fingerprint), Ics)


def test_so_many_calendars_are_read_and_no_more(server: Double) -> None:
    def serve(count: int) -> None:
        listing = multistatus(*((f"/cal/{number}/", named(f"c{number}")) for number in range(count)))
        reports = {("REPORT", f"/cal/{number}/"): data() for number in range(count)}
        plays(server, {**HOME, **reports, ("PROPFIND", "/cal/"): listing})

    serve(caldav.MOST_CALENDARS)
    whole = read(server)
    assert isinstance(whole, Ics)
    assert whole.faults == ()
    serve(caldav.MOST_CALENDARS + 1)
    server.asked.clear()
    more = read(server, known=whole.fingerprint)
    assert isinstance(more, Ics), "that one is left out must not be hidden by what is unchanged"
    assert more.faults == ("cannot read more than 50 of 51 calendars; name those you want",)
    assert sum(asked.method == "REPORT" for asked in server.asked) == caldav.MOST_CALENDARS


def test_hostile_names_are_shown_clean(server: Double) -> None:
    listing = multistatus(("/cal/a/", named("A\n\u202eB" + "x" * 300)), ("/cal/b%0Ab/", CALENDAR))
    plays(server, {**HOME, ("PROPFIND", "/cal/"): listing})
    with pytest.raises(SourceFailed) as failed:
        read(server, settings={"calendars": ["Gone"]})
    assert str(failed.value).isprintable()
    assert len(str(failed.value)) < 300


@pytest.mark.parametrize("slow", ["PROPFIND", "REPORT"])
def test_a_slow_server_is_left_at_the_deadline(server: Double, slow: str) -> None:
    def play(asked: Asked) -> Answer:
        if asked.method == slow:
            server.over.wait(60)
        return HOME[asked.method, asked.path]

    server.play = play
    started = time.monotonic()
    with pytest.raises(SourceFailed, match="no whole answer within"):
        read(server, deadline=started + 2)
    assert time.monotonic() - started < 30


def test_no_part_of_the_given_address_is_the_name_of_a_calendar(server: Double) -> None:
    nameless = "<m:resourcetype><m:collection/><c:calendar/></m:resourcetype>"
    plays(server, {("PROPFIND", "/dav/canary/"): multistatus(("/dav/canary/", nameless))})
    with pytest.raises(SourceFailed) as caught:
        read(server, "dav/canary/", settings={"calendars": ["Work"]})
    assert "the server has 'calendar 1'" in str(caught.value)
    assert "canary" not in str(caught.value)
