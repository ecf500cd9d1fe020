"""`heartbeat gate check`: what heartbeat would make of a script's output, for authors in any language."""

from __future__ import annotations

import sys

import typer

from heartbeat.cli.shell import shell, verdict_fields
from heartbeat.gate import check
from heartbeat.text import one_line

app = typer.Typer(name="gate", help="Check a script's output against the wake gate.")


@app.callback()
def _group() -> None:
    """Check a script's output against the wake gate."""


@app.command(name="check")
def check_verb() -> None:
    """Read a script's output from standard input; say the verdict and what to mend. Exit 4 when malformed."""
    judgement = check(sys.stdin.buffer.read() if sys.stdin else b"")
    findings = len(judgement.gate.findings) if judgement.gate else 0
    data = verdict_fields(judgement.verdict, judgement.code, judgement.reason, judgement.hint) | {"findings": findings}
    lines = [f"{judgement.verdict}: {one_line(judgement.reason)}"]
    if judgement.hint:
        lines.append(f"hint: {one_line(judgement.hint)}")
    if findings:
        lines.append(f"findings: {findings}")
    shell("gate check").show(data, lambda: "\n".join(lines))
    if judgement.verdict.is_fault:
        raise typer.Exit(4)
