"""What a script can do under systemd, and what not: tried by a real one, within the service and outside."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest

from heartbeat.paths import share
from tests.slow.boxed_service import UNIT, Service, is_up
from tests.slow.boxes import USER, Box, open_box

pytestmark = pytest.mark.slow

# Each line: a name, a TAB, a command. Its exit status is what counts.
TRIALS = {
    "write in the home": 'touch "$HOME/probe/x"',
    "write in /tmp": "touch /tmp/of-the-probe",
    "write in /etc": "touch /etc/x",
    "write in a folder outside that is one's own": "touch /srv/own/x",
    "become root by a program that may": 'test "$(/usr/local/bin/rooted -u)" = 0',
    "make a program that runs as another": 'cp /bin/true "$HOME/probe/s"; chmod u+s "$HOME/probe/s"',
    "ask for another execution domain": "setarch -R true",
    "open a rare socket": 'python3 -c "import socket as s; s.socket(s.AF_VSOCK, s.SOCK_STREAM)"',
    "open a usual socket": 'python3 -c "import socket as s; s.socket(s.AF_INET6); s.socket(s.AF_UNIX)"',
    "have code made while it runs": "node -e \"for (let i = 0; i < 1e6; i++); require('os').networkInterfaces()\"",
    "make a namespace": "unshare --user --map-root-user --mount sh -c 'mount -t tmpfs none /mnt'",
    "read the configuration of ssh": "ssh -G localhost </dev/null",
}
OUTSIDE = dict.fromkeys(TRIALS, True) | {"write in /etc": False}
AT_HOME = OUTSIDE | dict.fromkeys(
    (
        "become root by a program that may",
        "make a program that runs as another",
        "ask for another execution domain",
        "open a rare socket",
    ),
    False,
)
"""In the user's own manager: what needs no file system of the unit's own."""
CLOSED = AT_HOME | {"write in a folder outside that is one's own": False}
"""The same with ProtectSystem=strict in force."""
SANDBOXED = CLOSED | {"read the configuration of ssh": False}
"""With drop-ins/sandbox.conf: what it costs, as it says itself."""

SCRIPT = (
    "#!/bin/bash\nmkdir -p ~/probe\n{\n"
    + "".join(
        f"if ( {command} ) >/dev/null 2>&1; then echo '{name}: yes'; else echo '{name}: no'; fi\n".replace(
            "one's", "one'\\''s"
        )
        for name, command in TRIALS.items()
    )
    + "grep NoNewPrivs /proc/self/status >&2\n} >~/probe/found.new\nmv ~/probe/found.new ~/probe/found\n"
    + "echo '{\"wakeAgent\": false}'\n"
)
JOB = '[jobs.probe]\nscript = "jobs/probe"\nevery = "1h"\n'
SECRET = "correct horse battery staple"
# Shows that it has the secret, and not the secret.
WITH_SECRET = """#!/bin/sh
mkdir -p ~/probe
printf %s "$WORD" | sha256sum >~/probe/secret
echo '{"wakeAgent": false}'
"""
HASH = "c4bbcb1fbec99d65bf59d85c8cb62ee2db963f0fe106f483d9afa73bd4e39a8a"
SECRET_JOB = """
[service.credentials]
word = "/etc/word.secret"
gone = "/etc/gone.secret"

[jobs.has]
script = "jobs/has"
every = "1h"
secrets = { WORD = { credential = "word" } }

[jobs.has-not]
script = "jobs/has"
every = "1h"
secrets = { WORD = { credential = "gone" } }
"""


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with open_box(tmp_path_factory.mktemp("box"), user=USER) as box:
        box.sh(
            f"""
            cp /usr/bin/id /usr/local/bin/rooted && chmod u+s /usr/local/bin/rooted
            mkdir -p /srv/own /etc/ssh/ssh_config.d && chown {USER} /srv/own
            echo 'Host nobody' >/etc/ssh/ssh_config.d/of-the-test.conf
            """
        )
        yield box


def service_of(box: Box, *, is_system: bool) -> Iterator[Service]:
    service = Service(box, is_system=is_system)
    service.clear()
    yield service
    service.clear()


@pytest.fixture
def own(box: Box) -> Iterator[Service]:
    yield from service_of(box, is_system=False)


@pytest.fixture
def system(box: Box) -> Iterator[Service]:
    yield from service_of(box, is_system=True)


def found(service: Service) -> dict[str, bool]:
    """What the script could do."""
    lines = service.box.wait("cat", f"/home/{USER}/probe/found", until=lambda done: done.status == 0).out.splitlines()
    return {name: answer == "yes" for name, _, answer in (line.partition(": ") for line in lines)}


def print_score(service: Service) -> None:
    print(service.systemctl("--version").splitlines()[0])
    own = () if service.units.startswith("/etc") else ("as-user",)
    scope = () if not own else ("--user",)
    text = service.box.try_(*own, "systemd-analyze", *scope, "security", "--no-pager", UNIT).text
    print([line.strip() for line in text.splitlines() if "exposure level" in line])


def test_a_script_outside_of_the_service_can_do_nearly_all_of_it(own: Service) -> None:
    own.write(f"/home/{USER}/trial", SCRIPT, "755")
    own.box.as_user(f"/home/{USER}/trial")
    assert found(own) == OUTSIDE


def test_in_the_users_own_manager_every_line_holds_and_agents_can_work(own: Service) -> None:
    own.configure(JOB, probe=SCRIPT)
    own.run("install")
    assert found(own) == AT_HOME
    print_score(own)


def test_with_the_sandbox_nothing_outside_can_be_written_in_the_users_own_manager_either(own: Service) -> None:
    own.configure(JOB, probe=SCRIPT)
    own.drop_in((share("systemd") / "drop-ins" / "sandbox.conf").read_text(), "sandbox.conf")
    own.run("install")
    assert found(own) == SANDBOXED
    print_score(own)


@pytest.mark.parametrize("is_system", [False, True])
def test_with_the_drop_in_for_sudo_a_script_can_become_another_user(box: Box, *, is_system: bool) -> None:
    for service in service_of(box, is_system=is_system):
        service.configure(JOB, probe=SCRIPT)
        service.drop_in((share("systemd") / "drop-ins" / "sudo.conf").read_text(), "sudo.conf")
        service.run("install", *(("--as", USER) if is_system else ()))
        assert found(service)["become root by a program that may"]


def test_in_the_machines_manager_nothing_outside_the_home_can_be_written(system: Service) -> None:
    system.box.run("rm", "-f", "/tmp/of-the-probe")
    system.configure(JOB, probe=SCRIPT)
    system.run("install", "--as", USER)
    assert found(system) == CLOSED
    assert system.box.try_("ls", "/tmp/of-the-probe").status != 0, "its /tmp is its own"
    assert system.box.run("stat", "-c", "%U %a", system.state).split() == [USER, "700"]
    print_score(system)


def test_a_credential_is_had_by_the_daemon_alone_and_one_that_is_not_there_costs_only_itself(system: Service) -> None:
    system.configure(SECRET_JOB, has=WITH_SECRET)
    system.write("/etc/word.secret", SECRET + "\n", "600")
    system.write("/etc/gone.secret", SECRET + "\n", "600")
    system.run("install", "--as", USER)
    system.run("stop")
    system.box.run("rm", "-r", "/etc/gone.secret", f"/home/{USER}/probe", system.state)
    system.run("start")
    word = system.box.wait("cat", f"/home/{USER}/probe/secret", until=lambda done: bool(done.out))
    assert word.out.split()[0] == HASH
    assert system.box.try_as_user("cat", "/etc/word.secret").status != 0
    handed = f"/run/credentials/{UNIT}/word"
    assert system.box.run("cat", handed).strip() == SECRET
    system.box.run("useradd", "stranger")
    assert system.box.try_("runuser", "-u", "stranger", "--", "cat", handed).status != 0
    for text in (system.journal(), system.box.run("systemctl", "show", UNIT), system.run("runs", "--json")):
        assert SECRET not in text
    runs = json.loads(system.run("--json", "runs"))["data"]["runs"]
    assert {run["job"]: run["verdict"] for run in runs} == {"has": "quiet", "has-not": "failed"}


def test_the_machines_service_is_kept_running_told_of_and_removed_without_a_trace(box: Box, system: Service) -> None:
    before = box.run("find", "/etc/systemd", "/usr/lib/systemd/system", "-newer", "/etc/machine-id")
    system.configure()
    system.drop_in("[Service]\nRestartSec=100ms\nStartLimitBurst=2\n[Unit]\nStartLimitBurst=2\n")
    system.run("install", "--as", USER)
    facts = system.facts()
    assert (facts["User"], facts["UnitFileState"], facts["ActiveState"]) == (USER, "enabled", "active")
    system.write(
        "/etc/heartbeat/config.toml",
        system.read("/etc/heartbeat/config.toml").replace('"told.md"', f'"/home/{USER}/told.md"'),
    )
    for number in range(2):
        system.wait(lambda facts, number=number: is_up(facts) and facts["NRestarts"] == str(number))  # type: ignore[misc]
        system.kill("KILL")
    system.wait(lambda facts: facts["ActiveState"] == "failed")
    told = box.wait("cat", f"/home/{USER}/told.md", until=lambda done: "is down on" in done.out).out
    assert "it was killed by KILL" in told
    assert system.try_("restart").status == 0
    began = time.monotonic()
    system.run("uninstall")
    assert time.monotonic() - began < 8
    box.run("rm", "-r", f"{system.units}/{UNIT}.d")
    assert box.run("find", "/etc/systemd", "/usr/lib/systemd/system", "-newer", "/etc/machine-id") == before
    assert system.facts()["LoadState"] == "not-found"


def test_only_root_may_change_the_service_of_the_machine(box: Box, system: Service) -> None:
    system.configure()
    refused = box.try_as_user("heartbeat", "install", "--system", "--as", USER)
    assert refused.status != 0
    assert "sudo" in refused.text
    assert system.facts()["LoadState"] == "not-found"
