"""The answer to what `heartbeat health` was asked. Standard library only."""

from __future__ import annotations

import os
import time

from heartbeat import ask
from heartbeat.cli.health import why_not_live
from heartbeat.cli.wanted import ALL, FRESH, ITSELF, LIVE, NO_RESTARTER, Wanted, read_words
from heartbeat.probe import Health, examine, forms
from heartbeat.probe.forms import Assertion
from heartbeat.probe.fresh import why_not_fresh
from heartbeat.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Problems = tuple[tuple[str, str], ...]

_TO_ASK = 8.0
"""Seconds that all questions to systemd, launchd and cron together may take, however many targets there are."""
_USAGE, _UNKNOWN = 2, 3
_UNREADABLE = "config_unreadable"
_RESTARTERS = ("restarter", "second_supervisor")


class Reply(Record):
    """What is to be said: on stdout, if anything, each line on stderr, and the exit status."""

    __slots__ = ("complaints", "status", "text")

    def __init__(self, status: int, text: str = "", complaints: Iterable[str] = ()) -> None:
        self.status = status
        self.text = text
        self.complaints = tuple(complaints)


def examine_as_asked(folders: tuple[str, str, str], words: list[str], *, as_json: bool, home: str = "") -> Reply:
    """Look, and find the answer, with a line for each assertion that does not hold.

    *home* is what the commands of the remedies must name.
    """
    try:
        wanted = read_words(words, as_json=as_json)
    except ValueError as error:
        return _refuse("usage", str(error), _USAGE, as_json=as_json)
    # Where they cannot be read, that is what is wrong with any target, not that there is none of its name.
    problems = _named(config_problems(folders), home) if wanted.everything or wanted.target else ()
    if wanted.target and not problems and wanted.target not in (known := known_names(folders)):
        section = f"to watch another, write [watch.{wanted.target}] in {folders[0]}/config.toml"
        message = f"there is no target {wanted.target!r}; known are {', '.join((ITSELF, *known))}; {section}"
        return _refuse("not_found", message, _UNKNOWN, as_json=as_json)
    names = ("", *watched_names(folders)) if wanted.everything else (wanted.target,)
    # Who restarts it is looked for where nothing narrower was asked: it takes longer than all the rest.
    is_full = wanted.no_restarter or not (wanted.live or wanted.fresh)
    ask.limit(_TO_ASK)
    try:
        looks = [_Look(name, folders, is_full=is_full, home=home, is_alone=len(names) == 1) for name in names]
    finally:
        ask.limit(None)
    if wanted.everything:
        looks[0].add(problems)
    unseen = [
        f"{look.asked(NO_RESTARTER)}: {message}" for look in looks for _, message in look.unseen if wanted.no_restarter
    ]
    assertions = _assertions(wanted, looks, folders[1])
    if problems and wanted.everything and (assertions or wanted.nagios):
        assertions += (Assertion(ALL, "; ".join(message for _, message in problems)),)
    reply = _reply(wanted, [look.health for look in looks], assertions, unseen, as_json=as_json)
    # Whatever was asked: it is not known to be well.
    reply.status = reply.status or int(any(look.fault for look in looks))
    return reply


class _Look:
    """At one target: its health, who restarts it, and what could not be looked at, the latter as (code, message).

    `fault` is what kept the probe itself from telling; of a target that `is_alone` it is raised.
    """

    def __init__(self, name: str, folders: tuple[str, str, str], *, is_full: bool, home: str, is_alone: bool) -> None:
        self.restarters: Problems = ()
        self.unseen: Problems = ()
        self.fault = ""
        try:
            self._look(name, folders, is_full=is_full, home=home)
        except Exception as error:  # one target that breaks the probe must not cost the answer about the others
            if is_alone or os.environ.get("HEARTBEAT_DEBUG"):
                raise
            named = name or ITSELF
            self.fault = f"cannot examine {named}: {type(error).__name__}: {error}; HEARTBEAT_DEBUG=1 shows where"
            problems = (("not_examined", self.fault),)
            self.health = Health("stalled", f"{named} could not be examined", target=name, problems=problems)

    def _look(self, name: str, folders: tuple[str, str, str], *, is_full: bool, home: str) -> None:
        if name:
            self.health = examine_watched(name, folders, thorough=is_full)
            self.restarters = tuple(each for each in self.health.problems if each[0] in _RESTARTERS)
            self.unseen = self.health.unseen
            self.health.problems = _named(self.health.problems, home)
            return
        self.health = examine(folders[1], thorough=True, home=home)
        if is_full:
            self.restarters, self.unseen, keeper = own_restarters(folders)
            self.health.summary += f", kept by {keeper}" if keeper else ""
        if self.health.state != "absent":
            self.add(self.restarters)

    def add(self, problems: Problems) -> None:
        """What else is wrong with it."""
        self.health.problems += problems
        self.health.state = "degraded" if problems and self.health.state == "up" else self.health.state

    def asked(self, assertion: str) -> str:
        """An assertion about this target, as it was asked."""
        return f"{assertion} {self.health.target}".rstrip()


def _named(problems: Problems, home: str) -> Problems:
    """With the command about the configuration as it must be typed for this installation."""
    if not home or all(code != _UNREADABLE for code, _ in problems):
        return problems
    from heartbeat.probe.naming import named

    return tuple((code, named(message, home) if code == _UNREADABLE else message) for code, message in problems)


def _assertions(wanted: Wanted, looks: list[_Look], state: str) -> tuple[Assertion, ...]:
    made = []
    if wanted.live:
        made += [
            Assertion(look.asked(LIVE), "" if look.health.is_live else why_not_live(look.health)) for look in looks
        ]
    if wanted.no_restarter:
        made += [
            Assertion(look.asked(NO_RESTARTER), "; ".join(message for _, message in look.restarters)) for look in looks
        ]
    now, fresh = time.time(), dict.fromkeys(wanted.fresh)  # each once, however often it was asked
    made += [Assertion(f"{FRESH} {text}", why_not_fresh(state, job, age, now)) for job, age, text in fresh]
    return tuple(made)


def _reply(
    wanted: Wanted, healths: list[Health], assertions: tuple[Assertion, ...], unseen: list[str], *, as_json: bool
) -> Reply:
    failures = [each for each in assertions if each.reason]
    # The state itself says best that it does not live.
    told = [each.reason if each.name.startswith(LIVE) else f"{each.name}: {each.reason}" for each in failures]
    status, text = 1 if failures else 0, ""
    if wanted.nagios:
        text, status = forms.as_nagios(healths, failures)
    elif wanted.prometheus:
        text = forms.as_prometheus(healths, assertions)
    elif as_json:
        text = forms.as_json(healths, assertions, several=wanted.everything)
    elif not assertions:
        text = forms.as_text(healths)
    return Reply(status, text, [*unseen, *told])


def _refuse(code: str, message: str, status: int, *, as_json: bool) -> Reply:
    return Reply(status, forms.as_refusal(code, message)) if as_json else Reply(status, complaints=[message])


# The seam to what watches other programs, and looks for what restarts them


def watched_names(folders: tuple[str, str, str]) -> tuple[str, ...]:
    """The targets that the configuration names."""
    from heartbeat.probe.targets import known_targets

    return tuple(name for name in known_targets(f"{folders[0]}/config.toml") if name != ITSELF)


def config_problems(folders: tuple[str, str, str]) -> Problems:
    """What keeps targets that the configuration names from being known."""
    from heartbeat.probe.targets import config_problems

    return config_problems(f"{folders[0]}/config.toml")


def known_names(folders: tuple[str, str, str]) -> tuple[str, ...]:
    """Every target that may be asked for: those of the configuration, and the presets."""
    from heartbeat.probe.presets import PRESETS

    return tuple(dict.fromkeys((*watched_names(folders), *PRESETS)))


def examine_watched(name: str, folders: tuple[str, str, str], *, thorough: bool = True) -> Health:
    """The state of another target; only a *thorough* look searches for what restarts it."""
    from heartbeat.probe.targets import examine_target

    return examine_target(name, folders, thorough=thorough)


def own_restarters(folders: tuple[str, str, str]) -> tuple[Problems, Problems, str]:
    """Who restarts heartbeat itself, where that could not be looked for, and what keeps it where no marker says it."""
    from heartbeat.probe.restarters import find_restarters, subject_of

    found = find_restarters(subject_of(folders[0], folders[1], now=time.time()))
    return tuple(each.problem for each in found.restarters), found.faults, found.keeper
