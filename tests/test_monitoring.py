"""The examples of docs/monitoring.md, each run as it is shown, with no more than what cron gives."""

from __future__ import annotations

import os
import plistlib
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psutil
import pytest

from tests.conftest import COMMAND
from tests.servers import until
from tests.service.plist_check import check
from tests.test_documents import ROOT, fenced_blocks

EXAMPLES = {
    option.removeprefix("example="): "\n".join(body) + "\n"
    for _, info, body in fenced_blocks((ROOT / "docs/monitoring.md").read_text())
    for option in info.split()
    if option.startswith("example=")
}
TOKEN = "s3cret-token"
CONFIG = '[brief]\nat = "off"\n[channels.diary]\nkind = "file"\npath = "diary.md"\n'
needs_curl = pytest.mark.skipif(not shutil.which("curl") and "CI" not in os.environ, reason="curl is not installed")


@dataclass(frozen=True, slots=True)
class Push:
    """A request, and whether its address could be read in the list of processes meanwhile."""

    path: str
    body: str
    was_seen: bool

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.path).query)


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_GET(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        seen = any(
            TOKEN in word for process in psutil.process_iter(["cmdline"]) for word in process.info["cmdline"] or ()
        )
        self.server.pushes.append(Push(self.path, body, seen))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"OK")

    def log_message(self, *_: object) -> None:
        pass


class Receiver(ThreadingHTTPServer):
    """A service that is pushed to."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.pushes: list[Push] = []

    @contextmanager
    def running(self) -> Iterator[Receiver]:
        thread = threading.Thread(target=self.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield self
        finally:
            self.shutdown()
            self.server_close()
            thread.join()


class User:
    """Somebody's home folder with an installed heartbeat, and no more of an environment than cron gives."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.bin = home / ".local/bin"
        self.bin.mkdir(parents=True)
        (self.bin / "heartbeat").symlink_to(COMMAND)
        self.config = home / ".config/heartbeat"
        self.config.mkdir(parents=True)
        (self.config / "config.toml").write_text(CONFIG)
        self._daemon: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.home), "LOGNAME": "ann", "SHELL": "/bin/sh", "PATH": "/usr/bin:/bin"}

    def sh(self, text: str) -> subprocess.CompletedProcess[str]:
        """What cron does with a command."""
        return subprocess.run(
            ["/bin/sh", "-c", text],
            cwd=self.home,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def script(self, example: str) -> subprocess.CompletedProcess[str]:
        path = self.home / example
        path.write_text(EXAMPLES[example])
        path.chmod(0o755)
        return self.sh(f'"$HOME/{example}"')

    def secret(self, name: str, text: str) -> None:
        path = self.home / name
        path.write_text(text + "\n")
        path.chmod(0o600)

    def start(self) -> None:
        """Returns when it beats."""
        self._daemon = subprocess.Popen(
            [str(self.bin / "heartbeat"), "run"], env=self.environment, cwd=self.home, stderr=subprocess.DEVNULL
        )
        until(lambda: self.sh(".local/bin/heartbeat health").stdout.startswith(("up", "degraded")))

    def kill(self) -> None:
        if self._daemon is not None:
            self._daemon.kill()
            self._daemon.wait()
            self._daemon = None


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    made = User(tmp_path / "ann")
    yield made
    made.kill()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver().running() as running:
        yield running


def of_cron(line: str) -> str:
    """The command of a line of a crontab, which runs every minute."""
    found = re.fullmatch(r"\* \* \* \* \* ([^%]+)\n", line)  # cron makes a line end of a %
    assert found, line
    return found[1]


def test_the_page_has_the_examples_that_are_run_here() -> None:
    assert set(EXAMPLES) == {
        *("watch.cron", "kuma-push", "healthchecks-ping", "ask", "prometheus.cron"),
        *("nrpe.cfg", "sudoers", "watch-timer", "share"),
    }


def test_by_cron_it_prints_nothing_and_tells_when_heartbeat_is_down(user: User) -> None:
    command = of_cron(EXAMPLES["watch.cron"])
    user.start()
    ended = user.sh(command)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert not (user.config / "diary.md").exists()
    user.kill()
    (user.home / ".local/state/heartbeat/watch").unlink()  # what is seen for the first time needs no second round
    for _ in range(2):
        ended = user.sh(command)
        assert (ended.returncode, ended.stdout, ended.stderr) == (1, "", "")
    assert (user.config / "diary.md").read_text().count("heartbeat is down since") == 2  # title, and text


@needs_curl
def test_uptime_kuma_is_told_up_while_it_is_and_down_when_it_is_not(user: User, receiver: Receiver) -> None:
    user.secret(".kuma-push", f"http://127.0.0.1:{receiver.server_port}/api/push/{TOKEN}")
    user.start()
    assert user.script("kuma-push").returncode == 0
    user.kill()
    assert user.script("kuma-push").returncode == 0
    (user.bin / "heartbeat").unlink()
    assert user.script("kuma-push").returncode == 0
    assert [urlsplit(push.path).path for push in receiver.pushes] == [f"/api/push/{TOKEN}"] * 3
    assert [push.query["status"] for push in receiver.pushes] == [["up"], ["down"], ["down"]]
    up, down, gone = (push.query["msg"][0] for push in receiver.pushes)
    assert up == "OK"
    assert down.startswith("heartbeat: down: ")
    assert len(down) <= 250
    assert "not found" in gone
    assert not any(push.was_seen for push in receiver.pushes)


@needs_curl
def test_healthchecks_is_pinged_while_it_is_up_and_told_of_a_failure_at_once(user: User, receiver: Receiver) -> None:
    user.secret(".healthchecks-ping", f"http://127.0.0.1:{receiver.server_port}/{TOKEN}")
    user.start()
    assert user.script("healthchecks-ping").returncode == 0
    user.kill()
    assert user.script("healthchecks-ping").returncode == 0
    (user.bin / "heartbeat").unlink()
    assert user.script("healthchecks-ping").returncode == 0
    up, down, gone = receiver.pushes
    assert (up.path, up.body) == (f"/{TOKEN}", "")
    assert (down.path, down.body[:17]) == (f"/{TOKEN}/fail", "heartbeat: down: ")
    assert gone.path == f"/{TOKEN}/fail"
    assert not any(push.was_seen for push in receiver.pushes)


@needs_curl
@pytest.mark.parametrize(
    ("example", "secret"), [("kuma-push", ".kuma-push"), ("healthchecks-ping", ".healthchecks-ping")]
)
def test_a_service_that_cannot_be_reached_is_an_error_that_cron_mails(user: User, example: str, secret: str) -> None:
    user.secret(secret, "http://127.0.0.1:1/x")
    ended = user.script(example)
    assert ended.returncode != 0
    assert "curl: (7)" in ended.stderr


def test_a_script_goes_by_the_exit_status(user: User) -> None:
    user.start()
    assert user.sh(EXAMPLES["ask"]).stdout == ""
    user.kill()
    assert user.sh(EXAMPLES["ask"]).stdout.startswith("look into this: heartbeat: down: ")


def test_nagios_gets_its_line_and_its_status(user: User) -> None:
    found = re.fullmatch(r"command\[check_heartbeat\]=sudo -n -H -u ME /home/ME(/.*)\n", EXAMPLES["nrpe.cfg"])
    assert found
    # Exactly that is what sudo permits: anything else it refuses.
    assert EXAMPLES["sudoers"] == f"nrpe ALL=(ME) NOPASSWD: /home/ME{found[1]}\n"
    user.start()
    ended = user.sh(f"{user.home}{found[1]}")
    assert (ended.returncode, ended.stdout.count("\n")) in {(0, 1), (1, 1)}
    assert ended.stdout.startswith(("HEARTBEAT OK - ", "HEARTBEAT WARNING - "))
    user.kill()
    ended = user.sh(f"{user.home}{found[1]}")
    assert (ended.returncode, ended.stdout[:21]) == (2, "HEARTBEAT CRITICAL - ")


def test_prometheus_finds_a_whole_file_whatever_the_state(user: User) -> None:
    command = of_cron(EXAMPLES["prometheus.cron"]).replace("/var/lib/node_exporter", str(user.home))
    user.start()
    for live in (1, 0):
        ended = user.sh(command)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
        assert f'\nheartbeat_live{{target="heartbeat"}} {live}' in (user.home / "heartbeat.prom").read_text()
        user.kill()


# The files of systemd and launchd


def test_systemd_takes_the_timer_and_its_service_without_a_word(tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    service = (ROOT / "systemd/heartbeat-watch.service").read_text()
    example = "ExecStart=%h/.local/bin/heartbeat watch\n"
    assert service.count(example) == 1
    user = User(tmp_path)
    units = [tmp_path / "heartbeat-watch.service", tmp_path / "heartbeat-watch.timer"]
    units[0].write_text(service)
    units[1].write_text((ROOT / "systemd/heartbeat-watch.timer").read_text())
    (tmp_path / "run").mkdir(mode=0o700)
    said = subprocess.run(
        ["systemd-analyze", "--user", "verify", *units],
        env={**user.environment, "XDG_RUNTIME_DIR": str(tmp_path / "run")},
        capture_output=True,
        text=True,
        check=False,
    )
    if "Failed to initialize manager" in said.stderr:
        pytest.skip("systemd-analyze cannot look at the units of a user here")
    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")


def test_the_timer_starts_the_command_that_the_shell_finds(user: User) -> None:
    own = user.home / "venv/bin"
    own.mkdir(parents=True)
    (user.bin / "heartbeat").rename(own / "heartbeat")
    done = user.sh(f'cd {ROOT} && PATH="{own}:$PATH"\n{EXAMPLES["watch-timer"]}')
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    units = user.home / ".config/systemd/user"
    assert {unit.name for unit in units.iterdir()} == {"heartbeat-watch.service", "heartbeat-watch.timer"}
    lines = (units / "heartbeat-watch.service").read_text().splitlines()
    assert [line for line in lines if line.startswith("ExecStart=")] == [f"ExecStart={own}/heartbeat watch"]


def test_the_folder_of_the_units_is_found_from_the_command(user: User) -> None:
    done = user.sh(f'PATH="{user.bin}:$PATH"\n{EXAMPLES["share"]}')
    assert (done.returncode, done.stderr) == (0, "")
    assert (Path(done.stdout.strip()) / "heartbeat-watch.timer").is_file()


@pytest.mark.parametrize("name", ["heartbeat-watch.service", "heartbeat-watch.timer"])
def test_every_line_of_the_units_has_its_reason(name: str) -> None:
    lines = (ROOT / "systemd" / name).read_text().splitlines()
    for above, line in pairwise(lines):
        if re.match(r"\w+=", line) and not line.startswith(("Description=", "WantedBy=")):
            assert above.startswith("# "), line


def test_launchd_takes_the_property_list(tmp_path: Path) -> None:
    file = tmp_path / "local.heartbeat-watch.plist"
    shutil.copy(ROOT / "launchd/heartbeat-watch.plist", file)
    errors, warnings = check(file)
    assert errors == []
    assert all(warning.startswith(("StandardOutPath", "StandardErrorPath")) for warning in warnings), warnings
    plist = plistlib.loads(file.read_bytes())
    assert plist["Label"] == file.stem
    assert plist["ProgramArguments"] == ["/Users/YOU/.local/bin/heartbeat", "watch"]
    assert (plist["StartInterval"], "KeepAlive" in plist) == (60, False)
