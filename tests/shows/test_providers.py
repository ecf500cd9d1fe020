"""The contract of every provider, whoever adds one: the folder is listed, and each is put before every trouble."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from heartbeat.sources import SourceFailed
from heartbeat.sources.entries import Entry
from heartbeat.sources.shows import asking, providers
from heartbeat.sources.shows.ground import Ground
from heartbeat.sources.shows.show import Artist, Outcome, Provider, Scan
from tests.doubles.bench import HOME, run, without_pauses
from tests.doubles.server import TROUBLES, Answer, Asked, Double

NAMES = sorted(module.name for module in pkgutil.iter_modules(providers.__path__))
CANARY = "canary-5d1e-never-shown"
ARTISTS = (Artist("Queen", "0383dadf-2a4e-4d10-a46a-e9e041da8eb3"), Artist("ABBA"), Artist('A "B"/?\\ \u202e{}'))
SECONDS = 2.0
"""How long a run may take here."""


class Half(Double):
    """Its good answer is none of anybody's: it is here to be cut."""

    def answer(self, asked: Asked) -> Answer:
        return Answer({"page": {"totalElements": 1}, "artists": [], "events": [{"id": "1"}], "text": "x" * 2000})


@pytest.fixture
def server() -> Iterator[Half]:
    with Half().running() as server:
        yield server


@pytest.fixture(autouse=True)
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    without_pauses(monkeypatch)
    monkeypatch.setattr(asking, "ANSWER_SECONDS", SECONDS / 4)


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """All that was logged and printed."""
    caplog.set_level(0)
    return lambda: f"{caplog.text}{capfd.readouterr()}"


def module(name: str) -> Any:
    return importlib.import_module(f"{providers.__name__}.{name}")


def entry(name: str, address: str) -> Entry:
    """The place is the secret: a key, or an address that holds one."""
    found = module(name)
    settings = {"address": address} if "address" in found.SETTINGS else {}
    return Entry("the source", found.KIND, CANARY if settings else f"{address}/{CANARY}", settings)


def everything(provider: Provider) -> tuple[list[Scan], list[Any]]:
    """All that can be asked of a provider."""
    scans = [provider.scan(artist) for artist in ARTISTS]
    return scans, [provider.similar(ARTISTS), provider.nearby(HOME, 50, date(2026, 9, 30))]


def make(name: str, address: str, ground: Ground) -> Provider:
    provider: Provider = module(name).make(entry(name, address), ground)
    return provider


def test_every_file_of_the_folder_is_a_provider() -> None:
    kinds = [module(name).KIND for name in NAMES]
    assert {"ticketmaster", "musicbrainz", "bandsintown", "listenbrainz", "lastfm"} <= set(kinds)
    assert kinds == NAMES
    assert all(isinstance(module(name).SETTINGS, tuple) for name in NAMES)


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("name", NAMES)
def test_no_answer_is_a_failure_and_nobody_is_told_a_secret(
    name: str, trouble: str, server: Half, tmp_path: Path, told: Callable[[], str]
) -> None:
    server.play = TROUBLES[trouble]
    start = monotonic()
    with run(tmp_path, seconds=SECONDS) as ground:
        provider = make(name, server.address, ground)
        scans, ideas = everything(provider)
    assert monotonic() - start < SECONDS + 20  # a slow server never ends by itself

    assert provider.name == "the source"
    assert all(found is None or not list(found) for found in ideas)
    for found in scans:
        assert found.shows == ()
        assert found.outcome in (Outcome.FAILED, Outcome.UNRESOLVED) or not found.whole
        assert found.message
        assert found.message.isprintable()
    if trouble != "404":
        assert Outcome.UNRESOLVED not in {found.outcome for found in scans}
    written = "".join(f"{path}{path.read_bytes()!r}" for path in tmp_path.rglob("*") if path.is_file())
    assert CANARY not in f"{scans}{ideas}{told()}{written}"


@pytest.mark.parametrize("name", NAMES)
def test_a_server_that_is_down_is_a_failure(name: str, server: Half) -> None:
    with Half().running() as gone:
        address = gone.address
    with run(None, seconds=SECONDS) as ground:
        scans, _ = everything(make(name, address, ground))
    assert all(found.outcome is Outcome.FAILED or not found.whole for found in scans)
    assert CANARY not in repr(scans)


@pytest.mark.parametrize("name", NAMES)
def test_a_server_without_a_certificate_is_a_failure(name: str, server: Half) -> None:
    with run(None, seconds=SECONDS) as ground:
        scans, _ = everything(make(name, server.address.replace("http:", "https:"), ground))
    assert all(found.outcome is Outcome.FAILED or not found.whole for found in scans)
    assert CANARY not in repr(scans)
    assert server.asked == []


@pytest.mark.parametrize("name", NAMES)
def test_a_cache_that_cannot_be_written_costs_only_the_cache(name: str, server: Half, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    with run(blocked, seconds=SECONDS) as ground:
        scans, _ = everything(make(name, server.address, ground))
    assert len(scans) == len(ARTISTS)


@pytest.mark.parametrize("address", ["", "ftp://x.example", "http://", "https://[", "not an address"])
@pytest.mark.parametrize("name", NAMES)
def test_an_address_that_cannot_be_used_is_refused_at_once_or_fails(name: str, address: str) -> None:
    with run(None, seconds=SECONDS) as ground:
        try:
            scans, _ = everything(make(name, address, ground))
        except SourceFailed as refused:
            assert CANARY not in str(refused)  # noqa: PT017  # either way is right
        else:
            assert all(found.outcome is Outcome.FAILED or not found.whole for found in scans)


@pytest.mark.parametrize("wrong", [7, True, [1], {"a": 1}, {"env": 3}, {"env": "NOT_SET_ANYWHERE"}])
@pytest.mark.parametrize("name", NAMES)
def test_a_setting_of_a_wrong_type_is_refused_in_words_or_used(name: str, wrong: Any, server: Half) -> None:
    found = module(name)
    for setting in found.SETTINGS:
        with run(None) as ground:
            try:
                found.make(Entry("x", found.KIND, server.address, {setting: wrong}), ground)
            except SourceFailed as refused:
                assert str(refused).startswith("cannot")  # noqa: PT017  # either way is right
