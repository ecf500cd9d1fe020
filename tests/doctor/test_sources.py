"""Sources that can be read, and those that cannot, by real files and a real server on loopback."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from heartbeat.doctor import sources
from heartbeat.paths import share
from heartbeat.sources.mail.refusals import Refusals
from tests.conftest import Place
from tests.doctor.asking import ask, case_of, status

CANARY = "canary-5ecret-value"
ICS = b"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nEND:VCALENDAR\r\n"


class Server(ThreadingHTTPServer):
    """Answers by its path; remembers who asked for what."""

    daemon_threads = True

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.release = threading.Event()
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append((self.path, self.headers.get("Authorization", "")))
        if "hangs" in self.path:
            self.server.release.wait(30)
        refused = 403 if "refused" in self.path else 404 if "gone" in self.path else 200
        body = b"<html>log in</html>" if "page" in self.path else ICS
        self.send_response(refused)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield made
    made.release.set()
    made.shutdown()
    made.server_close()


def calendars(place: Place, *tables: str) -> None:
    place.configure(
        '[jobs.calendar-lookahead]\nevery = "10m"\n'
        f"[jobs.calendar-lookahead.options]\nsources = [{', '.join(tables)}]\n"
    )


def mails(place: Place, *tables: str) -> None:
    place.configure(
        '[jobs.vip-mail]\nevery = "10m"\n'
        f'[jobs.vip-mail.options]\nvips = ["@example.org"]\nsources = [{", ".join(tables)}]\n'
    )


def test_each_calendar_is_asked_for_itself(place: Place, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_EACH", 1.5)
    place.file("me.ics", ICS.decode())
    (place.folder / "cal").mkdir()
    calendars(
        place,
        '{ file = "me.ics" }',
        '{ vdir = "cal" }',
        f'{{ url = "{server.address}/well/{CANARY}.ics", name = "well" }}',
        f'{{ url = {{ env = "FEED" }}, user = "me", password = "{CANARY}-2", name = "secret" }}',
        '{ file = "nowhere.ics" }',
        f'{{ url = "{server.address}/gone/{CANARY}", name = "gone" }}',
        f'{{ url = "{server.address}/refused/{CANARY}", name = "refused" }}',
        f'{{ url = "{server.address}/page/{CANARY}", name = "page" }}',
        f'{{ url = "{server.address}/hangs/{CANARY}", name = "slow" }}',
        f'{{ url = "http://127.0.0.1:{free_port()}/{CANARY}", name = "down" }}',
        '{ fiel = "typo.ics", name = "typo" }',
    )
    found = ask("sources", case_of(place.folder, {"FEED": f"{server.address}/well/{CANARY}-3"}))
    assert {about.partition(": ")[2]: answer.status for about, answer in found.items()} == {
        **dict.fromkeys(("me.ics", "cal", "well", "secret"), "ok"),
        **dict.fromkeys(("nowhere.ics", "gone", "refused", "page", "slow", "down", "typo"), "fail"),
    }
    assert CANARY not in repr(found)
    assert not (place.folder / "cache").exists()
    assert any(asked == f"/well/{CANARY}-3" for asked, _ in server.asked)
    assert "see whether" in found["calendar-lookahead: slow"].remedy


def test_all_jobs_together_are_bounded(place: Place, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_ALL", 0.5)
    jobs = "".join(
        f'[jobs.{name}]\nscript = "{share("jobs")}/calendar_lookahead.py"\nevery = "10m"\n'
        f'[jobs.{name}.options]\nsources = [{{ url = "{server.address}/hangs" }}]\n'
        for name in ("one", "two")
    )
    place.configure(jobs)
    began = time.monotonic()
    found = ask("sources", case_of(place.folder))
    assert time.monotonic() - began < 4.5  # a source alone may take longer
    assert {about: (answer.status, answer.seen) for about, answer in found.items()} == dict.fromkeys(
        ("one", "two"), ("fail", "its sources could not be asked: it took too long")
    )


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def test_mailboxes_are_listed_and_logged_in_to(place: Place) -> None:
    for part in ("new", "cur", "tmp"):
        (place.folder / "mail" / part).mkdir(parents=True)
    port = free_port()
    mails(
        place,
        '{ maildir = "mail" }',
        '{ maildir = "nowhere" }',
        f'{{ imap = "imap://127.0.0.1:{port}", user = "me", password = "{CANARY}" }}',
        f'{{ imap = "imap://mail.example.org", user = "me", password = "{CANARY}", name = "bare" }}',
    )
    found = ask("sources", case_of(place.folder))
    assert {about.partition(": ")[2]: answer.status for about, answer in found.items()} == {
        "mail": "ok",
        "nowhere": "fail",
        "127.0.0.1": "fail",
        "bare": "fail",
    }
    assert CANARY not in repr(found)


def test_an_account_that_refused_a_login_is_not_tried_while_the_script_waits(place: Place, server: Server) -> None:
    host, port = "127.0.0.1", server.server_address[1]
    mails(place, f'{{ imap = "imap://{host}:{port}", user = "me", password = "{CANARY}" }}')
    cache = place.folder / "cache/jobs/vip-mail"
    Refusals(str(cache), ("imap", host, str(port), "me"), CANARY).refused(datetime.now(UTC))
    before = sorted(path.stat().st_mtime_ns for path in cache.rglob("*"))
    answer = ask("sources", case_of(place.folder))["vip-mail: 127.0.0.1"]
    assert (answer.status, server.asked) == ("fail", [])
    assert "was refused" in answer.seen
    assert sorted(path.stat().st_mtime_ns for path in cache.rglob("*")) == before


def test_a_provider_of_shows_is_asked_for_one_artist(place: Place, server: Server) -> None:
    place.configure(
        '[jobs.artist-scan]\ncron = "15 9 * * *"\n[jobs.artist-scan.options]\nartists = ["Somebody"]\n'
        f'sources = [{{ venue = "{server.address}/well/{CANARY}", name = "lido", city = "Berlin" }},'
        f' {{ venue = "{server.address}/gone/{CANARY}", name = "shut", city = "Berlin" }}]\n'
    )
    found = status("sources", case_of(place.folder))
    assert found == {"artist-scan: lido": "ok", "artist-scan: shut": "fail"}


def no_source(place: Place) -> Mapping[str, str]:
    calendars(place)
    return {"calendar-lookahead": "fail"}


def secret_that_cannot_be_had(place: Place) -> Mapping[str, str]:
    calendars(place, '{ url = { file = "~/no-such-secret" }, name = "feed" }')
    return {"calendar-lookahead: feed": "fail"}


def a_job_that_is_off(place: Place) -> Mapping[str, str]:
    place.configure('[jobs.vip-mail]\nevery = "10m"\nenabled = false\n')
    return {"": "skip"}


def a_script_of_ones_own(place: Place) -> Mapping[str, str]:
    place.configure('[jobs.check]\nevery = "10m"\n')
    return {"own scripts": "skip"}


def a_place_without_a_file(place: Place) -> Mapping[str, str]:
    place.configure('[jobs.place]\nevery = "5m"\n[jobs.place.options]\nfile = "~/phone.json"\n')
    return {"place": "fail"}


def a_queue_with_refused_files(place: Place) -> Mapping[str, str]:
    place.configure('[jobs.due-queue]\nevery = "1m"\n')
    place.file("queue/refused/bad.json", "{")
    place.file("queue/refused/bad.json.reason", "it is no JSON\n")
    return {"queue": "warn"}


def an_invalid_configuration(place: Place) -> Mapping[str, str]:
    place.configure("[jobs.vip-mail]\nevery = 7\n")
    return {"": "skip"}


CASES: tuple[Callable[[Place], Mapping[str, str]], ...] = (
    no_source,
    secret_that_cannot_be_had,
    a_job_that_is_off,
    a_script_of_ones_own,
    a_place_without_a_file,
    a_queue_with_refused_files,
    an_invalid_configuration,
)


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_what_there_is_to_say_without_asking_a_source(place: Place, make: Callable[[Place], Mapping[str, str]]) -> None:
    expected = make(place)
    assert status("sources", case_of(place.folder)) == expected
