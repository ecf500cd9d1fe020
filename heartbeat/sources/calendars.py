"""Calendar sources: a file, a folder of files or an address, each read on its own; one that fails costs only itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from heartbeat.durations import show_duration
from heartbeat.sources import SourceFailed
from heartbeat.sources.cache import Answer, AnswerCache
from heartbeat.sources.files import calendar_files, read_calendar
from heartbeat.sources.ics import holds_calendar
from heartbeat.sources.lookahead import Reading, Window, look

KINDS = ("file", "vdir", "url")
CPU_SECONDS = 30.0
"""For the series of all sources together."""


@dataclass(frozen=True, slots=True)
class Source:
    """One entry of the option `sources`; *fault* says why it cannot be used."""

    name: str
    kind: str = ""
    place: str = ""
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """What one source showed: its reading if there was any, and what went wrong."""

    reading: Reading | None
    fault: str = ""


def read_calendars(sources: Sequence[Source], window: Window, cache: AnswerCache) -> Iterator[tuple[Source, Seen]]:
    """What each source shows of *window*, in order; names must differ. Call it in the main thread."""
    addresses = [source for source in sources if source.kind == "url"]
    answers = _answers(addresses, window.now, cache) if addresses else {}
    budget = CPU_SECONDS / len(sources)
    for source in sources:
        try:
            if source.fault:
                yield source, Seen(None, source.fault)
            elif source.kind == "file":
                yield source, Seen(look([read_calendar(source.place)], window, budget))
            elif source.kind == "vdir":
                yield source, _read_folder(source.place, window, budget)
            else:
                yield source, _read_answer(source.place, answers[source.name], window, cache, budget)
        except SourceFailed as failed:
            yield source, Seen(None, str(failed))


def _read_folder(folder: str, window: Window, budget: float) -> Seen:
    """The calendar that the files of a folder are together; one that cannot be read does not hide the others."""
    contents, faults = [], []
    for path in calendar_files(folder):
        try:
            contents.append(read_calendar(path))
        except SourceFailed as failed:
            faults.append(str(failed))
    more = f" (and {len(faults) - 1} more files)" if len(faults) > 1 else ""
    return Seen(look(contents, window, budget), faults[0] + more if faults else "")


def _answers(sources: Sequence[Source], now: datetime, cache: AnswerCache) -> dict[str, Answer | SourceFailed]:
    from heartbeat.sources import fetch  # imported here: httpx costs more than all the rest

    requests = {source.name: fetch.Request(source.place, cache.load(source.place)) for source in sources}
    return fetch.fetch_all(requests, now)


def _read_answer(
    address: str, answer: Answer | SourceFailed, window: Window, cache: AnswerCache, budget: float
) -> Seen:
    """The reading of a good answer, which is kept; else that of the last good one, so that no event is missed."""
    kept = cache.load(address)
    if isinstance(answer, Answer) and holds_calendar(answer.body):
        reading = look([answer.body], window, budget)
        if reading.whole or kept is None:
            _keep(address, answer, kept, reading, cache)
            return Seen(reading)
        return Seen(look([answer.body, kept.body], window, budget))
    fault = str(answer) if isinstance(answer, SourceFailed) else _not_a_calendar(answer.body)
    if kept is None:
        return Seen(None, fault)
    age = show_duration(max(window.now - kept.current_at, timedelta(0)))
    return Seen(look([kept.body], window, budget), f"{fault}; its copy from {age} ago was read")


def _keep(address: str, answer: Answer, kept: Answer | None, reading: Reading, cache: AnswerCache) -> None:
    if kept is not None and kept.body == answer.body and kept.etag == answer.etag:
        cache.confirm(address, answer.current_at)
    elif reading.whole:
        cache.store(address, answer)


def _not_a_calendar(body: bytes) -> str:
    what = "a web page" if b"<" in body[:200] else "something else" if body.strip() else "nothing"
    return f"cannot use the answer: it is {what}, not a calendar; check the address, or whether it wants a login"
