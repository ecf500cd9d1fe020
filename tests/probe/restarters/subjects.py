"""The subjects that these tests look for restarters of, and a search that knows whose they are."""

from __future__ import annotations

from pathlib import Path

from heartbeat.probe.restarters import Subject
from heartbeat.probe.restarters.search import Search, user_name
from heartbeat.probe.restarters.target import Target

HOME = "/home/ann/.config/heartbeat"
LOCK = "/home/ann/.local/state/heartbeat/daemon.lock"
PID = 4242


def ours(scope: str = "user", **more: object) -> Subject:
    """heartbeat in ann's own folders, supervised in this scope."""
    facts = {
        "units": ["heartbeat.service"],
        "labels": ["local.heartbeat"],
        "scope": scope,
        "user": "ann",
        "commands": ["heartbeat"],
        "home": HOME,
        "pid_files": [LOCK],
        **more,
    }
    return Subject(**facts)  # type: ignore[arg-type]


def hermes(**more: object) -> Subject:
    """Another daemon, with a restarter that is known by name."""
    facts = {
        "units": ["hermes-gateway.service"],
        "labels": ["ai.hermes.gateway"],
        "restarters": ["ai.hermes.gateway-restarter"],
        "commands": ["hermes gateway", "python -m hermes_cli.main gateway"],
        **more,
    }
    return Subject(**facts)  # type: ignore[arg-type]


def search_for(subject: Subject, pid: int | None = None) -> Search:
    """A search in which the subject's live process is *pid*, whatever this machine runs under that number."""
    search = Search(subject)
    subject.pid = pid
    line = "/opt/heartbeat/bin/python -P -m heartbeat run"
    if subject.commands[0] != "heartbeat":
        line = f"/usr/bin/python3 {subject.commands[0]} run"
    names = [*search.target.names, "python"]
    search.target = Target(subject, owner=subject.user or user_name(0), user="", line=line, names=names)
    return search


def script(folder: Path, name: str, text: str) -> Path:
    """An executable file."""
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path
