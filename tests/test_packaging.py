"""The wheel and the sdist hold the whole program, and the wheel runs where no checkout is."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DATA_FOLDERS = ("jobs", "gates", "ledger", "config", "systemd", "launchd")


@dataclass(frozen=True, slots=True)
class Built:
    tree: Path
    """A copy of the checkout without what git ignores."""
    sdist: Path
    wheel: Path
    """Built from the tree."""
    wheel_of_sdist: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("packaging")
    tree = folder / "tree"
    ignored = [line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines()]
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", *ignored))
    build(tree, folder / "direct", "--wheel")
    build(tree, folder / "dist")  # an sdist, and the wheel from it
    return Built(
        tree,
        sdist=only(folder / "dist", "*.tar.gz"),
        wheel=only(folder / "direct", "*.whl"),
        wheel_of_sdist=only(folder / "dist", "*.whl"),
    )


def build(tree: Path, folder: Path, *options: str) -> None:
    run(sys.executable, "-m", "build", "--no-isolation", *options, "--outdir", str(folder), str(tree), cwd=tree)


def run(*command: str, cwd: Path = Path("/"), home: Path | None = None) -> str:
    """The output of a command in an environment that knows nothing of the checkout."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    if home is not None:
        environment |= {"HOME": str(home), "NO_COLOR": "1"}
    done = subprocess.run(
        command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def only(folder: Path, pattern: str) -> Path:
    (path,) = folder.glob(pattern)
    return path


def files_below(folder: Path) -> dict[str, int]:
    """The path of every file, with its permission bits."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): stat.S_IMODE(path.stat().st_mode) for path in paths}


def shipped(tree: Path) -> dict[str, int]:
    """Every file of the six folders as the wheel should name it, with its permission bits."""
    return {
        f"heartbeat/share/{folder}/{name}": mode
        for folder in DATA_FOLDERS
        for name, mode in files_below(tree / folder).items()
    }


def members(wheel: Path) -> dict[str, tuple[int, bytes]]:
    """The permission bits and bytes of every file in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return {
            entry.filename: (stat.S_IMODE(entry.external_attr >> 16), archive.read(entry))
            for entry in archive.infolist()
        }


def test_heartbeat_is_the_only_name_the_wheel_installs(built: Built) -> None:
    tops = {name.split("/")[0] for name in members(built.wheel)}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"heartbeat"}


def test_the_wheel_holds_every_module_and_every_file_of_the_six_folders_and_nothing_else(built: Built) -> None:
    modules = {f"heartbeat/{name}" for name in files_below(built.tree / "heartbeat")}
    inside = {name for name in members(built.wheel) if name.startswith("heartbeat/")}
    assert inside == modules | set(shipped(built.tree))


def test_the_wheel_keeps_who_may_execute_what(built: Built) -> None:
    inside = members(built.wheel)
    differing = [name for name, mode in shipped(built.tree).items() if (inside[name][0] ^ mode) & 0o111]
    assert differing == []


def test_the_wheel_carries_the_licence(built: Built) -> None:
    licences = [name for name in members(built.wheel) if name.endswith(".dist-info/licenses/LICENSE")]
    assert len(licences) == 1


def test_the_wheel_of_the_sdist_is_the_wheel_of_the_tree(built: Built) -> None:
    assert members(built.wheel_of_sdist) == members(built.wheel)


def test_the_sdist_holds_what_it_takes_to_run_the_tests(built: Built) -> None:
    with tarfile.open(built.sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert set(files_below(built.tree)) - {".gitignore"} <= inside


def test_an_installed_heartbeat_runs_where_no_checkout_is(built: Built, tmp_path: Path) -> None:
    venv, home = tmp_path / "venv", tmp_path / "home"
    home.mkdir()
    run(sys.executable, "-m", "venv", "--without-pip", str(venv))
    pip = (sys.executable, "-m", "pip", "--python", str(venv), "--disable-pip-version-check", "-qq")
    run(*pip, "install", "--no-compile", str(built.wheel))
    run(*pip, "check")

    heartbeat = str(venv / "bin" / "heartbeat")
    assert "demo" in run(heartbeat, "--help", home=home)
    assert run(heartbeat, "--version", home=home).split()[-1] == built.wheel.name.split("-")[1]
    assert run(heartbeat, "demo", home=home).strip()

    installed = only(venv / "lib", "python*/site-packages/heartbeat")
    modes = files_below(installed / "share")
    for name, mode in shipped(built.tree).items():
        assert (modes[name.removeprefix("heartbeat/share/")] ^ mode) & 0o100 == 0, name
    assert list(home.rglob("config.toml")) == [], "the demo left a configuration in the owner's home"
