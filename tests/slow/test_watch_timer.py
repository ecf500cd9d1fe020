"""The timer that watches heartbeat, as it is shipped, under a real systemd; only its minute is made seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.slow.boxed_service import UNIT, Service, is_up
from tests.slow.boxes import CHECKOUT, USER, Done, open_box

pytestmark = pytest.mark.slow

WATCH, TIMER = "heartbeat-watch.service", "heartbeat-watch.timer"
QUICK = "[Timer]\nOnStartupSec=\nOnUnitInactiveSec=\nOnStartupSec=1s\nOnUnitInactiveSec=6s\nAccuracySec=100ms\n"


@pytest.fixture
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with open_box(tmp_path_factory.mktemp("box"), user=USER) as box:
        made = Service(box)
        made.configure()
        yield made


def titles(service: Service) -> list[str]:
    lines = service.read(f"{service.config}/told.md").splitlines()
    return [line.split(" ", 3)[3].split(" since ")[0].split(" after ")[0] for line in lines if line.startswith("## ")]


def memory_says(service: Service, text: str) -> None:
    """Wait until a round has written it."""

    def is_there(done: Done) -> bool:
        return text in done.out

    service.box.wait("cat", f"{service.state}/watch", until=is_there, seconds=60)


def test_down_is_told_once_and_up_once_and_the_watch_itself_never_fails(service: Service) -> None:
    service.run("install")
    service.run("start")
    service.wait(is_up)
    for name in (WATCH, TIMER):
        text = (CHECKOUT / "systemd" / name).read_text()
        service.write(f"{service.units}/{name}", text.replace("%h/.local/bin/", "/usr/local/bin/"))
    service.write(f"{service.units}/{TIMER}.d/quick.conf", QUICK)
    service.systemctl("daemon-reload")
    service.systemctl("enable", "--now", TIMER)
    memory_says(service, '"colour":"green"')
    service.systemctl("stop", UNIT)
    memory_says(service, '"told":{"page":"red"}')
    told_at = service.read(f"{service.state}/watch")
    service.box.wait("cat", f"{service.state}/watch", until=lambda done: done.out != told_at)  # one round more
    assert titles(service) == ["heartbeat is down"]
    service.run("start")
    memory_says(service, '"told":{"page":"green"}')
    assert titles(service) == ["heartbeat is down", "heartbeat is up again"]
    assert service.systemctl("show", WATCH, "--property=Result").strip() == "Result=success"
    assert service.run("watch", "--history").count("\n") == 2
