"""The house stands as drawn: what is at the top level, which floor a module is on, and what no file may say."""

from __future__ import annotations

import re
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from heartbeat.job.header import read_header
from heartbeat.job.script import find_script, scripts_in
from heartbeat.paths import Home

ROOT = Path(__file__).resolve().parent.parent
DATA_FOLDERS = ("jobs", "gates", "ledger", "config", "systemd", "launchd")
TOP_LEVEL = {
    *("pyproject.toml", "heartbeat", *DATA_FOLDERS, "tests"),
    *("README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "docs"),
}
MODULE_LINES = 250
README_LINES = 150
# Where the authors happened to work is nobody's business and true on no other machine.
PRIVATE = re.compile(r"/(?:work|root)/|\bshared/(?:cases|reference|design)|\b(?:issue|session) [0-9]+\b", re.IGNORECASE)


def ignored(name: str) -> bool:
    patterns = (ROOT / ".gitignore").read_text().split()
    return name == ".git" or any(fnmatch(name, pattern.strip("/")) for pattern in patterns)


def project_files(folder: Path = ROOT) -> list[Path]:
    """Every file that belongs to the project, whether committed yet or not."""
    entries = [path for path in sorted(folder.iterdir()) if not ignored(path.name)]
    below = [inner for path in entries if path.is_dir() for inner in project_files(path)]
    return [path for path in entries if path.is_file()] + below


def test_the_top_level_is_the_fixed_one() -> None:
    assert {path.name for path in ROOT.iterdir() if not path.name.startswith(".")} - {"dist"} == TOP_LEVEL


@pytest.mark.parametrize("folder", DATA_FOLDERS)
def test_a_data_folder_is_no_package_and_not_empty(folder: str) -> None:
    files = project_files(ROOT / folder)
    assert files
    assert [path for path in files if path.name == "__init__.py"] == []


def test_every_data_folder_is_shipped() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["force-include"] == {folder: f"heartbeat/share/{folder}" for folder in DATA_FOLDERS}


def test_no_module_is_longer_than_a_reader_can_hold() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in sorted((ROOT / "heartbeat").rglob("*.py"))}
    assert {str(path.relative_to(ROOT)): length for path, length in lengths.items() if length > MODULE_LINES} == {}


def test_the_readme_fits_two_screens() -> None:
    assert 0 < len((ROOT / "README.md").read_text().splitlines()) <= README_LINES


def test_no_file_speaks_of_the_place_it_was_written_in() -> None:
    said = {
        str(path.relative_to(ROOT)): found[0]
        for path in project_files()
        if (found := PRIVATE.search(path.read_bytes().decode(errors="replace")))
    }
    assert said == {}


def test_the_floors_are_checked_for_every_module() -> None:
    floors, rules = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert (floors["type"], floors["containers"], floors["exhaustive"]) == ("layers", ["heartbeat"], True)
    placed = {name for floor in floors["layers"] for name in re.split(r"\s*[|:]\s*", floor)}
    assert {name.removeprefix("heartbeat.").split(".")[0] for name in rules["source_modules"]} <= placed


@pytest.mark.parametrize("name", scripts_in(ROOT / "jobs"))
def test_a_shipped_script_is_executable_and_its_header_says_what_it_needs(name: str, tmp_path: Path) -> None:
    script = find_script(name, None, Home(tmp_path, tmp_path, tmp_path), {})
    header = read_header(script)
    assert script.path.parent == ROOT / "jobs"
    assert script.mode & 0o113 == 0o111
    assert script.head.startswith(b"#!")
    assert header.description
    assert [header.every, header.cron, header.at].count(None) == 2
    assert header.timeout is not None
    assert header.require_token, "without it a script that echoes a stranger's line could raise a wake"


@pytest.mark.parametrize("target", ["demo", "test", "test-slow", "bench", "lint", "clean", "help"])
def test_the_makefile_has_every_target_and_help_names_it(target: str) -> None:
    text = (ROOT / "Makefile").read_text()
    assert re.search(rf"^{target}:", text, re.MULTILINE)
    assert target == "help" or f'"make {target} ' in text


def test_the_architecture_page_names_every_room() -> None:
    page = (ROOT / "docs/architecture.md").read_text()
    table = page[page.index("| floor | rooms |") : page.index("The six folders")]
    named = set(re.findall(r"`(\w+)`", table))
    rooms = {
        path.stem for path in (ROOT / "heartbeat").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert rooms - {"__init__"} - named == set()
