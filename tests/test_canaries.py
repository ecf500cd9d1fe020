"""Every shipped script with a secret in every place it may stand, servers well, refusing and gone: none is seen."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.conftest import NOW, Done, Place
from tests.doubles import ticketmaster
from tests.doubles.feed import Server, ics
from tests.doubles.jmap import TOKEN, jmap_double
from tests.servers import PASSWORD, Dovecot, dovecot, mail
from tests.test_secrets import command_lines, kept_in

__all__ = ["dovecot"]

CANARIES = {
    "path": "canary-in-a-path",
    "user": "canary-in-an-address",
    "basic": "canary-basic-password",
    "dav": "canary-dav-password",
    "key": "canary-api-key",
    "app": "canary-app-id",
    "imap": PASSWORD,
    "jmap": TOKEN,
}

CONFIG = """
[owner]
zone = "Europe/Berlin"
emails = ["pat@example.org"]

[agent]
kind = "command"
command = ["{home}/agent.sh"]

[log]
level = "debug"

[jobs.calendar-lookahead.options]
sources = [
  {{ url = {{ env = "FEED" }}, name = "in the path" }},
  {{ url = {{ env = "USER_FEED" }}, name = "in the address" }},
  {{ url = "{feed}/cal.ics", user = "me", password = {{ file = "{outside}/basic" }}, name = "basic" }},
  {{ caldav = "{feed}/dav/", user = "me", password = {{ command = ["cat", "{outside}/dav"] }}, name = "dav" }},
]
[jobs.vip-mail.options]
vips = ["@example.org"]
sources = [
  {{ imap = "imap://127.0.0.1:{imap}", user = "{user}", password = {{ file = "{outside}/imap" }}, name = "imap" }},
  {{ jmap = "{jmap}", token = {{ env = "JMAP" }}, name = "jmap" }},
]
[jobs.artist-scan.options]
artists = ["Glass Harbor"]
sources = [
  {{ ticketmaster = {{ env = "KEY" }}, address = "{tickets}" }},
  {{ bandsintown = {{ env = "APP" }}, address = "{feed}" }},
  {{ lastfm = {{ env = "KEY" }}, address = "{feed}" }},
  {{ venue = {{ env = "FEED" }}, city = "Berlin", country = "DE" }},
]
home = {{ lat = 52.52, lon = 13.4, radius = "60km", city = "Berlin", country = "DE" }}
"""


class World:
    """Servers that a configuration with secrets asks."""

    def __init__(self, place: Place, outside: Path, dovecot: Dovecot, stack: ExitStack) -> None:
        self.place, self.env = place, {}
        self.feed = stack.enter_context(Server().running())
        self.feed.play = lambda handler: handler.reply(body=ics("One"))
        self.jmap = stack.enter_context(jmap_double())
        self.tickets = stack.enter_context(ticketmaster.Ticketmaster(CANARIES["key"]).running())
        self.tickets.acts.append(act := ticketmaster.Act("K1", "Glass Harbor"))
        self.tickets.gigs.append(ticketmaster.Gig("G1", [act], "2026-09-01"))
        box = dovecot.mailbox()
        box.deliver(mail(1, NOW))
        outside.mkdir(mode=0o700)
        for name in ("basic", "dav", "imap"):
            (outside / name).write_text(CANARIES[name] + "\n")
            (outside / name).chmod(0o600)
        address = self.feed.address("")
        self.env = {
            "FEED": f"{address}/{CANARIES['path']}/cal.ics",
            "USER_FEED": address.replace("//", f"//me:{CANARIES['user']}@") + "/cal.ics",
            "JMAP": CANARIES["jmap"],
            "KEY": CANARIES["key"],
            "APP": CANARIES["app"],
        }
        self.jobs = ("calendar-lookahead", "vip-mail", "artist-scan")
        place.configure(
            CONFIG.format(
                home=place.folder, feed=address, outside=outside, imap=dovecot.port, user=box.user,
                jmap=self.jmap.address, tickets=self.tickets.base,
            )
        )  # fmt: skip

    def ticks(self, minutes: int, *more: str) -> list[Done]:
        now = f"2026-06-10T08:{minutes:02}:00Z"
        return [self.place.run("tick", job, "--json", "--now", now, *more, env=self.env) for job in self.jobs]


@pytest.fixture
def world(place: Place, tmp_path: Path, dovecot: Dovecot) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(place, tmp_path / "outside", dovecot, stack)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the command lines of others are read from /proc")
def test_no_secret_of_any_source_is_seen_anywhere(world: World) -> None:
    with command_lines() as seen:
        told = world.ticks(0, "--dry-run") + world.ticks(0)
        well = {done.envelope["data"]["job"]: done.envelope["data"]["sources"] for done in told[3:]}
        world.feed.play = lambda handler: handler.reply(401, b"no")
        world.tickets.key = world.jmap.token = "another"
        told += world.ticks(10)
        world.feed.play = lambda handler: handler.reply(302, location=handler.path + "/again?" + CANARIES["path"])
        told += world.ticks(20)
        world.feed.shutdown()
        world.feed.server_close()
        told += world.ticks(30)
    for verb in ("runs", "ledger list", "ledger export", "wakes list", "jobs", "brief", "brief --markdown", "check"):
        told.append(world.place.run(*verb.split(), env=world.env))
        told.append(world.place.run(*verb.split(), "--json", env=world.env))
    told.append(world.place.run("why", told[3].envelope["data"]["run_id"], env=world.env))

    # What is looked for must have been used.
    said = {source["name"]: source["ok"] for sources in well.values() for source in sources}
    assert all(said[name] for name in ("in the path", "in the address", "basic", "imap", "jmap", "127.0.0.1")), well
    asked = json.dumps(world.feed.asked) + json.dumps(world.jmap.authorized)
    assert CANARIES["path"] in asked
    assert CANARIES["jmap"] in asked
    assert any(request.query.get("apikey") == CANARIES["key"] for request in world.tickets.asked)

    texts = [done.out.encode() for done in told] + [done.err.encode() for done in told]
    for raw in [*texts, *kept_in(world.place.folder), *seen]:
        for value in CANARIES.values():
            assert value.encode() not in raw, f"{value} in {raw[:300]!r}"
