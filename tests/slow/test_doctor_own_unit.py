"""Under a real systemd: a unit that the owner wrote is the supervisor, and `heartbeat doctor` wants no second one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import pytest

from tests.slow.boxed_service import UNIT, Service, is_up
from tests.slow.boxes import USER, open_box

pytestmark = pytest.mark.slow

OWN = "[Service]\nExecStart=/usr/local/bin/heartbeat run\nRestart=on-failure\nRestartPreventExitStatus=4 5\n"


@pytest.fixture
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with open_box(tmp_path_factory.mktemp("box"), user=USER) as box:
        made = Service(box)
        made.configure()
        yield made


def answer(service: Service) -> Mapping[str, str]:
    """What the doctor says of the service."""
    said = json.loads(service.try_("--json", "doctor").out)["data"]["answers"]
    (found,) = [each for each in said if each["check"] == "service"]
    return dict(found)


def test_a_unit_of_the_owners_own_is_well_and_while_it_does_not_run_no_second_is_wanted(service: Service) -> None:
    service.write(f"{service.units}/{UNIT}", OWN)
    service.systemctl("daemon-reload")
    service.systemctl("start", UNIT)
    service.wait(is_up)
    service.box.wait("cat", f"{service.state}/pulse", until=lambda done: done.status == 0)
    found = answer(service)
    assert (found["status"], found["about"], found["remedy"]) == ("ok", "own", ""), found
    assert found["seen"].startswith(f"{UNIT} (user manager) keeps it"), found
    service.systemctl("stop", UNIT)
    found = answer(service)
    assert (found["status"], found["about"]) == ("warn", "own"), found
    assert found["remedy"].startswith("start that unit as you do"), found
