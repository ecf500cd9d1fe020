"""A supervisor of the tests' own, which keeps in a file what it was told: the verbs are tested, not systemd."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from heartbeat.errors import ServiceError
from heartbeat.marker import Marker, read_intent
from heartbeat.service import Plan, Scope, Standing


class Kept:
    """Implements Manager; *folder* is where its unit and its memory lie."""

    kind = "systemd"
    system = "linux"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.reason = ""
        self.fails = ""
        """The verb that fails next."""
        self.pid: int | None = None
        """Of the process that is the service's."""
        self.asked: list[tuple[str, str]] = []
        """Each verb that changes something, with the intent that was written down before."""
        self._plan: Plan | None = None

    def why_not(self, scope: Scope) -> str:
        return self.reason

    def files(self, plan: Plan) -> Mapping[Path, str]:
        return {self.folder / f"{plan.name}.service": f"ExecStart={' '.join(plan.argv)}\nPATH={plan.path}\n"}

    def marker(self, plan: Plan) -> Marker:
        return Marker(self.kind, f"{plan.name}.service", plan.scope, plan.version)

    def install(self, plan: Plan) -> tuple[str, ...]:
        self._note("install", plan)
        for path, text in self.files(plan).items():
            path.write_text(text)
        self.put(plan, "running")
        return (f"installed {plan.name}",)

    def uninstall(self, plan: Plan) -> tuple[str, ...]:
        self._note("uninstall", plan)
        for path in self.files(plan):
            path.unlink(missing_ok=True)
        self.put(plan, "not installed")
        return (f"removed {plan.name}",)

    def start(self, plan: Plan) -> tuple[str, ...]:
        return self._to("start", plan, "running")

    def stop(self, plan: Plan) -> tuple[str, ...]:
        return self._to("stop", plan, "stopped")

    def restart(self, plan: Plan) -> tuple[str, ...]:
        return self._to("restart", plan, "running")

    def status(self, plan: Plan) -> Standing:
        if self.fails == "status":
            raise ServiceError("cannot ask the supervisor: it is busy; try again")
        states = json.loads(self._memory.read_text()) if self._memory.exists() else {}
        state = states.get(plan.name, "not installed")
        return Standing(state, "", self.pid if state == "running" else None, None, None)

    def logs(self, plan: Plan, *, lines: int, follow: bool) -> tuple[str, ...]:
        return ("printf", "%s\\n", f"the last {lines} lines of {plan.name}", *(["and more"] if follow else []))

    def drift(self, plan: Plan) -> tuple[str, ...]:
        found = {path: path.read_text() for path in self.files(plan) if path.exists()}
        return tuple(f"{path} differs" for path, text in self.files(plan).items() if found.get(path, text) != text)

    @property
    def given(self) -> Plan:
        """The latest plan that was carried out."""
        assert self._plan is not None
        return self._plan

    @property
    def _memory(self) -> Path:
        return self.folder / "states"

    def _to(self, verb: str, plan: Plan, state: str) -> tuple[str, ...]:
        self._note(verb, plan)
        self.put(plan, state)
        return (f"{verb}: {plan.name}",)

    def put(self, plan: Plan, state: str) -> None:
        self._memory.write_text(json.dumps({plan.name: state}))

    def _note(self, verb: str, plan: Plan) -> None:
        self._plan = plan
        word, _ = read_intent(plan.home.intent_file, plan.home.intent_file.stat().st_mtime + 1)
        self.asked.append((verb, word))
        if self.fails == verb:
            raise ServiceError(f"cannot {verb} {plan.name}: it ended with status 1; see its log")
