"""The verbs gathered into one command, and how a call ends."""

from __future__ import annotations

import typer

from heartbeat import __version__
from heartbeat.cli import alarmed as alarm_verb
from heartbeat.cli import (
    brief,
    demo,
    detach,
    doctor,
    facts,
    gate,
    incidents,
    ledger,
    messages,
    queue,
    quiet,
    replay,
    schedule,
    service,
    setup,
    tick,
    times,
    wakes,
    watch,
)
from heartbeat.cli import ended as ended_verb
from heartbeat.cli.shell import enter, fail, guarded, shell
from heartbeat.cli.words import take_globals

app = typer.Typer(
    name="heartbeat",
    help="Run tick scripts on a schedule; wake an AI agent only when one of them says so.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(detach.run)
app.command(hidden=True)(ended_verb.ended)
app.command(hidden=True)(alarm_verb.alarm)
for module in (setup, tick, times, facts, brief, replay, quiet, service, watch, doctor):
    module.register(app)
_GROUPS = (gate, incidents, ledger, messages, queue, quiet, schedule, wakes)
for group in _GROUPS:
    app.add_typer(group.app)


def _version(*, wanted: bool) -> None:
    if wanted:
        print(f"heartbeat {__version__}")
        raise typer.Exit


@app.callback()
def _globals(
    home: str = typer.Option(None, metavar="DIR", help="Keep configuration, state and cache in DIR (HEARTBEAT_HOME)."),
    as_json: bool = typer.Option(
        False, "--json", help="Print one line of JSON; works with every verb that prints facts."
    ),
    version: bool = typer.Option(False, "--version", callback=lambda value: _version(wanted=value), is_eager=True),
) -> None:
    """Read before the verb by `run`; listed here for the help page."""


@app.command()
def health(
    target: str = typer.Argument(None, help="heartbeat itself (the default), or a target that is watched."),
    everything: bool = typer.Option(False, "--all", help="Heartbeat itself and every target of the configuration."),
    assert_live: bool = typer.Option(False, "--assert-live", help="Exit 1 unless up, degraded or absent."),
    assert_no_restarter: bool = typer.Option(
        False, "--assert-no-restarter", help="Exit 1 when something is found that restarts it again and again."
    ),
    assert_fresh: list[str] = typer.Option(
        [],
        "--assert-fresh",
        metavar="JOB[=AGE]",
        help="Exit 1 unless the job's last good run is so recent; by default twice its interval. May be repeated.",
    ),
    nagios: bool = typer.Option(False, "--nagios", help="One line for Nagios and its like, with their exit status."),
    prometheus: bool = typer.Option(False, "--prometheus", help="Metrics for Prometheus, in its text format."),
    system: bool = typer.Option(False, "--system", help="The installation of the whole machine, in /etc/heartbeat."),
) -> None:
    """Say whether the daemon is alive, from evidence on disk. Assertions may be combined: each that fails is told."""
    from heartbeat.cli.examination import examine_as_asked
    from heartbeat.cli.health import say
    from heartbeat.folders import SYSTEM

    switches = {
        "--all": everything,
        "--assert-live": assert_live,
        "--assert-no-restarter": assert_no_restarter,
        "--nagios": nagios,
        "--prometheus": prometheus,
    }
    words = [target] if target else []
    words += [switch for switch, wanted in switches.items() if wanted]
    words += [f"--assert-fresh={job}" for job in assert_fresh]
    call = shell("health")
    folders = SYSTEM if system else (str(call.home.config), str(call.home.state), str(call.home.cache))
    raise typer.Exit(say(examine_as_asked(folders, words, as_json=call.as_json)))


def run(words: list[str]) -> int:
    """Run one call and return its exit status."""
    home, as_json, rest = take_globals(words)
    enter(home, as_json=as_json)
    command = _named(rest)
    return guarded(lambda: _call(rest, command, as_json=as_json), command, as_json=as_json)


def _named(words: list[str]) -> str:
    """The verb of a call, with its second word if it has one."""
    plain = [word for word in words if not word.startswith("-")]
    groups = {group.app.info.name for group in _GROUPS}
    return " ".join(plain[: 2 if groups.intersection(plain[:1]) else 1])


def _call(words: list[str], command: str, *, as_json: bool) -> int:
    show_help = not words and not as_json
    try:
        status = app(["--help"] if show_help else words, prog_name="heartbeat", standalone_mode=False)
    except typer.Exit as end:
        return end.exit_code
    except typer.Abort:
        return 130
    except typer.TyperException as error:
        return fail("usage", _usage(error), 2, command, as_json=as_json)
    except SystemExit as end:
        # Typer's own way to end when the reader went away.
        raise BrokenPipeError from end
    return 2 if show_help else status if isinstance(status, int) else 0


def _usage(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    message: str = error.format_message() if hasattr(error, "format_message") else str(error)
    return message.removesuffix(".") + (f"; see `{context.command_path} --help`" if context else "")


demo.register(app, run)
