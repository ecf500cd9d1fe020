"""The beat, from claim to record: real scripts, a real ledger, and whatever may break on the way."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from heartbeat import beat
from heartbeat.beat import Ticked, persist, tick
from heartbeat.errors import Invalid, LedgerCorrupt, LedgerError, LedgerMistake, Refused
from heartbeat.model import Action, Change, State, Verdict
from tests.conftest import CONFIG, FOREVER, NOW, Bench, Place, at, wait_for


def actions(ticked: Ticked) -> list[str]:
    return [decision.action.value for decision in ticked.plan.decisions]


def verdict(ticked: Ticked) -> Verdict:
    assert ticked.judgement is not None
    return ticked.judgement.verdict


# Verdicts, from a real script to the ledger


@pytest.mark.parametrize(
    ("script", "expected", "code"),
    [
        ("echo '{\"wakeAgent\": true}'", "wake", "wake"),
        ("echo '{\"wakeAgent\": false}'", "quiet", "quiet"),
        ("echo hello", "malformed", "gate_not_json"),
        ("exec 1>&-", "malformed", "no_output"),
        ("exit 7", "failed", "exit_status"),
        ("kill -SEGV $$", "failed", "killed_by_signal"),
        ("sleep 600", "timeout", "timeout"),
    ],
)
def test_each_verdict_is_in_the_ledger_with_its_reason(bench: Bench, script: str, expected: str, code: str) -> None:
    bench.place.configure(CONFIG + 'timeout = "1s"\n')
    bench.place.script("check", f"#!/bin/sh\n{script}\n")
    ticked = bench.tick(0)
    run = bench.ledger.run(ticked.run_id)
    assert (run.verdict, run.code, run.state) == (Verdict(expected), code, "ended")
    assert run.reason
    assert bool(ticked.wakes) is (expected == "wake")
    if expected not in ("wake", "quiet"):
        assert bench.ledger.findings() == []


def test_a_script_that_cannot_be_started_is_a_failed_run(bench: Bench) -> None:
    house = bench.house()
    (bench.place.folder / "jobs/check.sh").unlink()
    ticked = tick(house, house.config.jobs["check"], None, NOW)
    run = bench.ledger.run(ticked.run_id)
    assert (run.verdict, run.exit_code, run.signal) == (Verdict.FAILED, None, None)
    assert "check.sh" in run.reason


def test_a_wake_without_findings_is_its_own_text(bench: Bench) -> None:
    bench.place.says("check", 'The disk is full.\n{"wakeAgent": true}\n')
    assert actions(bench.tick(0)) == ["wake"]
    assert actions(bench.tick(1)) == ["duplicate"]
    (finding,) = bench.ledger.findings()
    assert "The disk is full." in finding.finding.title


def test_findings_of_a_failed_run_wait_for_the_brief(bench: Bench) -> None:
    bench.place.says("check", {"wakeAgent": True, "findings": [{"key": "k", "title": "t"}]}, 1)
    ticked = bench.tick(0)
    assert (verdict(ticked), actions(ticked), ticked.wakes) == (Verdict.FAILED, ["brief"], ())
    bench.place.finds({"key": "k", "title": "t"})
    assert actions(bench.tick(1)) == ["wake"]


@pytest.mark.parametrize(
    ("dialect", "output", "expected"),
    [
        ("hermes", "anything\n", "wake"),
        ("hermes", '{"wakeAgent": false}\n', "quiet"),
        ("hermes", '{"wakeAgent": "false"}\n', "wake"),
        ("strict", "anything\n", "malformed"),
    ],
)
def test_a_script_of_another_dialect_is_judged_by_its_own_rules(
    bench: Bench, dialect: str, output: str, expected: str
) -> None:
    bench.place.configure(CONFIG + f'dialect = "{dialect}"\n')
    bench.place.says("check", output)
    assert verdict(bench.tick(0)) == expected


@pytest.mark.parametrize(("dedupe", "second"), [("", "wake"), ('dedupe = "text"\n', "duplicate")])
def test_in_a_foreign_dialect_the_same_text_is_told_each_time_unless_the_owner_says_otherwise(
    bench: Bench, dedupe: str, second: str
) -> None:
    bench.place.configure(CONFIG + f'dialect = "hermes"\n{dedupe}')
    bench.place.says("check", "The disk is full.\n")
    assert actions(bench.tick(0))[:1] == ["wake"]
    assert actions(bench.tick(1))[:1] == [second]


def test_a_baseline_takes_what_is_there_as_known(bench: Bench) -> None:
    bench.place.configure(CONFIG + "baseline = true\n")
    bench.place.says("check", "no gate")
    bench.tick(0)
    bench.place.finds({"key": "old"})
    assert actions(bench.tick(1)) == ["drop"]
    bench.place.finds({"key": "old"}, {"key": "new"})
    assert actions(bench.tick(2)) == ["duplicate", "wake"]
    assert [finding.state for finding in bench.ledger.findings(key="old")] == [State.KNOWN]


# What the script gets


def test_the_script_gets_exactly_the_declared_environment(bench: Bench) -> None:
    bench.place.configure(CONFIG + '[jobs.check.env]\nCOLOUR = "red"\n[jobs.check.options]\ndepth = 3\n')
    bench.place.script(
        "check", '#!/bin/sh\nenv > "$HEARTBEAT_HOME/env"\nread line && exit 9\necho \'{"wakeAgent": false}\'\n'
    )
    slot = at(-1)
    ticked = bench.tick(0, slot, environ=bench.place.environment(SECRET="x", LD_PRELOAD=""))
    assert verdict(ticked) is Verdict.QUIET
    lines = (bench.place.folder / "env").read_text().splitlines()
    env = dict(line.split("=", 1) for line in lines)
    for name in ("_", "PWD", "SHLVL", "OLDPWD"):  # of the shell itself
        env.pop(name, None)
    assert env.pop("HEARTBEAT_TOKEN")
    assert env == {
        "PATH": env["PATH"],
        "HOME": str(bench.place.folder),
        "LANG": "C.UTF-8",
        "TZ": "Europe/Berlin",
        "COLOUR": "red",
        "HEARTBEAT_HOME": str(bench.place.folder),
        "HEARTBEAT_STATE_DIR": str(bench.place.state),
        "HEARTBEAT_CACHE_DIR": f"{bench.place.folder}/cache/jobs/check",
        "HEARTBEAT_JOB": "check",
        "HEARTBEAT_RUN_ID": ticked.run_id,
        "HEARTBEAT_SLOT": "2026-06-10T07:59:00.000000Z",
        "HEARTBEAT_NOW": "2026-06-10T08:00:00.000000Z",
        "HEARTBEAT_OPTIONS": env["HEARTBEAT_OPTIONS"],
        "HEARTBEAT_ZONE": "Europe/Berlin",
        "HEARTBEAT_OWNER_EMAILS": "",
    }
    assert json.loads(env["HEARTBEAT_OPTIONS"]) == {"depth": 3}
    assert "/usr/bin" in env["PATH"]


def test_each_run_has_a_token_of_its_own_and_none_is_kept(bench: Bench) -> None:
    bench.place.configure(CONFIG + "require_token = true\n")
    bench.place.script(
        "check",
        '#!/bin/sh\necho "$HEARTBEAT_TOKEN" >> "$HEARTBEAT_HOME/tokens"\n'
        'printf \'{"wakeAgent": false, "token": "%s"}\' "$HEARTBEAT_TOKEN"\n',
    )
    assert [verdict(bench.tick(minute)) for minute in range(3)] == [Verdict.QUIET] * 3
    assert len(set((bench.place.folder / "tokens").read_text().split())) == 3
    bench.place.says("check", '{"wakeAgent": true, "token": "guessed"}\n')
    bench.place.script("check")
    assert bench.tick(3).judgement is not None
    assert bench.ledger.runs()[0].code == "token_wrong"


def test_a_secret_that_is_gone_at_run_time_is_a_failed_run(bench: Bench) -> None:
    secret = bench.place.file("token", "hunter2\n")
    bench.place.configure(CONFIG + '[jobs.check.secrets]\nTOKEN = { file = "token" }\n')
    house = bench.house()
    assert verdict(tick(house, house.config.jobs["check"], None, NOW)) is Verdict.QUIET
    secret.unlink()
    ticked = tick(house, house.config.jobs["check"], None, at(1))
    run = bench.ledger.run(ticked.run_id)
    assert (run.verdict, run.state) == (Verdict.FAILED, "ended")
    assert str(secret) in run.reason
    assert "hunter2" not in (bench.place.state / "ledger.db").read_bytes().decode("latin-1")


def test_a_cache_folder_that_cannot_be_made_is_a_failed_run(bench: Bench) -> None:
    (bench.place.folder / "cache").write_text("not a folder")
    assert bench.ledger.run(bench.tick(0).run_id).verdict is Verdict.FAILED


# Faults


def test_three_faults_in_a_row_are_one_incident_and_a_good_run_ends_it(bench: Bench) -> None:
    bench.place.says("check", "no gate")
    for minute in range(2):
        bench.tick(minute)
        assert bench.ledger.incidents() == []
    for minute in range(2, 6):
        bench.tick(minute)
        (incident,) = bench.ledger.incidents(open_only=True)
        assert (incident.subject, incident.code, incident.opened_at) == ("job:check", "gate_not_json", at(2))
    bench.place.says("check", {"wakeAgent": False})
    bench.tick(6)
    (incident,) = bench.ledger.incidents()
    assert incident.resolved_at == at(6)
    bench.place.says("check", "no gate")
    bench.tick(7)
    assert bench.ledger.incidents(open_only=True) == []


def test_faults_push_the_next_slots_away_and_a_good_run_brings_them_back(bench: Bench) -> None:
    bench.place.says("check", "", 1)
    backoffs = []
    for minute in range(9):
        bench.tick(minute)
        state = bench.ledger.state("check")
        assert state is not None
        assert state.backoff_until is not None
        backoffs.append((state.backoff_until - at(minute)) / timedelta(minutes=1))
    assert backoffs == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    bench.place.says("check", {"wakeAgent": False})
    bench.tick(9)
    state = bench.ledger.state("check")
    assert state is not None
    assert state.backoff_until is None


def test_a_source_that_keeps_failing_is_an_incident_of_its_own_and_hides_no_finding(bench: Bench) -> None:
    bad, good = {"name": "a.ics", "ok": False, "message": "gone"}, {"name": "b.ics", "ok": True}
    for minute in range(3):
        bench.place.finds({"key": f"k{minute}"}, sources=[bad, good])
        assert actions(bench.tick(minute))[-1] == "wake"
    (incident,) = bench.ledger.incidents(open_only=True)
    assert (incident.subject, incident.code, incident.message) == ("source:check/a.ics", "source_failed", "gone")
    bench.place.finds(sources=[{**bad, "ok": True}, good], wake=False)
    bench.tick(3)
    assert bench.ledger.incidents(open_only=True) == []


def test_while_a_source_fails_nothing_counts_as_absent(bench: Bench) -> None:
    bench.place.finds({"key": "k", "when_absent": "retract"})
    bench.tick(0)
    bench.place.says("check", {"wakeAgent": False, "sources": [{"name": "s", "ok": False, "message": "gone"}]})
    assert actions(bench.tick(1)) == []
    bench.place.says("check", {"wakeAgent": False, "sources": [{"name": "s", "ok": True}]})
    (decision,) = bench.tick(2).plan.decisions
    assert decision.change in (Change.RETRACTION, Change.WITHDRAWAL)


# Slots


def test_a_slot_runs_once(bench: Bench) -> None:
    bench.tick(0, at(0))
    with pytest.raises(Refused, match="that slot is ran"):
        bench.tick(1, at(0))
    assert len(bench.ledger.runs()) == 1


def test_a_job_runs_once_at_a_time(bench: Bench) -> None:
    bench.place.script("check", FOREVER)
    first = threading.Thread(target=lambda: bench.tick(0))
    first.start()
    wait_for(bench.place.folder / "started")
    with pytest.raises(Refused, match="is not finished"):
        bench.tick(1)
    bench.stop.set()
    first.join(timeout=30)
    (run,) = bench.ledger.runs()
    assert (run.state, run.reason) == ("interrupted", "heartbeat was stopping")


# What breaks on the way


@pytest.fixture
def hooks() -> Iterator[list[Callable[[str], None]]]:
    yield beat.step_hooks
    beat.step_hooks.clear()


def test_the_steps_are_passed_in_order(bench: Bench, hooks: list[Callable[[str], None]]) -> None:
    passed: list[str] = []
    hooks.append(passed.append)
    bench.tick(0)
    assert passed == ["claim", "run", "judge", "record"]


@pytest.mark.parametrize("step", ["run", "judge"])
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit, MemoryError])
def test_whatever_breaks_in_the_middle_leaves_no_run_running(
    bench: Bench, hooks: list[Callable[[str], None]], step: str, error: type[BaseException]
) -> None:
    def fail(name: str) -> None:
        if name == step:
            raise error

    hooks.append(fail)
    with pytest.raises(error):
        bench.tick(0, at(0))
    (run,) = bench.ledger.runs()
    assert (run.state, run.verdict) == ("interrupted", None)
    hooks.clear()
    assert verdict(bench.tick(1)) is Verdict.QUIET


@pytest.mark.parametrize(
    ("error", "state", "reason"),
    [
        (LedgerMistake("cannot record this: a rule"), "interrupted", "cannot record this: a rule"),
        (Invalid("cannot do this"), "interrupted", "cannot do this"),
        (LedgerError("cannot write: the disk is full"), "running", ""),
        (LedgerCorrupt("cannot use it: damaged"), "running", ""),
        (Refused("cannot end it: it is interrupted"), "running", ""),
    ],
)
def test_a_run_is_given_up_with_its_reason_unless_the_ledger_is_in_the_way(
    bench: Bench, hooks: list[Callable[[str], None]], error: Exception, state: str, reason: str
) -> None:
    def fail(name: str) -> None:
        if name == "judge":
            raise error

    hooks.append(fail)
    with pytest.raises(type(error)) as caught:
        bench.tick(0, at(0))
    assert caught.value is error
    (run,) = bench.ledger.runs()
    assert (run.state, run.reason) == (state, reason)


def test_a_run_that_breaks_a_rule_of_the_ledger_costs_only_itself(bench: Bench) -> None:
    bench.place.finds({"key": "k"})
    with bench.ledger._database.writing() as db:
        db.execute("CREATE TRIGGER no BEFORE INSERT ON findings BEGIN SELECT RAISE(ABORT, 'a rule is broken'); END")
    with pytest.raises(LedgerMistake, match="a rule is broken; please report this"):
        bench.tick(0, at(0))
    (run,) = bench.ledger.runs()
    assert (run.state, run.reason[:19], bench.ledger.findings()) == ("interrupted", "cannot record this ", [])
    with bench.ledger._database.writing() as db:
        db.execute("DROP TRIGGER no")
    assert actions(bench.tick(1, at(1))) == ["wake"]


def test_a_key_that_holds_a_nul_is_told_once(bench: Bench) -> None:
    bench.place.finds({"key": "mail\0x"}, {"key": "mail\0y"}, {"key": "mail"})
    assert actions(bench.tick(0)) == ["wake"] * 3
    assert actions(bench.tick(1)) == ["duplicate"] * 3


def test_a_run_that_breaks_while_the_ledger_is_locked_is_not_left_running_either(
    bench: Bench, hooks: list[Callable[[str], None]]
) -> None:
    def fail(name: str) -> None:
        if name == "judge":
            bench.lock_for_a_second()
            raise ZeroDivisionError

    hooks.append(fail)
    with pytest.raises(ZeroDivisionError):
        bench.tick(0)
    assert [run.state for run in bench.ledger.runs()] == ["interrupted"]


def test_a_bug_in_a_rule_leaves_no_run_running(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> object:
        raise ZeroDivisionError

    monkeypatch.setattr(beat, "decide", broken)
    with pytest.raises(ZeroDivisionError):
        bench.tick(0)
    assert [run.state for run in bench.ledger.runs()] == ["interrupted"]


def test_when_told_to_stop_before_the_start_the_script_never_runs(bench: Bench) -> None:
    bench.stop.set()
    ticked = bench.tick(0, at(0))
    assert ticked.judgement is None
    assert not (bench.place.folder / "runs.log").exists()
    assert [run.state for run in bench.ledger.runs()] == ["interrupted"]


def test_a_result_waits_for_a_ledger_that_another_process_has_locked(
    bench: Bench, hooks: list[Callable[[str], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.place.finds({"key": "k"})
    warned: list[str] = []
    monkeypatch.setattr(beat, "warn", lambda word, **_: warned.append(word))
    hooks.append(lambda name: bench.lock_for_a_second() if name == "judge" else None)
    ticked = bench.tick(0)
    assert "ledger_waits" in warned
    assert len(ticked.wakes) == 1
    assert bench.ledger.run(ticked.run_id).state == "ended"
    assert [finding.state for finding in bench.ledger.findings()] == [State.WAKE]


class Failing:
    """A write that fails so often before it works."""

    def __init__(self, times: int, error: Exception) -> None:
        self.times = times
        self.error = error
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        if self.calls <= self.times:
            raise self.error
        return "written"


def test_a_write_is_tried_until_it_works(bench: Bench) -> None:
    write = Failing(2, LedgerError("the disk is full"))
    assert persist(bench.house(), write) == "written"
    assert write.calls == 3


@pytest.mark.parametrize("error", [LedgerCorrupt("damaged"), Refused("not running"), ValueError("a bug")])
def test_a_write_that_trying_again_cannot_help_is_tried_once(bench: Bench, error: Exception) -> None:
    write = Failing(9, error)
    with pytest.raises(type(error)):
        persist(bench.house(), write)
    assert write.calls == 1


def test_a_stopping_daemon_does_not_try_for_ever(bench: Bench) -> None:
    bench.stop.set()
    write = Failing(99, LedgerError("the disk is full"))
    with pytest.raises(LedgerError):
        persist(bench.house(), write)
    assert write.calls <= 2


def test_a_command_has_only_so_much_patience(bench: Bench) -> None:
    write = Failing(99, LedgerError("the disk is full"))
    began = time.monotonic()
    with pytest.raises(LedgerError):
        persist(bench.house(patience=timedelta(seconds=0.6)), write)
    assert time.monotonic() - began < 10


def test_nothing_of_a_decision_depends_on_the_clock_that_ran_meanwhile(bench: Bench) -> None:
    bench.place.finds({"key": "k", "useful_until": at(0).isoformat()})
    (decision,) = bench.tick(0).plan.decisions
    assert decision.action is Action.WAKE


def test_a_secret_that_a_script_prints_is_not_written_down(place: Place) -> None:
    canary = "canary-7f3a9c"
    place.configure(CONFIG + '\n[jobs.check.secrets]\nTOKEN = { env = "THE_TOKEN" }\n')
    place.script("check", '#!/bin/sh\necho "$TOKEN"\necho "$TOKEN" >&2\nexit 3\n')
    done = place.run("tick", "check", "--json", env={"THE_TOKEN": canary})
    assert "[secret TOKEN]" in done.out
    kept = b"".join(path.read_bytes() for path in place.state.rglob("*") if path.is_file())
    assert canary not in done.out + done.err
    assert canary.encode() not in kept
