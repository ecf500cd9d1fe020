"""The verbs gathered into one command, and how a call ends."""

from __future__ import annotations

import typer

from heartbeat import __version__
from heartbeat.cli import (
    brief,
    demo,
    facts,
    gate,
    incidents,
    ledger,
    messages,
    queue,
    quiet,
    replay,
    schedule,
    setup,
    tick,
    times,
    wakes,
)
from heartbeat.cli import run as run_verb
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
app.command()(run_verb.run)
for module in (setup, tick, times, facts, brief, replay, quiet):
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
    assert_live: bool = typer.Option(False, "--assert-live", help="Exit 1 unless up, degraded or absent."),
) -> None:
    """Say whether the daemon is alive, from evidence on disk."""
    from heartbeat.cli.health import show_health
    from heartbeat.probe import examine

    call = shell("health")
    raise typer.Exit(show_health(examine(str(call.home.state)), as_json=call.as_json, assert_live=assert_live))


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
