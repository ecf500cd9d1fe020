"""`heartbeat quiet` and `heartbeat zone`: what the owner says for the time being, beside the configuration."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import typer

from heartbeat.cli.instants import MOMENT, MOMENT_HELP, read_moment
from heartbeat.cli.shell import Shell, shell, when
from heartbeat.clock import local, utc_now
from heartbeat.config import load_settings
from heartbeat.decide import QuietHours
from heartbeat.errors import Invalid, Refused
from heartbeat.model import Overrides
from heartbeat.zones import zone_or

app = typer.Typer(name="quiet", help="Quiet hours, now: see them, begin them, or do without them.")

_LONGEST = timedelta(days=366)


def register(main: typer.Typer) -> None:
    main.command(name="zone")(zone_verb)


@app.callback(invoke_without_command=True)
def show(context: typer.Context) -> None:
    """Say whether it is quiet now, until when and why; or say that it is to be."""
    if context.invoked_subcommand is not None:
        return
    call, now = shell("quiet"), utc_now()
    said = _said(call, now)
    quiet = _hours(call, said)
    end, reason, zone = quiet.until(now), _reason(quiet, now, _where(call, said)), _where(call, said)
    data = {"quiet": end is not None, "until": end and local(end, zone), "reason": reason, **_fields(said, zone)}
    why = "you said so" if end is not None and end == quiet.forced_until else reason
    call.show(data, lambda: f"quiet until {when(end, zone)}: {why}" if end else f"not quiet: {why}", zone)


@app.command()
def until(moment: str = typer.Argument(metavar=MOMENT, help=MOMENT_HELP)) -> None:
    """Be quiet until then, whatever the hours; what is critical breaks through all the same."""
    call, now = shell("quiet until"), utc_now()
    _enter(call, "quiet", _moment(moment, call, now), now)


@app.command()
def off(moment: str = typer.Argument(None, metavar=f"[{MOMENT}]", help=MOMENT_HELP)) -> None:
    """Have no quiet hours until then; without an instant until the quiet that holds now ends."""
    call, now = shell("quiet off"), utc_now()
    if moment is not None:
        end: datetime | None = _moment(moment, call, now)
    else:
        end = _hours(call, _said(call, now)).until(now)
    if end is None:
        raise Refused("cannot end the quiet: it is not quiet now; say until when it is not to be, as `quiet off 2h`")
    _enter(call, "loud", end, now)


@app.command()
def clear() -> None:
    """Take back what was said with until and off: the hours of the configuration hold again."""
    call, now = shell("quiet clear"), utc_now()
    with call.ledger() as ledger:
        taken = [ledger.take_back(name) for name in ("quiet", "loud")]
        said = ledger.overrides(now)
    data = {"cleared": any(taken), **_fields(said, _where(call, said))}
    call.show(data, lambda: "the configured hours hold again" if any(taken) else "there was nothing to take back")


def zone_verb(
    name: str = typer.Argument(None, metavar="[ZONE|home]", help="An IANA zone, such as Europe/Rome."),
    end: str = typer.Option(None, "--until", metavar=MOMENT, help="Only until then."),
) -> None:
    """Say in which zone the owner's day is reckoned; or that you are elsewhere, or home again."""
    if end is not None and name in (None, "home"):
        raise typer.BadParameter("--until needs a zone: `heartbeat zone Europe/Rome --until ISO`")
    call, now = shell("zone"), utc_now()
    if name is not None:
        _move(call, name, end, now)
    said, home = _said(call, now), call.zone()
    zone = _where(call, said)
    data = {"zone": zone.key, "home": home.key, "away": bool(said.zone)}
    call.show(data, lambda: f"{zone.key} (at home: {home.key})" if said.zone else f"{zone.key} (at home)")


def _move(call: Shell, name: str, end: str | None, now: datetime) -> None:
    from heartbeat.config.fields import check_zone

    if name == "home":
        with call.ledger() as ledger:
            ledger.take_back("zone")
        return
    try:
        check_zone(name)
    except ValueError as error:
        raise Invalid(str(error)) from None
    until = _moment(end, call, now, "--until: ") if end is not None else None
    with call.ledger() as ledger:
        ledger.override("zone", name, until, now)


def _enter(call: Shell, name: str, end: datetime, now: datetime) -> None:
    with call.ledger() as ledger:
        ledger.override(name, "", end, now)
        said = ledger.overrides(now)
    zone, quiet = _where(call, said), name == "quiet"
    data = {"quiet": quiet, "until": local(end, zone) if quiet else None, **_fields(said, zone)}
    call.show(
        data, lambda: f"quiet until {when(end, zone)}" if quiet else f"no quiet hours until {when(end, zone)}", zone
    )


def _said(call: Shell, now: datetime) -> Overrides:
    with call.ledger_to_read() as ledger:
        return ledger.overrides(now)


def _hours(call: Shell, said: Overrides) -> QuietHours:
    settings = load_settings(call.home)
    return settings.quiet.hours(ZoneInfo(settings.owner.zone)).under(said)


def _where(call: Shell, said: Overrides) -> ZoneInfo:
    """The zone in which the owner is."""
    zone = zone_or(said.zone, call.zone())
    assert isinstance(zone, ZoneInfo)
    return zone


def _reason(quiet: QuietHours, now: datetime, zone: ZoneInfo) -> str:
    if quiet.loud_until is not None and now < quiet.loud_until:
        return f"you said that there are no quiet hours until {when(quiet.loud_until, zone)}"
    if quiet.forced_until is not None and now < quiet.forced_until:
        return f"you said that it is quiet until {when(quiet.forced_until, zone)}"
    return "by the windows of the configuration" if quiet.windows else "no window is configured"


def _fields(said: Overrides, zone: ZoneInfo) -> dict[str, Any]:
    return {
        "zone": zone.key,
        "override": {
            "quiet_until": said.quiet_until and local(said.quiet_until, zone),
            "loud_until": said.loud_until and local(said.loud_until, zone),
            "zone": said.zone or None,
        },
    }


def _moment(text: str, call: Shell, now: datetime, label: str = "") -> datetime:
    """The instant to come that a text stands for; raises Invalid."""
    at = read_moment(text, label.removesuffix(": "), call, now)
    if not now < at <= now + _LONGEST:
        wrong = "it is past" if at <= now else f"it lies more than {_LONGEST.days} days ahead"
        raise Invalid(f"{label}cannot use {text!r}: {wrong}; give an instant from now to {_LONGEST.days} days ahead")
    return at
