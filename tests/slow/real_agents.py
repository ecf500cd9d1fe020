"""Installs the agents that people really use into a cache of the user's, once, and sets each to the mock server."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.mock_llm import KEY

CACHE = Path.home() / ".cache" / "heartbeat-tests"
_LONGEST_INSTALLATION = 180.0


class NotInstallable(Exception):
    """Why an agent cannot be had here."""


@dataclass(frozen=True, slots=True)
class RealAgent:
    """One agent, of the version these tests were written for."""

    kind: str
    version: str
    install: Callable[[Path, str], None]
    find: Callable[[Path], Path | None]
    """Its program in the folder it is installed in."""
    configure: Callable[[Path, Path, str], str]
    """From its program, its HOME and the mock's address to what stands in [agent]; may put files into HOME."""

    def program(self) -> Path:
        """Installs it unless that is done; raises NotInstallable."""
        folder = CACHE / "agents" / f"{self.kind}-{self.version}"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another worker of the tests may be at it
            if not (folder / "installed").exists():
                self.install(folder, self.version)
                (folder / "installed").touch()
        program = self.find(folder)
        if program is None:
            raise NotInstallable(f"{self.kind} {self.version} is not made for this machine ({platform.machine()})")
        return program


def _npm(package: str) -> Callable[[Path, str], None]:
    def install(folder: Path, version: str) -> None:
        if not (npm := shutil.which("npm")):
            raise NotInstallable("npm is not installed")
        # Without scripts: the programs lie ready in packages of their own, whatever version of Node is here.
        _run(
            npm,
            "install",
            "--prefix",
            str(folder),
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--no-progress",
            f"{package}@{version}",
        )

    return install


def _pip(package: str) -> Callable[[Path, str], None]:
    def install(folder: Path, version: str) -> None:
        _run(sys.executable, "-m", "venv", "--clear", str(folder / "venv"))
        _run(
            str(folder / "venv/bin/python"),
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            f"{package}=={version}",
        )

    return install


def _run(*argv: str) -> None:
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_LONGEST_INSTALLATION, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstallable(f"{argv[0]}: {error}") from None
    if done.returncode:
        said = " ".join(done.stderr.split())[-300:]
        raise NotInstallable(f"{' '.join(argv)}: {said}")


def _first(pattern: str) -> Callable[[Path], Path | None]:
    return lambda folder: next(iter(sorted(folder.glob(pattern))), None)


def _claude(program: Path, _home: Path, base: str) -> str:
    return _section("claude", (str(program),), {"ANTHROPIC_BASE_URL": base}, {"ANTHROPIC_API_KEY": KEY})


def _codex(program: Path, home: Path, base: str) -> str:
    provider = (
        f'{{name="mock",base_url="{base}/v1",env_key="CODEX_API_KEY",wire_api="responses",'
        "request_max_retries=0,stream_max_retries=0}"
    )
    words = ("-c", "model_provider=mock", "-c", f"model_providers.mock={provider}")
    return _section("codex", (str(program), *words), {"CODEX_HOME": str(home)}, {"CODEX_API_KEY": KEY}, "mock-model")


def _hermes(program: Path, home: Path, base: str) -> str:
    (home / ".hermes").mkdir(exist_ok=True)
    told = {
        "model": {
            "default": "mock-model",
            "provider": "custom",
            "base_url": f"{base}/v1",
            "api_key": KEY,
            "context_length": 200_000,
        },
        # At its first turns it would install more of itself from the network.
        "security": {"allow_lazy_installs": False},
    }
    (home / ".hermes/config.yaml").write_text(json.dumps(told))  # which is YAML, too
    return _section("hermes", (str(program),), {}, {})


def _section(
    kind: str, command: tuple[str, ...], env: Mapping[str, str], secrets: Mapping[str, str], model: str = ""
) -> str:
    """The part of a configuration that is about the agent; its key comes from heartbeat's environment."""
    lines = [f'kind = "{kind}"', f"command = {json.dumps(command)}", f'model = "{model}"', "[agent.env]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in env.items()]
    lines += ["[agent.secrets]", *(f'{name} = {{ env = "{name}" }}' for name in secrets)]
    return "\n".join(lines)


def search_path() -> str:
    """Where the launchers of these agents find Node; nothing else of the tester's."""
    node = shutil.which("node")
    return os.pathsep.join([*([os.path.dirname(node)] if node else []), "/usr/local/bin", "/usr/bin", "/bin"])


REAL_AGENTS = {
    agent.kind: agent
    for agent in (
        RealAgent(
            "claude",
            "2.1.332",
            _npm("@anthropic-ai/claude-code"),
            _first("node_modules/@anthropic-ai/claude-code-*/claude"),
            _claude,
        ),
        RealAgent("codex", "0.171.0", _npm("@openai/codex"), _first("node_modules/.bin/codex"), _codex),
        RealAgent("hermes", "0.19.0", _pip("hermes-agent"), _first("venv/bin/hermes"), _hermes),
    )
}
