"""The channel to the desktop: how each system's program is called, and who is at the desktop."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from heartbeat.channels import desktop, find_channels
from heartbeat.channels._said import Said
from heartbeat.config import Settings
from heartbeat.errors import ChannelError
from heartbeat.model import Message, MessageKind, MessageState, Urgency
from heartbeat.paths import find_home
from tests.conftest import NOW

SAID = Said("-e do shell script", 'say <b>&lt;b> \\n "x"', "heartbeat why wake_1", "[cut]")
MESSAGE = Message(
    *("msg_1", MessageKind.REPLY, "screen", MessageState.SENDING, "T", "B"), created_at=NOW, urgency=Urgency.NORMAL
)


@pytest.mark.parametrize(
    ("urgency", "level"),
    [
        (Urgency.LOW, "low"),
        (Urgency.NORMAL, "normal"),
        (Urgency.HIGH, "normal"),
        (Urgency.CRITICAL, "critical"),
    ],
)
def test_notify_send_gets_neither_options_nor_markup_nor_escapes_from_strangers(urgency: Urgency, level: str) -> None:
    argv = desktop.argv_for(SAID, urgency, "linux")
    assert argv[:4] == ("notify-send", "--app-name=heartbeat", f"--urgency={level}", "--")
    body = 'say &lt;b&gt;&amp;lt;b&gt; \\\\n "x"\n\nheartbeat why wake_1'
    assert argv[4:] == ("-e do shell script", body)


def test_osascript_gets_the_text_beside_a_script_that_never_changes() -> None:
    argv = desktop.argv_for(SAID, Urgency.NORMAL, "darwin")
    other = desktop.argv_for(Said("x", "y", "", ""), Urgency.NORMAL, "darwin")
    assert argv[:8] == other[:8]
    # The word between ends its options: a title that begins with a dash is none.
    assert argv[7:] == ("heartbeat", SAID.title, SAID.body())


def screen(folder: Path, environ: dict[str, str]) -> Any:
    settings = Settings.model_validate({"channels": {"screen": {"kind": "desktop"}}})
    home = find_home(str(folder), {})
    return find_channels(settings, home, {"HOME": str(folder), **environ}, threading.Event())["screen"]


def test_without_a_session_it_says_so_and_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desktop, "_RUN", str(tmp_path))
    with pytest.raises(ChannelError, match="nobody is at the desktop") as caught:
        screen(tmp_path, {}).send(MESSAGE)
    assert caught.value.retryable


def test_the_bus_is_found_where_it_usually_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desktop, "_RUN", str(tmp_path))
    monkeypatch.setattr(os, "getuid", lambda: 7)
    (tmp_path / "7").mkdir()
    monkeypatch.chdir(tmp_path / "7")
    with socket.socket(socket.AF_UNIX) as bus:
        bus.bind("bus")
        assert screen(tmp_path, {})._bus() == {"DBUS_SESSION_BUS_ADDRESS": f"unix:path={tmp_path}/7/bus"}
    given = {"DBUS_SESSION_BUS_ADDRESS": "unix:path=/x"}
    assert screen(tmp_path, given)._bus() == given
