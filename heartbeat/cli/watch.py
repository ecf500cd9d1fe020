"""`heartbeat watch`: looks from outside whether heartbeat and its targets live, and tells when that changes."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta, tzinfo
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Any

import typer

from heartbeat.cli.shell import Shell, cut_off, shell
from heartbeat.cli.watched import Setting, setting_of, zone_of
from heartbeat.clock import shown, utc_now
from heartbeat.durations import parse_duration, show_duration
from heartbeat.errors import HeartbeatError
from heartbeat.probe.instants import text_of
from heartbeat.text import one_line, plain
from heartbeat.transitions import colour_of

if TYPE_CHECKING:
    from heartbeat.watchman import Outcome, Watchman

_SHORTEST, _LONGEST = timedelta(seconds=5), timedelta(days=1)


def register(app: typer.Typer) -> None:
    app.command()(watch)


def watch(
    targets: list[str] = typer.Argument(
        None, metavar="[TARGET]...", help="`heartbeat` itself, or targets of [watch]; all of them by default."
    ),
    every: str = typer.Option(None, metavar="DURATION", help="Make a round so often, until SIGTERM."),
    once: bool = typer.Option(False, "--once", help="Make one round; that is the default."),
    show_history: bool = typer.Option(False, "--history", help="List what changed, and look at nothing."),
) -> int:
    """Look whether heartbeat and its targets live; tell your channels when one goes down, and when it is up again.

    For a timer, cron or `--every`, outside of the daemon. Exit 0: all is well; 1: something is down, or could not
    be told; 4: the configuration has faults (what can be used of it is).
    """
    call = shell("watch")
    if show_history:
        return _history(call)
    if every is None:
        return _one_round(call, targets or [])
    if once:
        raise typer.BadParameter("it cannot be given with --once", param_hint="--every")
    return _rounds(call, targets or [], _interval(every))


def _interval(text: str) -> timedelta:
    try:
        found = parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--every") from None
    if not _SHORTEST <= found <= _LONGEST:
        bounds = f"{show_duration(_SHORTEST)} to {show_duration(_LONGEST)}"
        raise typer.BadParameter(f"cannot use {text!r}; write {bounds}", param_hint="--every")
    return found


def _one_round(call: Shell, wanted: list[str]) -> int:
    watchman = _watchman(call, goes_on=False)
    setting = setting_of(call, wanted, Event())
    outcome = watchman.make_round(setting.targets, setting.ways, utc_now)
    _complain(_notes(setting, outcome))
    _show(call, setting, outcome)
    return _status(setting, outcome)


def _rounds(call: Shell, wanted: list[str], every: timedelta) -> int:
    """Round after round; whatever breaks in one, the next is made."""
    stop = Event()
    setting_of(call, wanted, stop)  # a target that is misspelt is said at once
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    watchman, before = _watchman(call, goes_on=True), None
    while not stop.is_set():
        begun = monotonic()
        try:
            # Read anew each time: what the owner changes holds from the next round on.
            setting = setting_of(call, wanted, stop)
            outcome = watchman.make_round(setting.targets, setting.ways, utc_now)
            notes, states = _notes(setting, outcome), {name: each.state for name, each in outcome.healths.items()}
            if outcome.told or (notes, states) != before:
                _complain(notes)
                _show(call, setting, outcome)
            before = notes, states
        except BrokenPipeError:
            cut_off()  # nobody reads any more; the owner's channels do
        except Exception as error:  # noqa: BLE001 - a watch that ends is worse than one that complains
            _complain([str(error) if isinstance(error, HeartbeatError) else f"{type(error).__name__}: {error}"])
        stop.wait(max(0.0, every.total_seconds() - (monotonic() - begun)))
    return 0


def _show(call: Shell, setting: Setting, outcome: Outcome) -> None:
    call.show(_data(setting, outcome), lambda: _text(setting, outcome))
    sys.stdout.flush()


def _watchman(call: Shell, *, goes_on: bool) -> Watchman:
    from heartbeat.watchman import Looker, Notebook, Watchman, places_of

    return Watchman(Notebook(places_of(str(call.home.state), call.environ), goes_on=goes_on), Looker())


def _history(call: Shell) -> int:
    from heartbeat.watchman import Notebook, held, places_of
    from heartbeat.watchman.wording import history

    notebook = Notebook(places_of(str(call.home.state), call.environ))
    try:
        entries = notebook.history()
    except OSError as error:
        raise HeartbeatError(f"cannot read the history of the watch: {error}; correct its permissions") from None
    zone, now = zone_of(call), utc_now()
    waiting = held(notebook.read(), now)
    lines = [history(entry, now, zone) for entry in entries] or ["nothing has changed yet"]
    lines += [
        f"{name} comes and goes: not called up before {shown(until, now, zone)}" for name, until in waiting.items()
    ]
    data = [{"target": name, "not_up_before": until} for name, until in waiting.items()]
    _complain(notebook.notes)
    call.show({"transitions": entries, "held": data, "notes": notebook.notes}, lambda: plain("\n".join(lines)))
    return 0


def _status(setting: Setting, outcome: Outcome) -> int:
    if setting.problems:
        return 4
    is_red = any(colour_of(health.state, setting.ways.on) == "red" for health in outcome.healths.values())
    return 1 if is_red or any(each.error for each in outcome.told) else 0


def _notes(setting: Setting, outcome: Outcome) -> list[str]:
    notes = [*map(str, setting.problems), *outcome.notes]
    notes += [f"cannot tell that {each.title}: {each.error}" for each in outcome.told if each.error]
    if outcome.news and not setting.ways.channels:
        why = "of its faults" if setting.problems else "it has no channel that takes incidents"
        notes.append(f"cannot tell anybody: the configuration names no way to you ({why}); it is only printed here")
    return notes


def _complain(notes: list[str]) -> None:
    for note in notes:
        with suppress(OSError):
            print(f"heartbeat: {plain(note)}", file=sys.stderr, flush=True)


def _text(setting: Setting, outcome: Outcome) -> str:
    from heartbeat.watchman.wording import said

    lines, now, manner = [], utc_now(), setting.ways.manner
    for name, health in outcome.healths.items():
        lines.append(f"{name} {health.word}: {one_line(health.summary)}")
        lines += [f"  {code}: {said(name, message, now, manner)}" for code, message in health.problems]
        lines += [f"  {outcome.untold[name]}"] if name in outcome.untold else []
    sent: dict[str, list[str]] = {}
    for each in outcome.told:
        if not each.error:
            sent.setdefault(each.title, []).append(each.channel)
    lines += [f"told {', '.join(channels)}: {title}" for title, channels in sent.items()]
    if outcome.held_until is not None:
        lines.append(f"not told before the quiet ends: {_until(outcome.held_until, manner.zone)}")
    return plain("\n".join(lines))


def _until(at: datetime, zone: tzinfo) -> str:
    return at.astimezone(zone).strftime("%Y-%m-%d %H:%M")


def _data(setting: Setting, outcome: Outcome) -> Mapping[str, Any]:
    return {
        "targets": [
            {
                "target": name,
                "state": health.state,
                "colour": colour_of(health.state, setting.ways.on),
                "summary": health.summary,
                "since": None if health.since is None else text_of(health.since),
                "problems": [{"code": code, "message": message} for code, message in health.problems],
                "untold": outcome.untold.get(name),
                "not_up_before": outcome.held.get(name),
            }
            for name, health in outcome.healths.items()
        ],
        "told": [
            {"target": each.target, "channel": each.channel, "title": each.title, "error": each.error or None}
            for each in outcome.told
        ],
        "held_until": outcome.held_until,
        "notes": _notes(setting, outcome),
    }
