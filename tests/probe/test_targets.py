"""Other daemons: what their evidence proves, row by row, and the guarantees behind the rows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable

import pytest

from heartbeat.cli import examination
from heartbeat.probe import foreign_service, restarters
from heartbeat.probe.processes import Process, elapsed, find_process, has_started
from heartbeat.probe.targets import known_targets
from tests.probe.scenes import NAN, Scene, as_somebody_else, codes, dead_pid, sleeping, ticks_of

LIVE = {"up", "degraded", "absent"}
FATAL = {"telegram": {"state": "fatal", "error_code": "auth", "error_message": "the token is revoked"}}
HALF = {"telegram": {"state": "connected"}, "discord": {"state": "disconnected"}}
LOOP = (200, 150, 100, 50)
Setting = Callable[[Scene], object]


def own_log(scene: Scene, why: str) -> str:
    return "".join(f"{scene.now - age:.3f}\t{why}\t12:34@x\tsomebody\t\t\t\t\n" for age in LOOP)


def iso(at: float, offset: str, ahead: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at + ahead)) + offset


TABLE: list[tuple[str, Setting, str, list[str]]] = [
    # Nothing there
    ("no home", lambda s: s.config(preset="hermes", home=str(s.home / "none")), "absent", []),
    ("a bare home", lambda s: None, "absent", []),
    ("a home that only other programs use", lambda s: s.file("config.yaml", "x: 1"), "absent", []),
    ("a bare home, a bare heartbeat folder", lambda s: s.folder("state"), "absent", []),
    ("a home that is a file", lambda s: s.config(preset="hermes", home=str(s.put("x", ""))), "absent", []),
    # No process
    ("only a log of starts", lambda s: s.starts(9000), "down", ["unsupervised", "state_missing"]),
    ("a unit and nothing else", lambda s: s.unit(MainPID=0), "down", ["unit_inactive", "state_missing"]),
    ("an empty state", lambda s: s.file("gateway_state.json", "").unit(MainPID=0), "down", ["state_corrupt"]),
    ("a corrupt state", lambda s: s.file("gateway_state.json", "{").unit(MainPID=0), "down", ["state_corrupt"]),
    ("a state that is a list", lambda s: s.file("gateway_state.json", [1]), "down", ["unsupervised", "state_corrupt"]),
    ("binary for a state", lambda s: (s.home / "gateway_state.json").write_bytes(b"\xff\0"), "down", ["state_corrupt"]),
    ("a deep state", lambda s: s.file("gateway_state.json", '{"a":' * 99_999), "down", ["state_corrupt"]),
    ("a folder for a state", lambda s: s.folder("gateway_state.json"), "down", ["state_unreadable"]),
    ("a pipe for a state", lambda s: os.mkfifo(s.home / "gateway_state.json"), "down", ["state_unreadable"]),
    ("a link to nowhere", lambda s: (s.home / "gateway_state.json").symlink_to("no"), "down", ["state_unreadable"]),
    ("a state without a pid", lambda s: s.state(pid=None), "down", ["unsupervised", "pid_missing"]),
    ("a pid that is text", lambda s: s.state(pid="1"), "down", ["pid_missing"]),
    ("a pid that is true", lambda s: s.state(pid=True), "down", ["pid_missing"]),
    ("the pid 0", lambda s: s.state(pid=0), "down", ["pid_missing"]),
    ("the pid -1, which would be everybody", lambda s: s.state(pid=-1), "down", ["pid_missing"]),
    ("a pid beyond all", lambda s: s.state(pid=2**70), "down", ["pid_missing"]),
    ("a dead pid", lambda s: s.state(pid=dead_pid()).unit(MainPID=0), "down", ["unit_inactive", "pid_dead"]),
    ("a dead pid in a fresh heartbeat", lambda s: s.heartbeat(pid=dead_pid()), "down", ["pid_dead", "state_missing"]),
    ("a pid that another process has", lambda s: s.state(start_time=1), "down", ["unsupervised", "pid_reused"]),
    ("a failed unit", lambda s: s.state(pid=dead_pid()).failed(), "down", ["unit_failed", "pid_dead"]),
    ("a dead pid with a fatal platform", lambda s: s.state(pid=dead_pid(), platforms=FATAL), "down", ["pid_dead"]),
    # Flapping comes before down
    ("three starts, the last a while ago", lambda s: s.healthy().starts(580, 570, 560), "up", []),
    ("four starts", lambda s: s.healthy().starts(590, 580, 570, 560), "flapping", ["flapping"]),
    (
        "four starts in exactly ten minutes",
        lambda s: s.healthy().starts(600, 590, 580, 570),
        "flapping",
        ["flapping"],
    ),
    ("four starts in a little more", lambda s: s.healthy().starts(601, 590, 580, 570), "up", []),
    ("starts of yesterday", lambda s: s.healthy().starts(*range(86_400, 86_440)), "up", []),
    ("one every four minutes", lambda s: s.healthy().starts(650, 410, 170), "flapping", ["flapping"]),
    ("one every six minutes", lambda s: s.healthy().starts(1000, 640, 280), "up", []),
    (
        "four starts, and dead",
        lambda s: s.state(pid=dead_pid()).starts(*LOOP),
        "flapping",
        ["unsupervised", "flapping", "pid_dead"],
    ),
    (
        "four starts, and stalled",
        lambda s: s.healthy().heartbeat(updated_at=s.now - 999).starts(*LOOP),
        "flapping",
        ["flapping", "heartbeat_stale"],
    ),
    ("four restarts that no log tells of", lambda s: s.state().restarted(4), "flapping", ["flapping"]),
    ("three of them", lambda s: s.state().restarted(3), "up", []),
    # The log of starts
    (
        "words among the starts",
        lambda s: s.healthy().file("gateway-starts.log", f"x\n\n{s.now - 9000}\n-\n"),
        "up",
        [],
    ),
    ("an empty log", lambda s: s.healthy().file("gateway-starts.log", "\n \n"), "up", []),
    (
        "nothing but words",
        lambda s: s.healthy().file("gateway-starts.log", "a\nb\n"),
        "degraded",
        ["starts_corrupt"],
    ),
    ("starts in the future", lambda s: s.healthy().starts(-900, -901, -902, -903, -904), "up", []),
    (
        "starts in milliseconds",
        lambda s: s.healthy().file("gateway-starts.log", f"{s.now}000\n" * 5),
        "degraded",
        ["starts_corrupt"],
    ),
    (
        "starts that are not a number",
        lambda s: s.healthy().file("gateway-starts.log", "nan\ninf\n" * 9),
        "degraded",
        ["starts_corrupt"],
    ),
    (
        "a folder for a log",
        lambda s: s.healthy().folder("gateway-starts.log"),
        "degraded",
        ["starts_unreadable"],
    ),
    (
        "starts that were asked for",
        lambda s: s.healthy().file("gateway-starts.log", own_log(s, "asked")),
        "up",
        [],
    ),
    (
        "crashes in a log of ours",
        lambda s: s.healthy().file("gateway-starts.log", own_log(s, "crash")),
        "flapping",
        ["flapping"],
    ),
    # Freshness
    ("all well", lambda s: s.healthy(), "up", []),
    ("all well, by the loop", lambda s: s.healthy().heartbeat(), "up", []),
    ("a state of exactly 15 minutes", lambda s: s.healthy().state(updated_at=s.now - 900), "up", []),
    (
        "a state of a second more",
        lambda s: s.healthy().state(updated_at=s.now - 901),
        "degraded",
        ["state_stale"],
    ),
    ("a state without a stamp", lambda s: s.healthy().state(updated_at=None), "degraded", ["state_undated"]),
    ("a stamp that is no number", lambda s: s.healthy().state(updated_at=NAN), "degraded", ["state_undated"]),
    ("a stamp in words", lambda s: s.healthy().state(updated_at="just now"), "degraded", ["state_undated"]),
    ("a stamp from 1970", lambda s: s.healthy().state(updated_at=0), "degraded", ["state_undated"]),
    (
        "a stamp in the future",
        lambda s: s.healthy().state(updated_at=s.now + 900),
        "degraded",
        ["state_future"],
    ),
    (
        "a stamp of the year 9999",
        lambda s: s.healthy().state(updated_at="9999-12-31T23:59:59Z"),
        "degraded",
        ["state_future"],
    ),
    ("a stamp in milliseconds", lambda s: s.healthy().state(updated_at=s.now * 1000), "up", []),
    (
        "a stamp with an offset",
        lambda s: s.healthy().state(updated_at=iso(s.now - 9, "+02:00", 7200)),
        "up",
        [],
    ),
    ("a stamp without one is UTC", lambda s: s.healthy().state(updated_at=iso(s.now - 9, "", 0)), "up", []),
    # Platforms
    ("a fatal platform", lambda s: s.healthy().state(platforms=FATAL), "degraded", ["platform_fatal"]),
    ("one of two is disconnected", lambda s: s.healthy().state(platforms=HALF), "up", []),
    ("no platform at all", lambda s: s.healthy().state(platforms={}), "up", []),
    ("platforms that make no sense", lambda s: s.healthy().state(platforms=[1]), "up", []),
    (
        "a platform that makes no sense",
        lambda s: s.healthy().state(platforms={"x": 1}),
        "degraded",
        ["platforms_disconnected"],
    ),
    (
        "alive, and torn down",
        lambda s: s.healthy().state(gateway_state="stopped"),
        "degraded",
        ["not_serving"],
    ),
    # Supervisors
    ("no unit", lambda s: s.state(), "degraded", ["unsupervised"]),
    (
        "a unit that is enabled and not active",
        lambda s: s.state().unit(ActiveState="inactive", MainPID=0),
        "degraded",
        ["unit_inactive"],
    ),
    ("a unit that runs it by another program", lambda s: s.state().unit(MainPID=os.getpid()), "up", []),
    ("a unit that runs another process", lambda s: s.state().unit(MainPID=1), "degraded", ["other_process"]),
    ("a unit of the system", lambda s: s.state().unit(manager="system"), "up", []),
    (
        "a unit whose name only begins so",
        lambda s: s.state().unit("hermes-gateway-work.service"),
        "degraded",
        ["unsupervised"],
    ),
    (
        "user and system at once",
        lambda s: s.healthy().unit(manager="system"),
        "degraded",
        ["supervised_twice"],
    ),
    ("no answer from systemd", lambda s: s.state().refuse(), "degraded", ["supervisor_silent"]),
]


@pytest.mark.parametrize(("title", "setting", "state", "expected"), TABLE, ids=[row[0] for row in TABLE])
def test_each_set_of_evidence(title: str, setting: Setting, state: str, expected: list[str], scene: Scene) -> None:
    setting(scene)
    health = scene.examine()
    assert (health.state, health.is_live) == (state, state in LIVE), health
    assert set(expected) <= set(codes(health)), health
    if state in {"up", "absent"}:
        assert not health.problems, health
    if state == "degraded":
        assert codes(health) == expected, health
    assert health.target == "hermes"
    assert health.summary.startswith("hermes ")


def test_one_line_says_how_it_is(scene: Scene) -> None:
    scene.healthy()
    assert scene.examine().summary == "hermes is up, 2/2 channels"
    scene.state(platforms=FATAL)
    assert scene.examine().summary == "hermes is up, 0/1 channels, 1 problem"
    scene.unit(MainPID=0)
    scene.state(platforms={}, pid=dead_pid())
    assert scene.examine().summary == "hermes is down"


def test_a_platform_is_told_with_its_reason(scene: Scene) -> None:
    scene.healthy()
    scene.state(platforms={**FATAL, "x": {"state": "fatal", "error_code": "E7"}, "y": {"state": "fatal"}})
    said = [message for code, message in scene.examine().problems if code == "platform_fatal"]
    assert said == ["telegram: the token is revoked", "x: E7", "y: fatal"]


def test_what_a_daemon_writes_cannot_steer_a_terminal(scene: Scene) -> None:
    scene.healthy()
    scene.state(platforms={"a\x1b[2J": {"state": "fatal", "error_message": "b\nc\u2028d" * 99}})
    ((_, message),) = scene.examine().problems
    assert message.isprintable()
    assert len(message) < 500


# The guarantees, by their numbers


def test_wc1_an_idle_gateway_that_beats_is_up(scene: Scene) -> None:
    scene.healthy()
    scene.state(updated_at=scene.now - 86_400)
    scene.heartbeat()
    assert scene.examine().state == "up"


@pytest.mark.parametrize(
    ("fields", "state", "expected"),
    [
        ({"start_time": 1}, "degraded", ["heartbeat_foreign", "state_stale"]),
        ({"pid": 1}, "degraded", ["heartbeat_foreign", "state_stale"]),
        ({"pid": None}, "degraded", ["heartbeat_foreign", "state_stale"]),
        ({"updated_at": None}, "degraded", ["heartbeat_undated", "state_stale"]),
        ({"updated_at": NAN}, "degraded", ["heartbeat_undated", "state_stale"]),
        ({"updated_at": 9e9}, "degraded", ["heartbeat_future", "state_stale"]),
        ({"monotonic": 9e9}, "degraded", ["heartbeat_future", "state_stale"]),
        ({"monotonic": NAN}, "up", []),
    ],
)
def test_wc1_a_heartbeat_is_believed_only_from_the_very_process_and_of_now(
    fields: dict[str, object], state: str, expected: list[str], scene: Scene
) -> None:
    scene.healthy()
    scene.state(updated_at=scene.now - 86_400)
    scene.heartbeat(**fields)
    health = scene.examine()
    assert (health.state, codes(health)) == (state, expected)


def test_wc1_a_heartbeat_may_name_the_start_of_the_gateway_in_seconds(scene: Scene) -> None:
    scene.healthy()
    scene.state(updated_at=scene.now - 86_400)
    scene.heartbeat(start_time=time.time())
    assert scene.examine().state == "up"
    scene.heartbeat(start_time=time.time() - 86_400)
    assert codes(scene.examine()) == ["heartbeat_foreign", "state_stale"]


def test_wc1_a_loop_that_stands_still_is_stalled(scene: Scene) -> None:
    scene.healthy()
    scene.heartbeat(updated_at=scene.now - 181)
    health = scene.examine()
    assert (health.state, codes(health), health.since) == ("stalled", ["heartbeat_stale"], scene.now - 5)
    scene.heartbeat(updated_at=scene.now - 180)
    assert scene.examine().state == "up"


def test_wc1_a_suspended_machine_does_not_make_a_loop_look_still(scene: Scene) -> None:
    scene.healthy()
    scene.heartbeat(updated_at=scene.now - 7200, monotonic=time.monotonic() - 10)
    assert scene.examine().state == "up"
    scene.config(preset="hermes", heartbeat_stale="5s")
    for stamp in (scene.now, scene.now + 9999):  # the wall clock was set
        scene.heartbeat(updated_at=stamp, monotonic=time.monotonic() - 10)
        assert (scene.examine().state, codes(scene.examine())) == ("stalled", ["heartbeat_stale"])


def test_wc2_a_restart_that_its_supervisor_knows_of_is_not_down(scene: Scene) -> None:
    with sleeping() as old:
        scene.state(pid=old.pid, start_time=ticks_of(old.pid))
    scene.unit(NRestarts=1)
    began = find_process(scene.live).started_at
    assert began is not None
    health = scene.examine(now=began + 20)
    assert (health.state, codes(health), health.pid) == ("degraded", ["restarting", "state_foreign"], scene.live)
    health = scene.examine(now=began + 70)
    assert (health.state, codes(health)) == ("stalled", ["unproven", "state_foreign"])


def test_wc3_a_home_without_a_trace_of_the_daemon_is_absent_and_a_named_trace_counts(scene: Scene) -> None:
    (scene.home / "skills").mkdir()
    assert scene.examine().state == "absent"
    scene.config(preset="hermes", installed=["marker"])
    assert scene.examine().state == "absent"
    scene.put("marker", "")
    assert scene.examine().state == "down"


@pytest.mark.parametrize("stamp", [None, NAN, "", "soon", 0, -5, True, [1], 9e9, 1e300, "2999-01-01T00:00:00Z"])
def test_wc4_a_missing_future_or_senseless_stamp_never_proves_health(stamp: object, scene: Scene) -> None:
    scene.healthy()
    scene.state(updated_at=stamp)
    assert scene.examine().state == "degraded"


def test_wc5_a_number_that_another_process_has_by_now_is_not_alive(scene: Scene) -> None:
    scene.healthy()
    scene.unit(MainPID=0, ActiveState="inactive")
    scene.state(start_time=ticks_of(scene.live) - 1)
    assert codes(scene.examine()) == ["pid_reused", "unit_inactive"]
    scene.state(start_time=None)
    assert scene.examine().state == "degraded"
    os.utime(scene.home / "gateway_state.json", (1, 1))  # written before the process began
    assert codes(scene.examine()) == ["pid_reused", "unit_inactive"]


def test_wc5_a_process_of_somebody_else_is_alive() -> None:
    with as_somebody_else():
        with pytest.raises(PermissionError):
            os.kill(1, 0)
        assert find_process(1).alive


def test_wc5_a_process_that_only_waits_to_be_buried_is_dead() -> None:
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not find_process(child.pid).alive


def test_wc6_of_a_log_however_large_the_end_is_read(scene: Scene) -> None:
    scene.healthy()
    scene.put("gateway-starts.log", "1\n" * 2_000_000 + "".join(f"{scene.now - age}\n" for age in LOOP))
    assert scene.examine().state == "flapping"
    scene.put("gateway-starts.log", "".join(f"{scene.now - age}\n" for age in LOOP) + "1\n" * 40_000)
    assert scene.examine().state == "up"


def test_wc7_the_unit_is_asked_by_its_whole_name_in_both_managers(scene: Scene) -> None:
    scene.state()
    for near in ("hermes-gateway-2.service", "hermes-gateway.timer", "my-hermes-gateway.service"):
        scene.unit(near)
    assert codes(scene.examine()) == ["unsupervised"]
    scene.unit(manager="system")
    assert scene.examine().state == "up"
    scene.config(preset="hermes", scope="user")
    assert codes(scene.examine()) == ["unsupervised"]


def test_wc7_on_a_mac_the_label_is_asked_in_every_domain(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign_service, "MANAGER", "launchd")
    scene.state()
    for domain in (f"gui/{os.getuid()}", f"user/{os.getuid()}", "system"):
        place = scene.root / domain
        place.mkdir(parents=True, exist_ok=True)
        (place / "ai.hermes.gateway2").write_text(f"\tstate = running\n\tpid = {scene.live}")
        assert codes(scene.examine()) == ["unsupervised"]
        (place / "ai.hermes.gateway").write_text(f"\tstate = running\n\tpid = {scene.live}\n\truns = 7\n\t\tpid = 1")
        health = scene.examine()
        assert (health.state, health.restarts) == ("up", 6), health
        (place / "ai.hermes.gateway").write_text("\tstate = not running\n\tlast exit code = 78: EX_CONFIG")
        assert codes(scene.examine()) == ["unit_inactive"]
        (place / "ai.hermes.gateway").unlink()


def test_wc8_a_supervisor_that_hangs_costs_a_second_each(scene: Scene) -> None:
    scene.state()
    (scene.root / "hangs").touch()
    began = time.monotonic()
    health = scene.examine()
    assert time.monotonic() - began < 4
    assert (health.state, codes(health)) == ("degraded", ["supervisor_silent"])


def test_wc9_what_must_be_connected_is(scene: Scene) -> None:
    scene.healthy()
    scene.config(preset="hermes", required=["telegram", "discord"])
    assert scene.examine().state == "up"
    scene.state(platforms=HALF)
    assert codes(scene.examine()) == ["platform_required"]
    scene.state(platforms={"telegram": {"state": "connected"}})
    assert scene.examine().problems == (("platform_required", "discord is not there, and must be connected"),)
    scene.config(preset="hermes")
    scene.state(platforms={"discord": {"state": "retrying"}})
    assert codes(scene.examine()) == ["platforms_disconnected"]


def test_wc11_a_corrupt_state_is_told_from_a_missing_one(scene: Scene) -> None:
    scene.healthy()
    scene.heartbeat()
    scene.put("gateway_state.json", "{")
    assert (scene.examine().state, codes(scene.examine())) == ("degraded", ["state_corrupt"])
    (scene.home / "gateway_state.json").unlink()
    assert (scene.examine().state, codes(scene.examine())) == ("degraded", ["state_missing"])


def test_wc12_a_process_that_has_just_begun_is_not_up(scene: Scene) -> None:
    began = find_process(scene.live).started_at
    assert began is not None
    scene.now = int(began)
    scene.healthy()
    assert codes(scene.examine(now=began + 2)) == ["young"]
    assert codes(scene.examine(now=began + 29)) == ["young"]
    assert scene.examine(now=began + 31).state == "up"


def test_wc13_states_say_since_when(scene: Scene) -> None:
    scene.healthy()
    began = find_process(scene.live).started_at
    assert began is not None
    health = scene.examine()
    assert health.since == pytest.approx(began, abs=0.1)
    assert health.uptime_seconds == pytest.approx(scene.now - began, abs=0.1)
    scene.starts(*LOOP)
    health = scene.examine()
    assert (health.since, health.recent_starts) == (scene.now - LOOP[0], 4)
    scene.state(pid=dead_pid())
    scene.starts()
    scene.unit(MainPID=0)
    assert scene.examine().since == pytest.approx(time.time(), abs=60)


def test_a_process_that_is_stopped_is_stalled_however_fresh_its_files(scene: Scene) -> None:
    with sleeping() as child:
        child.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
        scene.live = child.pid
        scene.healthy()
        scene.heartbeat()
        health = scene.examine()
        child.send_signal(signal.SIGCONT)
    assert (health.state, codes(health)) == ("stalled", ["stopped"])


# What restarts it again and again

RESTARTER = "ai.hermes.gateway-restarter.service"


def test_a_restarter_is_the_first_problem_and_is_told_with_what_removes_it(scene: Scene) -> None:
    scene.state(platforms=FATAL)
    scene.unit(RESTARTER)
    health = scene.examine(thorough=True)
    assert (health.state, codes(health)) == ("degraded", ["restarter", "unsupervised", "platform_fatal"])
    assert f"systemctl --user disable --now {RESTARTER}" in health.problems[0][1]
    assert "restarter" not in codes(scene.examine(thorough=False))


def test_where_restarters_could_not_be_looked_for_is_told_and_is_no_problem(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise OSError("no")

    monkeypatch.setattr(restarters, "_KINDS", (("cron", fail),))
    scene.healthy()
    health = scene.examine(thorough=True)
    folders = (str(scene.root), str(scene.root), str(scene.root))
    unseen = "cannot look for restarters in cron: OSError: no"
    assert (health.unseen, "restarters_unseen" in codes(health)) == ((("restarters_unseen", unseen),), False)
    assert scene.examine(thorough=False).unseen == ()
    for words, said in (
        (["hermes", "--assert-no-restarter"], (f"--assert-no-restarter hermes: {unseen}",)),
        (["hermes"], ()),
    ):
        reply = examination.examine_as_asked(folders, words, as_json=False)
        assert (reply.status, reply.complaints) == (0, said)


def test_only_whoever_asks_for_restarters_or_for_everything_has_them_looked_for(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []

    def look(_: object) -> tuple[list[object], list[object]]:
        looks.append(1)
        return [], []

    monkeypatch.setattr(restarters, "_KINDS", (("x", look),))
    scene.healthy()
    folders = (str(scene.root), str(scene.root), str(scene.root))
    counts = []
    for words in (["--assert-live"], [], ["--assert-live", "--assert-no-restarter"], ["--nagios"]):
        looks.clear()
        examination.examine_as_asked(folders, ["hermes", *words], as_json=False)
        counts.append(len(looks))
    assert counts == [0, 1, 1, 1]


def test_what_is_dead_begins_with_its_death_told_once_with_every_file(scene: Scene) -> None:
    pid = dead_pid()
    scene.state(pid=pid).heartbeat(pid=pid).file("gateway.pid", str(pid))
    health = scene.examine()
    assert codes(health) == ["pid_dead", "unsupervised"]
    home = scene.home
    assert health.problems[0][1] == (
        f"{home}/gateway_state.json and {home}/state/gateway.heartbeat and {home}/gateway.pid"
        f" name process {pid}, which does not run"
    )


def test_a_file_that_only_is_touched_is_no_reason_for_a_death(scene: Scene) -> None:
    scene.config(heartbeat_file="beat", unit="my.service").file("beat", "").unit("my.service", MainPID=0)
    assert (scene.examine().state, codes(scene.examine())) == ("down", ["unit_inactive"])
    scene.config(heartbeat_file="beat")
    assert codes(scene.examine()) == ["pid_missing"]


def test_wc10_a_restarter_is_told_where_no_home_is(scene: Scene) -> None:
    scene.unit(RESTARTER)
    scene.config(preset="hermes", home=str(scene.home / "none"))
    health = scene.examine(thorough=True)
    assert (health.state, codes(health)) == ("absent", ["restarter"])


def test_wc14_a_restarter_of_another_name_is_found_by_what_it_runs(scene: Scene) -> None:
    scene.healthy()
    command = "{ path=/bin/systemctl ; argv[]=/bin/systemctl --user restart hermes-gateway.service ; ignore_errors=no }"
    scene.unit("innocent.service", MainPID=1, ExecStart=command, Restart="always", NRestarts=7)
    health = scene.examine(thorough=True)
    assert (health.state, codes(health)) == ("degraded", ["restarter"])
    assert "innocent.service" in health.problems[0][1]


# What the system says of a process


@pytest.mark.parametrize(
    ("etime", "seconds"),
    [
        ("07:05", 425),
        ("01:07:05", 4025),
        ("2-01:07:05", 176_825),
        ("45-00:00:01", 3_888_001),
        ("5", None),
        ("", None),
        ("-01:02:03", None),
        ("1-2-01:02:03", None),
        ("a:b", None),
        ("1:2:3:4", None),
    ],
)
def test_what_ps_calls_the_age_of_a_process(etime: str, seconds: float | None) -> None:
    assert elapsed(etime) == seconds


def test_without_proc_ps_is_asked(scene: Scene) -> None:
    scene.program("ps", '#!/bin/sh\necho "    1 Ss   01-00:00:10"\n')
    found = find_process(scene.live, proc="/nowhere")
    assert (found.alive, found.parent, found.ticks) == (True, 1, None)
    assert found.started_at == pytest.approx(time.time() - 86_410, abs=2)
    assert has_started(found, round((time.time() - 86_410) * 100)) is True  # as psutil gives it, in hundredths
    assert has_started(found, round((time.time() - 86_500) * 100)) is False
    scene.program("ps", '#!/bin/sh\necho "    1 Z   00:10"\n')
    assert not find_process(scene.live, proc="/nowhere").alive
    scene.program("ps", "#!/bin/sh\nexit 1\n")
    assert find_process(scene.live, proc="/nowhere") == Process(scene.live)


# Sections


@pytest.mark.parametrize(
    ("section", "state"),
    [
        ('watch.hermes = "x"', "down"),
        ('watch.hermes.preset = "hermez"', "down"),
        ("watch.hermes.preset = 5", "down"),
        ("watch.hermes.home = 'x'", "down"),
        ('watch.hermes = { preset = "hermes", stale = "15 minutes" }', "degraded"),
        ('watch.hermes = { preset = "hermes", stale = 15 }', "degraded"),
        ('watch.hermes = { preset = "hermes", stale = "0s" }', "degraded"),
        ('watch.hermes = { preset = "hermes", unit = 5 }', "degraded"),
        ('watch.hermes = { preset = "hermes", scope = "all" }', "degraded"),
        ('watch.hermes = { preset = "hermes", required = [5] }', "degraded"),
        ('watch.hermes = { preset = "hermes", statefile = "x" }', "degraded"),
        ('watch.hermes = { preset = "hermes", label = "a\\u001bb" }', "degraded"),
        ('watch.hermes = { state_file = "state.json" }', "down"),
        ("watch.hermes = {}", "down"),
        ("watch = 5", "degraded"),
        ("watch = [", "degraded"),
        ("watch.other = {}", "up"),
    ],
)
def test_a_broken_section_is_never_up(section: str, state: str, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(scene.root))
    scene.home.rename(scene.root / ".hermes")
    (scene.root / "home").symlink_to(".hermes")
    scene.healthy()
    (scene.root / "config.toml").write_text(f"agent = 5\n{section}\n")
    health = scene.examine()
    assert health.state == state, health
    expected = {"target_invalid", "config_unreadable"} if state != "up" else set()
    assert set(codes(health)) <= expected


def test_the_rest_of_the_configuration_may_be_wrong(scene: Scene) -> None:
    scene.healthy()
    scene.config("colour = 1\n[jobs.x]\nevery = 'never'", preset="hermes")
    assert scene.examine().state == "up"
    assert known_targets(f"{scene.root}/config.toml") == ("hermes",)
    assert known_targets(f"{scene.root}/none.toml") == ()


def test_nobody_knows_a_target_that_is_not_named(scene: Scene) -> None:
    scene.name = "other"
    health = scene.examine()
    assert (health.state, codes(health)) == ("down", ["target_unknown"])


def test_a_profile_has_a_unit_and_a_label_of_its_own(scene: Scene) -> None:
    home = scene.home / "profiles" / "work"
    home.mkdir(parents=True)
    scene.config(preset="hermes", home=str(home))
    state = {"pid": scene.live, "start_time": ticks_of(scene.live), "updated_at": scene.now}
    (home / "gateway_state.json").write_text(json.dumps(state))
    assert codes(scene.examine()) == ["unsupervised"]
    scene.unit("hermes-gateway-work.service")
    assert scene.examine().state == "up"


# A daemon of one's own


def test_a_file_that_is_touched_is_a_heartbeat(scene: Scene) -> None:
    scene.config(heartbeat_file="beat", pid_file="run.pid")
    scene.put("run.pid", f"{scene.live}\n")
    beat = scene.put("beat", "")
    os.utime(beat, (scene.now - 10, scene.now - 10))
    assert scene.examine().state == "up"
    os.utime(beat, (scene.now - 181, scene.now - 181))
    assert (scene.examine().state, codes(scene.examine())) == ("stalled", ["heartbeat_stale"])
    os.utime(beat, (scene.now + 99, scene.now + 99))
    assert (scene.examine().state, codes(scene.examine())) == ("degraded", ["heartbeat_future"])
    os.utime(beat, (scene.now - 86_400, scene.now - 86_400))  # of a life before this one
    assert codes(scene.examine()) == ["unproven", "heartbeat_foreign"]
    beat.write_text("half a rec")
    assert codes(scene.examine()) == ["unproven", "heartbeat_corrupt"]
    beat.unlink()
    assert (scene.examine().state, codes(scene.examine())) == ("stalled", ["unproven"])


def test_a_pid_file_alone_is_enough_when_it_is_of_this_life(scene: Scene) -> None:
    scene.config(pid_file="run.pid")
    path = scene.put("run.pid", f" {scene.live} \n")
    assert scene.examine().state == "up"
    os.utime(path, (1, 1))
    assert codes(scene.examine()) == ["pid_reused"]
    for content in ("", "x", "-1", "0", "1e9", "9" * 99):
        scene.put("run.pid", content)
        assert scene.examine().state == "down", content


def test_a_unit_alone_is_enough(scene: Scene) -> None:
    scene.config(unit="my.daemon")
    assert scene.examine().state == "absent"
    scene.unit("my.daemon.service")
    assert scene.examine().state == "up"
    scene.unit("my.daemon.service", MainPID=0, ActiveState="activating", SubState="auto-restart")
    assert (scene.examine().state, codes(scene.examine())) == ("down", ["unit_waiting"])


def test_a_unit_alone_is_not_absent_because_nobody_answers(scene: Scene) -> None:
    scene.config(unit="my.daemon").refuse()
    assert (scene.examine().state, codes(scene.examine())) == ("down", ["pid_missing", "supervisor_silent"])


def test_keys_may_lead_into_objects(scene: Scene) -> None:
    scene.config(
        state_file="s.json", pid_key="process.pid", updated_key="process.at", phase_key="p", phases="ok", stale="1m"
    )
    scene.put("s.json", {"process": {"pid": scene.live, "at": scene.now - 59}, "p": "ok"})
    assert scene.examine().state == "up"
    scene.put("s.json", {"process": {"pid": scene.live, "at": scene.now - 61}, "p": "late"})
    assert codes(scene.examine()) == ["state_stale", "not_serving"]
    scene.put("s.json", {"process": [scene.live]})
    assert scene.examine().state == "down"
