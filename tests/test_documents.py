"""What the documents show is what happens: every console block is typed into a shell and its output compared.

A document gets a home of its own and is followed from top to bottom:

- a block fenced `console` is run: each line `$ COMMAND` in bash, standing in the home; the lines under it are output
  that must come in this order, `…` standing for anything; `# exit 4` at the end of a command is the status it must have
- `console needs=node` is run only where that program is installed; where CI is set it must be
- `console no-run` is not run: commands that install, or talk to systemd
- a block fenced with `file=jobs/disk.sh` is written to that file of the home, executable if it starts with `#!`
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
MAKE_IN_README = frozenset({"make demo", "make test", "make test-slow", "make bench", "make lint", "make help"})
COMMAND_SECONDS = 120


@dataclass(frozen=True, slots=True)
class ShownFile:
    line: int
    path: str
    text: str


@dataclass(slots=True)
class Command:
    line: int
    text: str
    status: int = 0
    needs: str = ""
    shown: list[str] = field(default_factory=list)


class BadDocument(Exception):
    """A block that the harness would otherwise skip in silence."""


def read_document(text: str) -> list[Command | ShownFile]:
    """What a reader of *text* would type and save, in order."""
    steps: list[Command | ShownFile] = []
    for line, info, body in fenced_blocks(text):
        words = info.split()
        if words[:1] == ["console"]:
            steps += read_console(line, words[1:], body)
        steps += [shown_file(line, word.removeprefix("file="), body) for word in words if word.startswith("file=")]
    return steps


def fenced_blocks(text: str) -> list[tuple[int, str, list[str]]]:
    """The line number, info string and lines of every fenced block."""
    blocks: list[tuple[int, str, list[str]]] = []
    opened: tuple[int, str, str, str] | None = None
    body: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.fullmatch(r"( *)(`{3,})([^`]*)", line)
        if opened is None:
            if fence:
                opened, body = (number, fence[3].strip(), fence[1], fence[2]), []
        elif fence and fence[2] == opened[3] and not fence[3].strip():
            blocks.append((opened[0], opened[1], body))
            opened = None
        else:
            body.append(line.removeprefix(opened[2]))
    if opened is not None:
        msg = f"cannot find the end of the block that starts on line {opened[0]}; close it with {opened[3]}"
        raise BadDocument(msg)
    return blocks


def read_console(line: int, options: list[str], body: list[str]) -> list[Command]:
    if options == ["no-run"]:
        return []
    needs = "".join(option.removeprefix("needs=") for option in options)
    if [f"needs={needs}"] != options and options:
        msg = f"cannot read {' '.join(options)!r} on line {line}; write nothing, no-run or needs=PROGRAM after console"
        raise BadDocument(msg)
    commands: list[Command] = []
    for number, text in enumerate(body, line + 1):
        if text.startswith("$ "):
            commands.append(Command(number, text[2:], needs=needs))
        elif not commands:
            msg = f"cannot tell which command printed line {number}; start it with '$ ' or start the block with one"
            raise BadDocument(msg)
        elif commands[-1].text.endswith("\\") and not commands[-1].shown:
            commands[-1].text += "\n" + text
        elif text.strip():
            commands[-1].shown.append(text.rstrip())
    for command in commands:
        if status := re.search(r"\s+# exit ([0-9]+)$", command.text):
            command.text, command.status = command.text[: status.start()], int(status[1])
    return commands


def shown_file(line: int, path: str, body: list[str]) -> ShownFile:
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        msg = f"cannot write {path!r} of line {line}; name a file inside the home"
        raise BadDocument(msg)
    return ShownFile(line, path, "".join(f"{text}\n" for text in body))


def follow(steps: list[Command | ShownFile], folder: Path) -> list[str]:
    """Do what a document says in a fresh home inside *folder*; returns what went otherwise."""
    home = folder / "home"
    home.mkdir(mode=0o700)
    faults: list[str] = []
    for step in steps:
        if isinstance(step, ShownFile):
            save(step, home)
        elif step.text not in MAKE_IN_README and has_program(step.needs):
            faults += try_command(step, home)
    return faults


def has_program(name: str) -> bool:
    return not name or shutil.which(name) is not None or "CI" in os.environ


def save(shown: ShownFile, home: Path) -> None:
    path = home / shown.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(shown.text)
    path.chmod(0o755 if shown.text.startswith("#!") else 0o600)


def try_command(command: Command, home: Path) -> list[str]:
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail\n{command.text}"],
        cwd=home,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    output = done.stdout.decode(errors="replace")
    faults = [] if done.returncode == command.status else [f"ended with {done.returncode}, not {command.status}"]
    if (missing := first_missing(command.shown, output)) is not None:
        faults.append(f"did not print (after what was shown before it): {missing}")
    return [f"line {command.line}: $ {command.text}\n{fault}\nIt printed:\n{output}" for fault in faults]


def environment(home: Path) -> dict[str, str]:
    """What a person's shell would have, and nothing of the machine the tests run on."""
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "HEARTBEAT_HOME": str(home),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "COLUMNS": "120",
        "NO_COLOR": "1",
    }


def first_missing(shown: list[str], output: str) -> str | None:
    """The first line of *shown* that *output* does not have at its place; other lines may come between."""
    lines = iter(output.splitlines())
    for expected in shown:
        if expected.strip() == "…":
            continue
        pattern = ".*".join(re.escape(part) for part in expected.split("…"))
        if not any(re.fullmatch(pattern, line.rstrip()) for line in lines):
            return expected
    return None


def commands_in(document: Path) -> list[Command]:
    return [step for step in read_document(document.read_text()) if isinstance(step, Command)]


def name_of(document: Path) -> str:
    return document.relative_to(ROOT).as_posix()


RUNNABLE = [document for document in DOCUMENTS if commands_in(document)]


@pytest.mark.parametrize("document", RUNNABLE, ids=name_of)
def test_the_commands_of_a_document_do_what_it_shows(document: Path, tmp_path: Path) -> None:
    faults = follow(read_document(document.read_text()), tmp_path)
    assert not faults, f"{name_of(document)}\n" + "\n\n".join(faults)


def test_the_readme_shows_commands() -> None:
    assert ROOT / "README.md" in RUNNABLE


def test_every_make_command_shown_is_a_target() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {command.removeprefix("make ") for command in MAKE_IN_README} <= targets


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_every_link_to_a_file_leads_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", document.read_text())
    assert [target for target in targets if not (document.parent / target).exists()] == []


# The harness itself


TUTORIAL = """
# Disk

```sh file=jobs/hello.sh
#!/bin/sh
echo "hello from $HEARTBEAT_HOME"
echo one; echo two; echo three
```

1. Try it:

   ```console
   $ jobs/hello.sh
   hello from /…/home
   two
   $ echo a \\
       b
   a b
   $ false | cat   # exit 1
   ```

```console no-run
$ rm -rf /
```

```console needs=bash
$ echo complaint >&2
complaint
```

```toml
[quiet]
```
"""


def test_a_document_is_read_as_what_a_reader_would_do() -> None:
    file, *commands = read_document(TUTORIAL)
    assert isinstance(file, ShownFile)
    assert (file.path, file.text.splitlines()[0]) == ("jobs/hello.sh", "#!/bin/sh")
    assert [(c.text, c.status, c.needs, c.shown) for c in commands if isinstance(c, Command)] == [
        ("jobs/hello.sh", 0, "", ["hello from /…/home", "two"]),
        ("echo a \\\n    b", 0, "", ["a b"]),
        ("false | cat", 1, "", []),
        ("echo complaint >&2", 0, "bash", ["complaint"]),
    ]


def test_a_document_that_says_what_happens_has_no_fault(tmp_path: Path) -> None:
    assert follow(read_document(TUTORIAL), tmp_path) == []


@pytest.mark.parametrize(
    ("block", "fault"),
    [
        ("$ echo one\ntwo", "line 2: $ echo one\ndid not print (after what was shown before it): two"),
        ("$ echo one; echo two\ntwo\none", "did not print (after what was shown before it): one"),
        ("$ echo one two\none", "did not print (after what was shown before it): one"),
        ("$ exit 3", "ended with 3, not 0"),
        ("$ exit 3  # exit 4", "ended with 3, not 4"),
        ("$ true  # exit 1", "ended with 0, not 1"),
        ("$ no-such-command-here", "ended with 127, not 0"),
    ],
)
def test_a_document_that_says_otherwise_is_found_out(block: str, fault: str, tmp_path: Path) -> None:
    faults = follow(read_document(f"```console\n{block}\n```\n"), tmp_path)
    assert len(faults) == 1
    assert fault in faults[0]


def test_a_program_that_is_missing_is_a_fault_only_in_ci(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = read_document("```console needs=no-such-program\n$ no-such-program\n```\n")
    monkeypatch.delenv("CI", raising=False)
    assert follow(steps, tmp_path) == []
    monkeypatch.setenv("CI", "true")
    (tmp_path / "ci").mkdir()
    assert len(follow(steps, tmp_path / "ci")) == 1


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("```console\n$ true\n", "cannot find the end of the block that starts on line 1"),
        ("```console norun\n$ true\n```", "cannot read 'norun' on line 1"),
        ("```console\ntrue\n```", "cannot tell which command printed line 2"),
        ("```sh file=../x.sh\ntrue\n```", "cannot write '../x.sh' of line 1"),
        ("```sh file=/etc/x.sh\ntrue\n```", "cannot write '/etc/x.sh' of line 1"),
    ],
)
def test_a_block_that_would_be_skipped_in_silence_is_refused(text: str, fault: str) -> None:
    with pytest.raises(BadDocument, match=re.escape(fault)):
        read_document(text)
