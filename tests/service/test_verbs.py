"""The verbs of the service: what each does, refuses, prints and ends with, whoever the supervisor is.

Under systemd and under launchd they are tested by test_systemd and test_launchd_life, among the slow tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from heartbeat import folders, service
from heartbeat.config import Settings
from heartbeat.errors import Refused, ServiceError
from heartbeat.lock import KernelLock
from heartbeat.marker import Marker, read_intent, read_marker, write_marker
from heartbeat.paths import Home
from heartbeat.process import is_alive, owner
from heartbeat.service import Standing, hand, planning
from heartbeat.service.asking import who_asks
from tests.conftest import Place
from tests.service.kept import Kept

BROKEN = '[jobs.check]\nevery = "never"\n'
VERBS = ["install", "uninstall", "start", "stop", "restart", "status", "logs"]
CHANGING = ["start", "stop", "restart", "uninstall"]


@pytest.fixture(autouse=True)
def _heartbeat_lies_where_nothing_is_cleared_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever this checkout does."""
    monkeypatch.setattr(planning, "_FLEETING", ())


@pytest.fixture
def keeper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kept:
    """The supervisor of this host."""
    folder = tmp_path / "supervisor"
    folder.mkdir()
    kept, other = Kept(folder), Kept(folder)
    other.kind, other.system, other.reason = "launchd", "darwin", "this is not macOS"
    monkeypatch.setattr(service, "_candidates", lambda environ: (other, kept))
    monkeypatch.setattr("os.geteuid", lambda: 1000)  # root is told more
    return kept


@pytest.fixture
def nobody(keeper: Kept) -> Kept:
    """A host without a supervisor."""
    keeper.reason = "systemd does not run this machine"
    return keeper


@pytest.fixture
def by_hand(place: Place) -> Iterator[int]:
    """A daemon that was started by hand: whoever holds the lock; it is this process."""
    lock = KernelLock(place.state / "daemon.lock")
    assert lock.acquire(owner())
    yield os.getpid()
    lock.release()


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The folders of the machine's installation are elsewhere."""
    found = str(tmp_path / "etc"), str(tmp_path / "lib"), str(tmp_path / "cache")
    home = Home(*map(Path, found))
    monkeypatch.setattr(folders, "SYSTEM", found)
    monkeypatch.setattr(planning, "SYSTEM", home)
    return home


def marker_of(place: Place) -> Marker | None:
    return read_marker(place.state / "service")


# Installing


def test_install_writes_a_marker_says_what_it_did_and_where_the_log_is(place: Place, keeper: Kept) -> None:
    done = place.call("install")
    assert (done.status, done.err) == (0, "")
    name = keeper.given.name
    command = f"printf '%s\\n' 'the last 50 lines of {name}' 'and more'"
    assert done.out.splitlines() == [
        f"installed {name}",
        f"its log: `heartbeat --home {place.folder} logs -f`, which is `{command}`",
        f"is it well: `heartbeat --home {place.folder} status`",
    ]
    assert marker_of(place) == Marker("systemd", f"{name}.service", "user", keeper.given.version)
    assert keeper.asked == [("install", "install")]


def test_install_may_be_repeated(place: Place, keeper: Kept) -> None:
    first, second = place.data("install"), place.data("install")
    assert first == second
    assert first["unit"] == f"{first['name']}.service"
    assert [verb for verb, _ in keeper.asked] == ["install", "install"]


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
def test_a_broken_configuration_installs_nothing(place: Place, keeper: Kept, options: tuple[str, ...]) -> None:
    place.configure(BROKEN)
    assert "jobs.check" in place.error("install", *options, status=4)
    assert (keeper.asked, place.state.exists(), list(keeper.folder.iterdir())) == ([], False, [])


def test_what_check_finds_keeps_from_installing_as_well(place: Place, keeper: Kept) -> None:
    place.configure('[agent]\nkind = "command"\ncommand = ["/no/such/agent"]\n')
    assert "/no/such/agent" in place.error("install", status=4)
    assert keeper.asked == []


def test_a_dry_run_prints_each_file_with_its_path_and_does_nothing(place: Place, keeper: Kept) -> None:
    done = place.call("install", "--dry-run")
    path, start, search, *_ = done.out.splitlines()
    assert path.startswith(f"# {keeper.folder}/heartbeat-home-")
    assert start == f"ExecStart={sys.executable} -P -m heartbeat run"
    assert search.startswith("PATH=")
    ((file, text),) = place.data("install", "--dry-run")["files"].items()
    assert (f"# {file}", text.splitlines()[0]) == (path, start)
    assert (keeper.asked, place.state.exists(), list(keeper.folder.iterdir())) == ([], False, [])


def test_a_dry_run_shows_the_files_also_where_no_supervisor_runs(place: Place, nobody: Kept) -> None:
    done = place.call("install", "--dry-run")
    assert done.status == 0
    assert "ExecStart=" in done.out
    assert "# but: not here: systemd: systemd does not run this machine" in done.out


def test_a_secret_that_only_this_shell_has_is_told(place: Place, keeper: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    place.configure('[jobs.check]\nevery = "10m"\nsecrets = { TOKEN = { env = "ONLY_HERE" } }\n')
    monkeypatch.setattr(
        place, "environment", lambda **more: Place.environment(place, ONLY_HERE="hunter2-hunter2", **more)
    )
    (hint,) = place.data("install")["hints"]
    assert hint.startswith("jobs.check.secrets.TOKEN: the service cannot find the variable ONLY_HERE")
    assert "hunter2" not in hint


def test_an_installation_that_failed_half_way_is_known_as_one(place: Place, keeper: Kept) -> None:
    keeper.fails = "install"
    assert "ended with status 1" in place.error("install", status=1)
    assert marker_of(place) is None, "nothing is there"
    keeper.fails = ""
    place.data("install")
    keeper.fails = "install"
    place.error("install", status=1)
    assert marker_of(place) is not None, "its unit is there, and so is the way to remove it"


def test_a_daemon_that_was_started_by_hand_is_in_the_way(place: Place, keeper: Kept, by_hand: int) -> None:
    for verb in ("install", "start", "restart"):
        if verb != "install":
            write_marker(place.state / "service", Marker("systemd", "u", "user", "1"))
        said = place.error(verb, status=5)
        assert f"process {by_hand} runs heartbeat" in said
        assert f"`heartbeat --home {place.folder} stop` ends it" in said
    assert keeper.asked == []


def test_the_services_own_daemon_is_not_in_its_way(place: Place, keeper: Kept, by_hand: int) -> None:
    keeper.pid = by_hand + 1
    home = Home(place.folder, place.state, place.folder / "cache")
    keeper.put(planning.make_plan(home, Settings(), {}, scope="user"), "running")
    assert "outside the service" in place.error("start", status=5)
    keeper.pid = by_hand
    assert place.call("start").status == 0


# Where there is no supervisor, or nothing installed


def test_without_a_supervisor_install_gives_the_reasons_and_the_other_way(place: Place, nobody: Kept) -> None:
    said = place.error("install", status=5)
    assert "cannot install: systemd: systemd does not run this machine" in said, "that this is no Mac is no news"
    assert f"`heartbeat --home {place.folder} run --detach`" in said
    assert marker_of(place) is None


@pytest.mark.parametrize("verb", ["start", "restart", "logs"])
def test_what_needs_a_service_says_how_there_would_be_one(place: Place, keeper: Kept, verb: str) -> None:
    said = place.error(verb, status=3)
    assert "`heartbeat --home" in said
    assert "install` makes it a service" in said
    assert "run --detach` runs it without one" in said
    assert keeper.asked == []


@pytest.mark.parametrize("verb", ["start", "restart"])
def test_a_daemon_without_a_supervisor_cannot_be_started_again(
    place: Place, keeper: Kept, by_hand: int, verb: str
) -> None:
    assert f"cannot {verb} process {by_hand}: no supervisor keeps it" in place.error(verb, status=5)


@pytest.mark.parametrize(("verb", "status"), [("stop", 0), ("uninstall", 0), ("status", 3)])
def test_what_is_not_there_is_stopped_and_uninstalled_already(
    place: Place, keeper: Kept, verb: str, status: int
) -> None:
    assert place.call(verb).status == status
    assert keeper.asked == []
    assert not place.state.exists()


# Starting and stopping


@pytest.mark.parametrize("verb", ["start", "stop", "restart"])
def test_who_asks_is_written_down_before_anything_happens(place: Place, keeper: Kept, verb: str) -> None:
    place.data("install")
    for _ in range(2):
        assert place.data(verb)["did"] == [f"{verb}: {keeper.given.name}"]
    assert keeper.asked[1:] == [(verb, verb)] * 2
    word, by = read_intent(place.state / "intent", (place.state / "intent").stat().st_mtime + 1)
    assert word == verb
    assert by.startswith(f"heartbeat {verb} by ")


@pytest.mark.parametrize("verb", ["start", "restart"])
def test_a_configuration_that_run_would_refuse_is_told_before_anything_stops(
    place: Place, keeper: Kept, verb: str
) -> None:
    place.data("install")
    place.configure(BROKEN)
    assert "jobs.check" in place.error(verb, status=4)
    assert [asked for asked, _ in keeper.asked] == ["install"]


def test_a_refused_restart_says_that_the_daemon_goes_on(place: Place, keeper: Kept) -> None:
    place.data("install")
    place.configure(BROKEN)
    assert place.error("start", status=4).endswith("\nnothing was started")
    lock = KernelLock(place.state / "daemon.lock")
    assert lock.acquire(owner())
    keeper.pid = os.getpid()
    for verb in ("restart", "reload"):
        assert place.error(verb, status=4).endswith(f"\nprocess {os.getpid()} goes on with the configuration it has")
    lock.release()


def test_a_supervisors_commands_are_those_of_this_installation(
    place: Place, keeper: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.data("install")
    monkeypatch.setattr(keeper, "start", lambda plan: ("it is starting; `heartbeat status` says how far it is",))
    assert f"`heartbeat --home {place.folder} status`" in place.call("start").out
    keeper.fails = "restart"
    monkeypatch.setattr(keeper, "restart", lambda plan: (_ for _ in ()).throw(ServiceError("no; `heartbeat logs`")))
    assert place.error("restart", status=1) == f"no; `heartbeat --home {place.folder} logs`"


@pytest.mark.parametrize("verb", ["stop", "uninstall", "status"])
def test_a_broken_configuration_keeps_nobody_from_stopping(place: Place, keeper: Kept, verb: str) -> None:
    place.data("install")
    place.configure(BROKEN)
    assert place.call(verb).status == 0


def test_a_service_whose_supervisor_is_gone_is_not_taken_for_none(place: Place, keeper: Kept) -> None:
    place.data("install")
    keeper.reason = "systemd does not run this machine"
    for verb in CHANGING:
        assert "systemd does not run this machine" in place.error(verb, status=5)
    assert place.data("status", status=1)["service"]["state"] == "unknown"


def test_a_service_is_found_also_when_its_marker_was_lost(place: Place, keeper: Kept) -> None:
    place.data("install")
    (place.state / "service").unlink()
    assert place.call("status").status == 0
    assert place.data("stop")["did"]
    assert place.data("uninstall")["did"]
    assert keeper.asked[-1][0] == "uninstall"


def test_uninstall_leaves_configuration_and_ledger_and_says_how_to_remove_them(place: Place, keeper: Kept) -> None:
    place.data("install")
    place.file("state/ledger.db", "")
    done = place.call("uninstall")
    assert done.out.splitlines()[-1] == f"configuration and ledger stay; `rm -r {place.folder}` removes them"
    assert (marker_of(place), (place.state / "intent").exists()) == (None, False)
    assert (place.folder / "config.toml").exists()
    assert (place.state / "ledger.db").exists()
    assert place.data("uninstall") == {**place.data("uninstall"), "did": [], "kept": [str(place.folder)]}


def test_uninstall_takes_the_evidence_away_so_that_nothing_is_called_down(place: Place, keeper: Kept) -> None:
    place.data("install")
    traces = ("pulse", "starts.log", "inside.json", "crash.txt", "crash.last.txt", "daemon.lock")
    kept = ("ledger.db", "heartbeat.log", "watch")
    for name in (*traces, *kept):
        place.file(f"state/{name}", "")
    out = place.call("uninstall").out
    gone = ("pulse", "starts.log", "inside.json", "crash.txt", "crash.last.txt", "daemon.lock")
    assert f"removed what it left in {place.state} as evidence: {', '.join(gone)}\n" in out
    assert sorted(file.name for file in place.state.iterdir()) == sorted(kept)
    assert place.data("health")["state"] == "absent"


def test_uninstall_leaves_the_evidence_of_a_daemon_that_goes_on(place: Place, keeper: Kept, by_hand: int) -> None:
    place.file("state/pulse", "")
    assert f"process {by_hand} goes on" in place.call("uninstall").out
    assert (place.state / "pulse").exists()
    assert (place.state / "daemon.lock").exists()


# A unit that the owner wrote


@pytest.fixture
def own_unit(place: Place, keeper: Kept, by_hand: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """The daemon runs as `mine.service`, and nothing was installed."""
    monkeypatch.setattr("heartbeat.cli.supervised.find_own_unit", lambda pid, environ: ("mine", "user"))
    home = Home(place.folder, place.state, place.folder / "cache")
    keeper.put(replace(planning.make_plan(home, Settings(), {}, scope="user"), name="mine"), "running")
    keeper.pid = by_hand
    return "mine"


def test_the_verbs_use_a_unit_of_the_owners_own(place: Place, keeper: Kept, own_unit: str) -> None:
    done = place.call("status")
    assert (done.status, done.out.splitlines()[0]) == (
        0,
        f"mine: running (process {keeper.pid}, a unit of your own)",
    )
    assert place.data("logs", "-n", "3")["lines"] == ["the last 3 lines of mine"]
    for verb in ("restart", "start"):
        assert place.data(verb) == {**place.data(verb), "name": "mine", "did": [f"{verb}: mine"]}
    assert keeper.given.is_owners
    assert marker_of(place) is None


def test_installing_beside_a_unit_of_the_owners_own_is_refused_with_the_command_that_takes_it_away(
    place: Place, keeper: Kept, own_unit: str
) -> None:
    assert "as mine.service, a unit of your own; `systemctl --user disable --now mine` takes it away" in place.error(
        "install", status=5
    )
    assert keeper.asked == []


# Status


@pytest.mark.parametrize(
    ("state", "status"),
    [("running", 0), ("starting", 1), ("stopped", 1), ("failed", 1), ("unknown", 1), ("not installed", 3)],
)
def test_the_exit_status_of_status_is_that_of_the_service(place: Place, keeper: Kept, state: str, status: int) -> None:
    name = place.data("install")["name"]
    keeper.put(keeper.given, state)
    assert f"{name}: {state}" in place.call("status").out
    told = place.data("status", status=status)
    assert told["service"]["state"] == state
    assert told["health"]["state"] in ("down", "absent", "stalled")


def test_status_shows_what_cannot_be_asked_as_unknown(place: Place, keeper: Kept) -> None:
    place.data("install")
    keeper.fails = "status"
    told = place.data("status", status=1)["service"]
    assert (told["state"], told["detail"]) == ("unknown", "cannot ask the supervisor: it is busy; try again")


@pytest.mark.parametrize(
    ("standing", "said"),
    [
        (Standing("running", restarts=1, enabled=True), "running (restarted 1 time, comes up by itself)"),
        (Standing("running", restarts=2, enabled=False), "running (restarted 2 times, does not come up by itself)"),
        (Standing("failed", enabled=True), "failed (comes up again with the next boot or login)"),
        (Standing("stopped", enabled=False), "stopped (does not come up by itself)"),
        (Standing("not installed", enabled=False), "not installed"),
    ],
)
def test_status_says_when_it_comes_up(
    place: Place, keeper: Kept, monkeypatch: pytest.MonkeyPatch, standing: Standing, said: str
) -> None:
    place.data("install")
    monkeypatch.setattr(keeper, "status", lambda plan: standing)
    assert place.call("status").out.splitlines()[0] == f"{keeper.given.name}: {said}"


def test_a_service_that_waits_to_be_restarted_is_no_process_without_a_supervisor(place: Place, keeper: Kept) -> None:
    place.data("install")
    keeper.put(keeper.given, "starting")
    assert "without a supervisor" not in place.call("status").out


# Logs: run in a process of its own, for it becomes the program that shows them


def test_the_log_of_a_daemon_that_was_detached_is_shown_from_its_end(place: Place) -> None:
    place.file("state/heartbeat.log", "".join(f"line {number}\n" for number in range(200)))
    assert place.run("logs", "-n", "2").out == "line 198\nline 199\n"
    assert len(place.run("logs").out.splitlines()) == 50
    assert place.data("logs", "-n", "1")["lines"] == ["line 199"]


def test_the_log_is_followed_as_it_is_written(place: Place) -> None:
    log = place.file("state/heartbeat.log", "before\n")
    with place.start("logs", "-f") as following:
        assert following.stdout is not None
        assert following.stdout.readline() == b"before\n"
        with log.open("a") as file:
            file.write("after\n")
        assert following.stdout.readline() == b"after\n"
        following.kill()


def test_the_services_log_is_its_supervisors(place: Place, keeper: Kept) -> None:
    name = place.data("install")["name"]
    assert place.data("logs", "-n", "7")["lines"] == [f"the last 7 lines of {name}"]


def test_one_line_of_json_cannot_follow(place: Place, keeper: Kept) -> None:
    place.data("install")
    assert place.call("logs", "-f", "--json").status == 2


# Drift


def test_check_hints_at_each_difference_between_the_service_and_what_would_be_written(
    place: Place, keeper: Kept
) -> None:
    before = place.data("check")["hints"]
    name = place.data("install")["name"]
    assert place.data("check")["hints"] == before
    unit = keeper.folder / f"{name}.service"
    unit.write_text("ExecStart=/old/python run\n")
    hint = f"the service is not what `heartbeat install` would write now: {unit} differs"
    assert place.data("check")["hints"] == [*before, hint]
    assert f"valid, but:\n- {hint}\n" in place.call("check").out
    other = place.file("other.toml", (place.folder / "config.toml").read_text())
    assert place.data("check", str(other))["hints"] == before, "another file is not what the service reads"


def test_check_never_fails_because_the_supervisor_cannot_be_asked(
    place: Place, keeper: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = place.data("check")["hints"]
    place.data("install")
    monkeypatch.setattr(keeper, "drift", lambda plan: (_ for _ in ()).throw(ServiceError("cannot ask")))
    assert place.data("check")["hints"] == before
    keeper.reason = "it is gone"
    assert place.data("check")["hints"] == before


# A first configuration


def test_init_ends_with_what_can_be_done_next_here(place: Place, keeper: Kept, system: Home) -> None:
    def last(*words: str) -> str:
        return place.call(*words, "init", "--force").out.splitlines()[-1].rpartition(", ")[2]

    assert last() == f"`heartbeat --home {place.folder} install`"
    etc = str(system.config)
    assert last("--home", etc) == f"`sudo {planning.command_file()} install --system --as USER`"
    lock = KernelLock(place.state / "daemon.lock")
    assert lock.acquire(owner())
    assert last() == f"`heartbeat --home {place.folder} reload`"
    lock.release()
    keeper.reason = "systemd does not run this machine"
    assert last() == f"`heartbeat --home {place.folder} run`"


def test_check_looks_at_the_machines_configuration_when_told(place: Place, keeper: Kept, system: Home) -> None:
    assert place.call("check", "--system").status == 2, "a home was named, and it is another"
    assert place.data("--home", str(system.config), "check", "--system")["file"] == f"{system.config}/config.toml"


# The whole machine's


def test_options_that_contradict_each_other_are_wrong_usage(place: Place, keeper: Kept, system: Home) -> None:
    etc = str(system.config)
    for words, said in (
        (("install", "--system", "--as", "root"), "--system has folders of its own"),
        (("install", "--as", "root"), "--as belongs to --system"),
        (("--home", etc, "install", "--user"), "leave out --user"),
        (("--home", etc, "install", "--user", "--system"), "leave one of them out"),
        (("--home", etc, "install", "--system"), "--as USER"),
        (("--home", etc, "install"), "--as USER"),
    ):
        done = place.call(*words)
        assert (done.status, said in done.err) == (2, True), (words, done.err)
        assert "Invalid value" not in done.err
    assert keeper.asked == []


def test_a_service_of_the_machine_needs_root_and_says_the_whole_command(
    place: Place, keeper: Kept, system: Home
) -> None:
    system.state.mkdir()
    write_marker(system.marker_file, Marker("systemd", "heartbeat.service", "system", "1"))
    for verb in ("install", *CHANGING):
        more = " --as root" if verb == "install" else ""
        words = ("--home", str(system.config), verb, *more.split())
        assert f"run `sudo {planning.command_file()} {verb} --system{more}`" in place.error(*words, status=5)
    assert keeper.asked == []


def test_anybody_may_see_what_a_service_of_the_machine_would_be(place: Place, keeper: Kept, system: Home) -> None:
    data = place.data("--home", str(system.config), "install", "--as", "root", "--dry-run")
    assert (data["name"], data["scope"], data["home"]) == ("heartbeat", "system", str(system.config))
    assert not system.state.exists()


def test_a_user_that_is_not_there_is_not_found(place: Place, keeper: Kept, system: Home) -> None:
    assert "'no-such-user'" in place.error(
        "--home", str(system.config), "install", "--as", "no-such-user", "--dry-run", status=3
    )


# Who asks


def test_of_the_program_that_calls_only_its_name_is_kept(place: Place) -> None:
    code = f"import subprocess; subprocess.run({[sys.executable, '-c', _ASK]!r})"
    done = subprocess.run([sys.executable, "-c", code, "secret-word"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("heartbeat start by ")
    assert "called from python" in done.stdout
    assert done.stdout.rstrip().endswith("without a terminal")
    assert "secret-word" not in done.stdout


_ASK = "import sys; sys.stdin = None; from heartbeat.service.asking import who_asks; print(who_asks('start', {}))"


def test_root_is_named_with_who_it_really_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getuid", lambda: 0)
    assert who_asks("stop", {"SUDO_USER": "ann"}).startswith("heartbeat stop by root (sudo by ann), called from ")


# A daemon that no supervisor keeps


def test_a_lock_that_names_another_process_signals_nobody(place: Place) -> None:
    home = Home(place.folder, place.state, place.folder / "cache")
    with subprocess.Popen(["sleep", "600"]) as stranger:
        lock = KernelLock(home.lock_file)
        assert lock.acquire(f"{stranger.pid}:1@another-boot")
        with pytest.raises(Refused, match="another program holds"):
            hand.end(home, timedelta(0))
        assert "`fuser " in place.error("stop", status=5)
        assert stranger.poll() is None
        lock.release()
        assert hand.end(home, timedelta(0)) is None
        stranger.kill()


def test_a_daemon_that_is_deaf_is_waited_for_within_bounds_and_named(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(place.folder, place.state, place.folder / "cache")
    monkeypatch.setattr(hand, "_GRACE", 0.1)
    deaf = "trap '' TERM; echo deaf; while :; do sleep 600; done"
    with subprocess.Popen(["sh", "-c", deaf], stdout=subprocess.PIPE, start_new_session=True) as daemon:
        assert daemon.stdout is not None
        assert daemon.stdout.readline() == b"deaf\n"
        lock = KernelLock(home.lock_file)
        assert lock.acquire(owner(daemon.pid))
        with pytest.raises(ServiceError, match=rf"cannot stop process {daemon.pid}: .* `kill -KILL {daemon.pid}`"):
            hand.end(home, timedelta(0))
        assert is_alive(owner(daemon.pid))
        lock.release()
        os.killpg(daemon.pid, 9)
