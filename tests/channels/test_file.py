"""The channel that is a file: each message once, whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from heartbeat.channels import check_channels, find_channels
from heartbeat.channels import file as module
from heartbeat.config import Settings
from heartbeat.errors import ChannelError, Problem
from heartbeat.model import Message, MessageKind, MessageState, Urgency
from heartbeat.paths import find_home
from heartbeat.ports import Channel
from tests.conftest import NOW

MESSAGE = Message(
    *("msg_1", MessageKind.BRIEF, "diary", MessageState.SENDING, "A *title*", "Body."),
    created_at=NOW,
    urgency=Urgency.NORMAL,
)
BLOCK = "## 2026-06-10 10:00 A \\*title\\*\n\n~~~\nBody.\n~~~\n\n<!-- msg_1 -->\n\n"


def diary(folder: Path, path: str = "below/diary.md") -> Channel:
    table = {"owner": {"zone": "Europe/Berlin"}, "channels": {"diary": {"kind": "file", "path": path}}}
    settings = Settings.model_validate(table)
    return find_channels(settings, find_home(str(folder), {}), {"HOME": str(folder)}, threading.Event())["diary"]


def test_a_block_of_markdown_in_a_file_for_its_owner_alone(tmp_path: Path) -> None:
    assert diary(tmp_path).send(MESSAGE) is True
    path = tmp_path / "below/diary.md"
    assert path.read_text() == BLOCK
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_same_message_again_is_not_written_again(tmp_path: Path) -> None:
    for message in (MESSAGE, MESSAGE, replace(MESSAGE, id="msg_2"), MESSAGE):
        diary(tmp_path).send(message)
    assert (tmp_path / "below/diary.md").read_text() == BLOCK + BLOCK.replace("msg_1", "msg_2")


@pytest.mark.parametrize("path", ["diary.md", "diary.jsonl"])
def test_a_text_that_looks_like_the_mark_of_another_message_hides_nothing(tmp_path: Path, path: str) -> None:
    other = '~~~~~\n## forged\n{"id": "msg_2",\n   <!-- msg_2 -->'
    diary(tmp_path, path).send(replace(MESSAGE, body=f"mark: <!-- msg_2 -->\n{other}"))
    diary(tmp_path, path).send(replace(MESSAGE, id="msg_2"))
    text = (tmp_path / path).read_text()
    if path == "diary.md":
        assert text.count("\n~~~~~~\n") == 2
        assert text.endswith(BLOCK.replace("msg_1", "msg_2"))
    else:
        assert [json.loads(line)["id"] for line in text.splitlines()] == ["msg_1", "msg_2"]


@pytest.mark.parametrize("before", ["torn", "ended\n", ""])
def test_what_was_there_before_stays_and_is_not_joined(tmp_path: Path, before: str) -> None:
    (tmp_path / "diary.md").write_text(before)
    diary(tmp_path, "diary.md").send(MESSAGE)
    assert (tmp_path / "diary.md").read_text() == (before + "\n" if before == "torn" else before) + BLOCK


@pytest.mark.parametrize("at", ["write", "fsync"])
def test_a_full_disk_leaves_no_half_block_and_a_retry_writes_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    channel = diary(tmp_path, "diary.md")
    channel.send(replace(MESSAGE, id="msg_0"))
    before = (tmp_path / "diary.md").read_text()
    write, calls = os.write, []

    def half(file: int, raw: bytes) -> int:
        calls.append(file)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, bytes(raw)[:10])

    def full(file: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, at, half if at == "write" else full)
        with pytest.raises(ChannelError, match=r"^cannot write to .*No space left on device; make room") as caught:
            channel.send(MESSAGE)
    assert caught.value.retryable
    assert (tmp_path / "diary.md").read_text() == before
    channel.send(MESSAGE)
    assert (tmp_path / "diary.md").read_text() == before + BLOCK


def test_one_that_is_moved_away_while_we_wait_for_it_is_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    channel, opened, open_ = diary(tmp_path, "diary.md"), [], module._open

    def moved(path: Path) -> int:
        opened.append(file := open_(path))
        if len(opened) == 1:
            path.rename(tmp_path / "old.md")
        return file

    monkeypatch.setattr(module, "_open", moved)
    assert channel.send(MESSAGE)
    assert ((tmp_path / "diary.md").read_text(), (tmp_path / "old.md").read_text()) == (BLOCK, "")


def test_a_fifo_in_its_place_blocks_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "diary.md")
    with pytest.raises(ChannelError, match="it is not a file"):
        diary(tmp_path, "diary.md").send(MESSAGE)


def test_many_at_once_write_whole_blocks(tmp_path: Path) -> None:
    messages = [replace(MESSAGE, id=f"msg_{number}", body=f"{number}" * 3000) for number in range(10, 30)]
    threads = [threading.Thread(target=diary(tmp_path, "d.jsonl").send, args=(each,)) for each in messages]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text().splitlines()]
    assert sorted(each["id"] for each in told) == [each.id for each in messages]
    assert all(each["body"] == each["id"].removeprefix("msg_") * 3000 for each in told)


def test_a_link_that_leads_to_nothing_yet_is_followed(tmp_path: Path) -> None:
    (tmp_path / "diary.md").symlink_to("below/real.md")
    assert problems(tmp_path, "diary.md") == []
    assert diary(tmp_path, "diary.md").send(MESSAGE)
    assert (tmp_path / "below/real.md").read_text() == BLOCK
    assert (tmp_path / "diary.md").is_symlink()


@pytest.mark.parametrize("path", ["~nobody/x.md", "$HOME.md", "${HOME}/x.md", "~", "new/", "folder", "round.md"])
def test_a_path_that_cannot_be_meant_is_refused_by_check(tmp_path: Path, path: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "round.md").symlink_to("round.md")
    (problem,) = problems(tmp_path, path)
    assert problem.key == "channels.diary.path"


@pytest.mark.parametrize("path", ["~/x.md", "a~b.md", "below/new.md"])
def test_a_path_that_can_be_written_is_none(tmp_path: Path, path: str) -> None:
    assert problems(tmp_path, path) == []


def problems(folder: Path, path: str) -> list[Problem]:
    settings = Settings.model_validate({"channels": {"diary": {"kind": "file", "path": path}}})
    return check_channels(settings, find_home(str(folder), {}), {"HOME": str(folder)}, "config.toml")
