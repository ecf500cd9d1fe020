"""launchd jobs that restart the subject, from what `launchctl` prints in reports of users."""

from __future__ import annotations

from pathlib import Path

import pytest

from heartbeat.probe.restarters import Restarter, Subject, find_restarters
from heartbeat.probe.restarters.jobs import read_job, read_labels
from heartbeat.probe.restarters.launchd import judge_job
from tests.probe.restarters.subjects import HOME, hermes, ours, script, search_for

DOMAIN = "gui/501"
KICK = "/bin/sh\n-c\nlaunchctl kickstart -k gui/501/local.heartbeat; sleep 20"
SUBMITTED, AGENT = "(submitted by launchctl[6746])", "/Users/ann/Library/LaunchAgents/x.plist"


def printed(
    label: str, argv: str, path: str = SUBMITTED, *, properties: str = "keepalive | inferred program", more: str = ""
) -> str:
    """What `launchctl print gui/501/LABEL` says."""
    words = argv.split("\n")
    lines = (
        f"{DOMAIN}/{label} = {{",
        "\tactive count = 1",
        f"\tpath = {path}",
        f"\ttype = {'Submitted' if path == SUBMITTED else 'LaunchAgent'}",
        "\tstate = running",
        "",
        f"\tprogram = {words[0]}",
        "\targuments = {",
        *(f"\t\t{word}" for word in words),
        "\t}",
        "",
        "\tinherited environment = {",
        "\t\tSSH_AUTH_SOCK => /x",
        "\t}",
        "",
        "\tenvironment = {",
        f"\t\tXPC_SERVICE_NAME => {label}",
        *more.splitlines(),
        "\t}",
        "",
        "\tdomain = gui/501 [100006]",
        "\tminimum runtime = 10",
        "\truns = 1",
        "\tpid = 58309",
        "\tlast exit code = 0",
        "",
        f"\tproperties = {properties}",
        "}",
        "",
    )
    return "\n".join(lines)


def judged(label: str, text: str, subject: Subject | None = None) -> Restarter | None:
    search = search_for(subject or ours(user=""))
    return judge_job(search, DOMAIN, label, read_job(text))


GUILTY = [
    ("a.kick", KICK, SUBMITTED, "submitted"),
    ("local.heartbeat.update", "/usr/bin/true", SUBMITTED, "submitted"),
    ("local.heartbeat-restarter", "/usr/bin/true", AGENT, "named"),
    ("b.kick", KICK, AGENT, "launchd"),
    ("c.again", "/opt/x/bin/heartbeat\nrun", AGENT, "second_supervisor"),
    ("d.python", "/usr/bin/python3\n-P\n-m\nheartbeat\nrun", AGENT, "second_supervisor"),
]


@pytest.mark.parametrize(("label", "argv", "path", "kind"), GUILTY)
def test_a_job_that_restarts_us_is_named_with_what_removes_it(label: str, argv: str, path: str, kind: str) -> None:
    found = judged(label, printed(label, argv, path))
    assert found is not None
    assert (found.kind, found.name) == (kind, label)
    removed = f"launchctl bootout gui/501/{label}"
    assert found.remedy == (removed if path == SUBMITTED else f"launchctl disable gui/501/{label} && {removed}")
    assert label in found.message


TIMED = """\t}
\tevent triggers = {
\t\tx.268435470 => {
\t\t\tkeepalive = 0
\t\t\tstream = com.apple.launchd.calendarinterval
\t\t\tdescriptor = {
\t\t\t\t"Minute" => 0
\t\t\t}
\t\t}
\t}
\tx = {"""


@pytest.mark.parametrize(
    ("properties", "more", "is_named"),
    [
        ("inferred program", "", False),  # once, at the login
        ("runatload | inferred program", "", False),
        ("keepalive", "", True),
        ("inferred program", "\t}\n\trun interval = 20 seconds\n\tx = {\n", True),
        ("", TIMED, True),
    ],
)
def test_a_job_that_runs_once_is_no_loop(properties: str, more: str, is_named: bool) -> None:
    text = printed("x", KICK, AGENT, properties=properties, more=more)
    assert (judged("x", text) is not None) is is_named


INNOCENT = [
    ("a.status", "/bin/sh\n-c\nlaunchctl print gui/501/local.heartbeat", SUBMITTED),
    ("b.start", "launchctl\nkickstart\ngui/501/local.heartbeat", AGENT),
    ("c.health", "/opt/x/bin/heartbeat\nhealth\n--assert-live", AGENT),
    ("d.other", "launchctl\nkickstart\n-k\ngui/501/local.heartbeat-other", SUBMITTED),
    ("com.personacore.caffeinate", "/usr/bin/caffeinate\n-ims", SUBMITTED),
    ("my-local.heartbea", "/usr/bin/true", SUBMITTED),
]


@pytest.mark.parametrize(("label", "argv", "path"), INNOCENT)
def test_a_job_that_does_not_is_not_accused(label: str, argv: str, path: str) -> None:
    assert judged(label, printed(label, argv, path)) is None


def test_the_daemon_of_another_home_is_no_second_supervisor() -> None:
    text = printed(
        "local.heartbeat-other", "/opt/x/bin/heartbeat\nrun", AGENT, more="\t\tHEARTBEAT_HOME => /srv/other\n"
    )
    assert judged("local.heartbeat-other", text) is None
    same = text.replace("/srv/other", HOME)
    found = judged("local.heartbeat-other", same)
    assert found is not None
    assert found.kind == "second_supervisor"


def test_the_restarter_of_another_daemon_is_known_by_its_name() -> None:
    label = "ai.hermes.gateway-restarter"
    found = judged(label, printed(label, "/bin/sh\n-c\nsleep 5"), hermes())
    assert found is not None
    assert (found.kind, found.remedy) == ("named", f"launchctl bootout gui/501/{label}")


@pytest.mark.parametrize(
    "text", ["", "\n", "}", "x = {", "x = {\n\targuments = {\n", "x = {\n" + "\ta = {\n" * 50, "\0"]
)
def test_nonsense_is_no_job_and_no_fault(text: str) -> None:
    assert judged("x", text) is None
    assert isinstance(read_labels(text), list)


LIST = (
    "PID\tStatus\tLabel\n-\t0\tcom.apple.mdworker\n58309\t0\tai.hermes.gateway-restarter\n-\t-9\ta.kick\n"
    "-\t0\tlocal.heartbeat\n"
)
PRINTED = (
    "gui/501 = {\n\ttype = login\n\tactive count = 432\n\tservices = {\n\t\t       0      - \tcom.apple.x\n"
    "\t\t   58309      0 \tai.hermes.gateway-restarter\n\t}\n\n\tunmanaged processes = {\n\t\tcom.apple.xpc = {\n"
    "\t\t\tactive count = 5\n\t\t}\n\t}\n}\n"
)


def test_labels_are_read_whole_from_both_lists() -> None:
    assert read_labels(LIST) == ["com.apple.mdworker", "ai.hermes.gateway-restarter", "a.kick", "local.heartbeat"]
    assert read_labels(PRINTED) == ["com.apple.x", "ai.hermes.gateway-restarter"]


LAUNCHCTL = """#!/bin/sh
case "$1 $2" in
    list*) cat {folder}/list ;;
    print\\ gui/*/a.kick) cat {folder}/kick ;;
    print\\ user/*/ai.hermes.gateway-restarter) cat {folder}/restarter ;;
    print\\ gui/*/*|print\\ user/*/*) echo 'Could not find service "x" in domain for user' >&2; exit 113 ;;
    print\\ gui/*) cat {folder}/domain ;;
    *) echo 'Could not find domain' >&2; exit 125 ;;
esac
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with the tools of a Mac, whose launchd has these jobs."""
    texts = {
        "list": LIST,
        "domain": PRINTED,
        "kick": printed("a.kick", KICK),
        "restarter": printed("ai.hermes.gateway-restarter", "/bin/sh\n-c\nsleep 5"),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    script(tmp_path, "launchctl", LAUNCHCTL.format(folder=tmp_path))
    script(tmp_path, "systemctl", "#!/bin/sh\nexit 1\n")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("HEARTBEAT_LAUNCHCTL", f"{tmp_path}/launchctl")
    return tmp_path


def test_the_jobs_of_every_domain_are_looked_at(folder: Path) -> None:
    found = find_restarters(ours(user="")).restarters
    assert [(each.kind, each.name) for each in found] == [("submitted", "a.kick")]
    found = find_restarters(hermes()).restarters
    assert [(each.kind, each.name) for each in found] == [("named", "ai.hermes.gateway-restarter")]
    assert found[0].remedy.startswith("launchctl bootout user/")


def test_a_launchd_that_does_not_answer_is_told(folder: Path) -> None:
    script(folder, "launchctl", "#!/bin/sh\necho 'Not privileged' >&2\nexit 1\n")
    found = find_restarters(ours(user=""))
    assert [message for _, message in found.faults] == ["cannot look for restarters in launchd: Not privileged"]
    assert found.restarters == ()
