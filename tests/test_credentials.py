"""Credentials: secrets that systemd reads with its own rights and hands to the service."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from heartbeat.config import load_settings
from heartbeat.config.secret import Secret
from heartbeat.errors import ConfigError
from heartbeat.job.vault import Vault
from heartbeat.paths import Home
from tests.conftest import CONFIG, Done, Place

WORD = Secret(credential="word")


def put(path: Path, text: str, mode: int = 0o600) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def answer(folder: Path, environ: dict[str, str], credentials: dict[str, str]) -> str:
    vault = Vault(folder, environ, "", credentials=credentials)
    return str(vault.read([WORD])[WORD])


def test_what_systemd_hands_over_comes_before_the_file_it_was_read_from(tmp_path: Path) -> None:
    put(tmp_path / "handed" / "word", "by systemd\n", 0o400)
    file = put(tmp_path / "word.secret", "by hand\n")
    inside, credentials = {"CREDENTIALS_DIRECTORY": str(tmp_path / "handed")}, {"word": str(file)}
    assert answer(tmp_path, inside, credentials) == "by systemd"
    assert answer(tmp_path, inside, {}) == "by systemd", "a drop-in may hand over what the configuration does not name"
    assert answer(tmp_path, {}, credentials) == "by hand"
    assert answer(tmp_path, {"CREDENTIALS_DIRECTORY": str(tmp_path / "nowhere")}, credentials) == "by hand"


def test_a_file_that_was_not_there_when_the_service_started_is_looked_for_again(tmp_path: Path) -> None:
    put(tmp_path / "handed" / "word", "\n", 0o400)  # what SetCredential= puts in its place
    inside, file = {"CREDENTIALS_DIRECTORY": str(tmp_path / "handed")}, tmp_path / "word.secret"
    assert f"cannot read {file}: No such file" in answer(tmp_path, inside, {"word": str(file)})
    put(file, "since then")
    assert answer(tmp_path, inside, {"word": str(file)}) == "since then"


def test_an_unknown_name_is_told_with_those_that_are_known(tmp_path: Path) -> None:
    assert answer(tmp_path, {}, {"mail": "/a", "bank": "/b"}) == (
        "cannot find the credential 'word': [service] credentials names bank, mail; "
        "add it there with its file, and run `heartbeat install`"
    )
    assert "names none" in answer(tmp_path, {}, {})


def test_outside_of_the_service_its_file_must_be_private(tmp_path: Path) -> None:
    file = put(tmp_path / "word.secret", "open", 0o644)
    assert "chmod 600" in answer(tmp_path, {}, {"word": str(file)})


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take a file from somebody")
def test_a_file_of_roots_is_said_to_be_for_the_service_alone(tmp_path: Path) -> None:
    file = put(tmp_path / "word.secret", "s3cret")
    os.seteuid(65_534)
    try:
        told = answer(tmp_path, {}, {"word": str(file)})
    finally:
        os.seteuid(0)
    assert told == f"cannot read the credential 'word' here: systemd reads {file} for the service; ask as root"


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ('credentials = { "a b" = "/x" }', 'cannot use "a b" as a credential\'s name'),
        ('credentials = { a = "~/x" }', "write its whole path"),
        ('credentials = { a = "x" }', "write its whole path"),
        ('credentials = { a = "/x\\ny" }', "write its whole path"),
        ('credentials = { a = "/x " }', "write its whole path"),
        ("credentials = 5", "service.credentials"),
        ("credential = {}", "service.credential"),
    ],
)
def test_faults_of_the_section_are_told(tmp_path: Path, section: str, expected: str) -> None:
    (tmp_path / "config.toml").write_text(f"[service]\n{section}\n")
    with pytest.raises(ConfigError) as caught:
        load_settings(Home(tmp_path, tmp_path, tmp_path))
    assert expected in str(caught.value)


def test_a_script_gets_it_and_its_output_does_not_show_it(tmp_path: Path, place: Place) -> None:
    file = put(tmp_path / "word.secret", "correct-horse-battery")
    script = """#!/bin/sh
[ "$WORD" = correct-horse-battery ] || exit 1
echo "$WORD" >&2
env | grep CREDENTIALS_DIRECTORY && exit 1
echo '{"wakeAgent": false}'
"""
    place.configure(
        f'{CONFIG}secrets = {{ WORD = {{ credential = "word" }} }}\n[service.credentials]\nword = "{file}"\n'
    )
    place.script("check", script)
    done: Done = place.run("--json", "tick", "check")
    assert done.status == 0, done.out + done.err
    for path in place.folder.rglob("*"):
        assert not path.is_file() or b"correct-horse-battery" not in path.read_bytes() or path.name == "check.sh", path
