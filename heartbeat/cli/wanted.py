"""What `heartbeat health` was asked, word by word. Standard library only."""

from __future__ import annotations

from heartbeat.probe.fresh import read_age
from heartbeat.record import Record

ITSELF, ALL = "heartbeat", "--all"
LIVE, NO_RESTARTER, FRESH = "--assert-live", "--assert-no-restarter", "--assert-fresh"
_SWITCHES = {
    LIVE: "live",
    NO_RESTARTER: "no_restarter",
    ALL: "everything",
    "--nagios": "nagios",
    "--prometheus": "prometheus",
}


class Wanted(Record):
    """What was asked.

    `target` is empty for heartbeat itself; `fresh` holds a job, an age in seconds or None, and both as written.
    """

    __slots__ = ("everything", "fresh", "live", "nagios", "no_restarter", "prometheus", "target")

    def __init__(self) -> None:
        self.target = ""
        self.everything = self.live = self.no_restarter = self.nagios = self.prometheus = False
        self.fresh: list[tuple[str, float | None, str]] = []


def read_words(words: list[str], *, as_json: bool = False) -> Wanted:
    """The words behind `health`; raises ValueError with what is wrong about them."""
    wanted, remaining = Wanted(), list(words)
    while remaining:
        word = remaining.pop(0)
        if word in _SWITCHES:
            setattr(wanted, _SWITCHES[word], True)
        elif word == FRESH:
            if not remaining or remaining[0].startswith("-"):
                raise ValueError(f"{FRESH} needs the name of a job, such as {FRESH} vip-mail=30m")
            wanted.fresh.append(_read_fresh(remaining.pop(0)))
        elif word.startswith(f"{FRESH}="):
            wanted.fresh.append(_read_fresh(word.removeprefix(f"{FRESH}=")))
        elif word == "--system":
            raise ValueError("--system has folders of its own, and --home means others; leave one of them out")
        elif word.startswith("-") or not word:
            raise ValueError(f"there is no option {word!r}; see `heartbeat health --help`")
        elif wanted.target:
            raise ValueError(f"one target at a time, not {wanted.target!r} and {word!r}; or --all")
        else:
            wanted.target = word
    if wanted.nagios + wanted.prometheus + as_json > 1:
        raise ValueError("the answer has one form: --json, --nagios or --prometheus")
    _require_sense(wanted)
    return wanted


def _read_fresh(text: str) -> tuple[str, float | None, str]:
    job, equals, age = text.partition("=")
    if not job:
        raise ValueError(f"{FRESH} needs the name of a job, such as {FRESH} vip-mail=30m")
    return job, read_age(age) if equals else None, text


def _require_sense(wanted: Wanted) -> None:
    if wanted.everything and wanted.target:
        raise ValueError("--all means every target; leave out its name, or --all")
    if wanted.target == ITSELF:
        wanted.target = ""
    if wanted.fresh and wanted.target:
        raise ValueError(f"{FRESH} is about heartbeat's own jobs; leave out {wanted.target!r}")
