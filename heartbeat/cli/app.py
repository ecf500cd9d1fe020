"""The verbs gathered into one command, and how a call ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click
import typer

from heartbeat import __version__
from heartbeat.cli import brief, demo, facts, gate, ledger, queue, setup, tick, wakes
from heartbeat.cli import run as run_verb
from heartbeat.cli.shell import enter, envelope
from heartbeat.errors import HeartbeatError

app = typer.Typer(
    name="heartbeat",
    help="Run tick scripts on a schedule; wake an AI agent only when one of them says so.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (setup, run_verb, tick, facts, brief):
    module.register(app)
for group in (gate, ledger, queue, wakes):
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
    from heartbeat.cli.shell import shell
    from heartbeat.probe import examine

    call = shell("health")
    raise typer.Exit(show_health(examine(call.home), as_json=call.as_json, assert_live=assert_live))


def run(words: Sequence[str]) -> int:
    """Run one call and return its exit status."""
    try:
        home, as_json, rest = _take_globals(words)
        enter(home, as_json=as_json)
        return _call(rest, as_json=as_json)
    except BrokenPipeError:
        # The reader went away (`heartbeat runs | head`): nothing is wrong, and nothing more can be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _call(words: Sequence[str], *, as_json: bool) -> int:
    try:
        status = app(list(words), standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.Exit as end:
        return end.exit_code
    except click.exceptions.NoArgsIsHelpError as help_page:
        print(help_page.format_message(), file=sys.stderr)
        return 2
    except click.ClickException as error:
        return _fail("usage", _usage(error), 2, words, as_json=as_json)
    except (click.exceptions.Abort, KeyboardInterrupt):
        return 130
    except HeartbeatError as error:
        return _fail(error.code, str(error), error.exit_code, words, as_json=as_json)
    except BrokenPipeError:
        raise
    except Exception as error:
        if os.environ.get("HEARTBEAT_DEBUG"):
            raise
        message = f"{type(error).__name__}: {error}; set HEARTBEAT_DEBUG=1 to see where"
        return _fail("internal_error", message, 1, words, as_json=as_json)


def _fail(code: str, message: str, status: int, words: Sequence[str], *, as_json: bool) -> int:
    if as_json:
        command = next((word for word in words if not word.startswith("-")), "")
        print(envelope(command, None, {"code": code, "message": message}))
    else:
        print(f"heartbeat: {message}", file=sys.stderr)
    return status


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    remedy = f"; see `{context.command_path} --help`" if context else ""
    return error.format_message() + remedy


def _take_globals(words: Sequence[str]) -> tuple[str | None, bool, list[str]]:
    """`--home DIR` and `--json` may stand anywhere before `--`; returns them and the other words."""
    home: str | None = None
    as_json = False
    rest: list[str] = []
    remaining = iter(words)
    for word in remaining:
        if word == "--":
            return home, as_json, [*rest, word, *remaining]
        if word == "--json":
            as_json = True
        elif word == "--home":
            home = next(remaining, None)
            if not home:
                return None, as_json, [word]
        elif word.startswith("--home="):
            home = word.removeprefix("--home=")
        else:
            rest.append(word)
    return home, as_json, rest


demo.register(app, run)
