"""The ledger as a file: whole, private, migrated, and clear about what is wrong with it."""

from __future__ import annotations

import os
import random
import resource
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from heartbeat.clock import new_id
from heartbeat.errors import (
    HeartbeatError,
    LedgerCorrupt,
    LedgerError,
    LedgerMistake,
    LedgerTooNew,
    NotFound,
    Refused,
    SlotTaken,
)
from heartbeat.model import (
    Action,
    Change,
    ClockEvent,
    Decision,
    Execution,
    Fate,
    FaultChange,
    Finding,
    Gate,
    Interruption,
    JobState,
    Judgement,
    LedgerFinding,
    Past,
    Plan,
    QueueItem,
    Run,
    Slot,
    SlotState,
    Step,
    Streak,
    Target,
    Usage,
    Verdict,
    View,
)
from heartbeat.paths import share
from heartbeat.stores.sqlite import SqliteLedger, due_items, open_existing, open_ledger, quarantine
from heartbeat.stores.sqlite import database as database_module
from heartbeat.stores.sqlite.database import Database, open_file
from heartbeat.stores.sqlite.migrations import migrations

T0 = datetime(2026, 6, 10, 8, 0, tzinfo=UTC)
SHIPPED = share("ledger")
NOBODY = 65534


def at(minute: float) -> datetime:
    return T0 + timedelta(minutes=minute)


def record(ledger: SqliteLedger, minute: float, *keys: str, body: str = "") -> str:
    """A whole run whose findings wait for the brief; its id."""
    run = Run(new_id("run", at(minute)), "job", "schedule", at(minute), at(minute))
    ledger.claim(run, "1:1")

    def choose(view: View) -> Plan:
        return Plan(
            tuple(
                Decision(Finding(key, key, body=body), Action.BRIEF, Change.NEW, "quiet", "why", view.known.get(key))
                for key in keys
            )
        )

    reported = tuple(Finding(key, key) for key in keys)
    judgement = Judgement(Verdict.QUIET, "quiet", "because", gate=Gate(False, findings=reported))
    ledger.record(run, Execution(at(minute), at(minute)), judgement, choose)
    return run.id


def wake(ledger: SqliteLedger, minute: float, target: Target = Target("claude")) -> str:  # noqa: B008 - frozen
    """The id of a wake that waits."""
    run = Run(new_id("run", at(minute)), "wakes", "manual", None, at(minute))
    ledger.claim(run, "1:1")
    plan = Plan((Decision(Finding("w", "w"), Action.WAKE, Change.NEW, "wake", "", target=target),))
    _plan, (wake_id,) = ledger.record(run, Execution(at(0), at(0)), Judgement(Verdict.WAKE, "", ""), lambda _: plan)
    return wake_id


def record_until_it_fails(ledger: SqliteLedger, findings: int, body: str) -> None:
    for minute in range(1, 3000):
        record(ledger, minute, *(f"{at(minute)}-{number}" for number in range(findings)), body=body)


def waiting(ledger: SqliteLedger) -> list[str]:
    return [item.finding.key for item in ledger.brief(at(9999)).items]


def database_of(ledger: SqliteLedger) -> Database:
    return ledger._database


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "ledger.db"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a closed ledger with something in it."""
    path = tmp_path_factory.mktemp("recorded") / "ledger.db"
    ledger = open_ledger(path)
    for minute in range(4):
        record(ledger, minute, *(f"{minute}-{number}" for number in range(50)), body="x" * 500)
    ledger.close()
    return path.read_bytes()


@pytest.fixture
def full_path(path: Path, recorded: bytes) -> Path:
    path.parent.mkdir()
    path.write_bytes(recorded)
    return path


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def as_ordinary_user() -> Iterator[None]:
    """Permissions do not bind root."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder of the ordinary user, who cannot enter those of root's tests."""
    with tempfile.TemporaryDirectory() as name:
        if os.geteuid() == 0:
            os.chown(name, NOBODY, -1)
        yield Path(name)


# Opening


def test_what_was_recorded_is_there_when_the_ledger_is_opened_again(path: Path) -> None:
    ledger = open_ledger(path)
    run_id = record(ledger, 0, "a")
    ledger.close()
    again = open_ledger(path, check=True)
    assert again.run(run_id).verdict is Verdict.QUIET
    assert waiting(again) == ["a"]
    again.close()


def test_nothing_is_created_by_looking(path: Path) -> None:
    with pytest.raises(NotFound, match="nothing recorded yet; start `heartbeat run`"):
        open_existing(path)
    assert due_items(path, T0) == []
    assert not path.parent.exists()
    open_ledger(path).close()
    open_existing(path).close()


def test_the_disk_is_asked_to_keep_every_commit(path: Path) -> None:
    ledger = open_ledger(path)
    with database_of(ledger).outside() as db:
        pragmas = {name: db.execute(f"PRAGMA {name}").fetchone()[0] for name in (
            "journal_mode", "synchronous", "foreign_keys", "busy_timeout", "auto_vacuum", "fullfsync",
        )}  # fmt: skip
    ledger.close()
    assert pragmas == {
        "journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 5000, "auto_vacuum": 2,
        "fullfsync": 1,
    }  # fmt: skip


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o777])
def test_the_files_are_private_whatever_the_umask(path: Path, mask: int) -> None:
    with umask(mask):
        ledger = open_ledger(path)
        record(ledger, 0, "a")
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    ledger.close()
    assert modes == {"ledger.db": 0o600, "ledger.db-wal": 0o600, "ledger.db-shm": 0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_files_that_others_can_read_are_made_private_again(full_path: Path) -> None:
    full_path.chmod(0o644)
    open_ledger(full_path).close()
    assert stat.S_IMODE(full_path.stat().st_mode) == 0o600


def test_a_folder_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    open_ledger(tmp_path / "ledger.db").close()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


@pytest.mark.parametrize("name", ["with space", "quest?ion", "per%20cent", "ha#sh", "ü", "-dash"])
def test_any_folder_name_will_do(tmp_path: Path, name: str) -> None:
    path = tmp_path / name / "ledger.db"
    ledger = open_ledger(path)
    record(ledger, 0, "a")
    assert due_items(path, T0) == []
    ledger.close()
    assert path.is_file()


def test_a_creation_that_fails_leaves_nothing(path: Path, tmp_path: Path) -> None:
    folder = migrations_with(tmp_path, "CREATE TABLE (;")
    with pytest.raises(LedgerError):
        open_file(path, migrations=folder)
    assert list(path.parent.iterdir()) == []
    open_ledger(path).close()


# Migrations


def migrations_with(tmp_path: Path, *scripts: str, count: int = 99) -> Path:
    """The first *count* shipped migrations, and then *scripts*."""
    folder = tmp_path / "migrations"
    folder.mkdir(exist_ok=True)
    texts = [file.read_text("utf-8") for file in migrations(SHIPPED).values()][:count] + list(scripts)
    for number, text in enumerate(texts, start=1):
        (folder / f"{number:04d}_x.sql").write_text(text, "utf-8")
    return folder


def schema_of(path: Path) -> list[tuple[str, str]]:
    db = sqlite3.connect(path)
    rows = db.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
    version = db.execute("PRAGMA user_version").fetchone()[0]
    db.close()
    return [*rows, ("version", str(version))]


def test_migrations_are_numbered_without_a_gap() -> None:
    assert list(migrations(SHIPPED)) == list(range(1, len(migrations(SHIPPED)) + 1))


@pytest.mark.parametrize("count", migrations(SHIPPED))
def test_a_ledger_of_any_earlier_version_becomes_the_newest(tmp_path: Path, count: int) -> None:
    added = "ALTER TABLE jobs ADD COLUMN later TEXT;\nCREATE TABLE later (x TEXT) STRICT; -- one; two\n"
    earlier = tmp_path / "earlier.db"
    open_file(earlier, migrations=migrations_with(tmp_path, count=count)).close()
    newest = migrations_with(tmp_path, added)
    open_file(earlier, migrations=newest, check=True).close()
    fresh = tmp_path / "fresh.db"
    open_file(fresh, migrations=newest, check=True).close()
    assert schema_of(earlier) == schema_of(fresh)
    assert ("version", str(len(migrations(newest)))) in schema_of(earlier)


def test_a_migration_keeps_the_data(full_path: Path, tmp_path: Path) -> None:
    folder = migrations_with(tmp_path, "ALTER TABLE findings ADD COLUMN later TEXT;")
    database = open_file(full_path, migrations=folder)
    with database.reading() as db:
        assert db.execute("SELECT count(*), count(later) FROM findings").fetchone()[:] == (200, 0)
    database.close()


FIRST_FORMAT = """
    INSERT INTO jobs (job, anchor_at, last_slot_at, fingerprint)
    VALUES ('ran', :at, :at, 'f'), ('cut-off', :at, :at, ''), ('new', :at, NULL, '');
    INSERT INTO slots (job, slot_at, state, reason, run_id, at) VALUES
    ('ran', :at, 'ran', 'stands for two', 'run_1', :at),
    ('ran', '2026-06-10T07:00:00.000000Z', 'skipped', 'late', NULL, :at),
    ('cut-off', :at, 'interrupted', '', 'run_2', :at);
"""


def test_slots_of_the_first_format_keep_their_fates_and_schedules_go_on(tmp_path: Path, path: Path) -> None:
    path.parent.mkdir()
    database = open_file(path, migrations=migrations_with(tmp_path, count=1))
    with database.writing() as db:
        for statement in FIRST_FORMAT.split(";")[:-1]:
            db.execute(statement, {"at": "2026-06-10T08:00:00.000000Z"})
    database.close()
    with open_ledger(path, check=True) as ledger:
        assert ledger.slots() == [
            Slot("cut-off", T0, T0, 1, SlotState.INTERRUPTED, "", "run_2", T0, 1),
            Slot("ran", T0, T0, 1, SlotState.RAN, "stands for two", "run_1", T0, 1),
            Slot("ran", at(-60), at(-60), 1, SlotState.SKIPPED, "late", None, T0, 0),
        ]
        assert ledger.states() == {
            "cut-off": JobState("cut-off", T0, T0, interrupted_at=T0, attempts=1, entered_at=T0),
            "new": JobState("new", T0),
            "ran": JobState("ran", T0, T0, fingerprint="f", attempts=1, entered_at=T0),
        }
        assert ledger.enlist([("ran", "every 60s"), ("new", "off")], at(9)) == ["new"]
        with pytest.raises(SlotTaken):
            ledger.claim(Run("run_3", "ran", "schedule", T0, at(9)), "1:1")
        ledger.claim(Run("run_3", "cut-off", "schedule", T0, at(9)), "1:1", again=True)
        assert ledger.clock_events() == []


FOURTH_FORMAT = """
    INSERT INTO jobs (job, anchor_at) VALUES ('job', :at);
    INSERT INTO runs (id, job, trigger, owner, state, started_at, ended_at, verdict)
    VALUES ('run_1', 'job', 'manual', '1:1', 'ended', :at, :at, 'wake');
    INSERT INTO slots VALUES ('job', :at, :at, 1, 'ran', '', 'run_1', 1, :at);
    INSERT INTO clock_events VALUES (:at, 'back', -1.0, '');
    INSERT INTO scopes VALUES ('job', 'part', :at);
    INSERT INTO streaks VALUES ('job:job', 3, 'exit 1', NULL);
    INSERT INTO incidents (id, subject, code, message, opened_at) VALUES ('inc_1', 'job:job', 'failed', 'exit 1', :at);
    INSERT INTO briefs VALUES ('brief_1', NULL, :at, 1);
    INSERT INTO queue (id, key, message, due_at, source, urgency, created_at)
    VALUES ('item_1', 'rent', 'pay', :at, '', 'normal', :at);
    INSERT INTO queue_imports VALUES ('rent', :at);
    INSERT INTO wakes (id, job, run_id, agent, state, created_at, next_attempt_at, attempts)
    VALUES ('wake_1', 'job', 'run_1', 'claude', 'pending', :at, :at, 3),
    ('wake_2', 'job', 'run_1', 'claude', 'settled', :at, NULL, 1);
    INSERT INTO attempts VALUES ('wake_1', 1, :at, :at, 'failed', '503'), ('wake_1', 2, :at, :at, 'interrupted', ''),
    ('wake_1', 3, :at, :at, 'failed', '503'), ('wake_2', 1, :at, :at, 'accepted', '');
    INSERT INTO findings (id, job, key, version, change, state, rule, reason, current, first_seen_at, last_seen_at,
    run_id, wake_id, title, kind, body, urgency, source, url, origin, when_absent, data)
    SELECT 'fnd_' || state, 'job', state, '', 'new', state, 'x', '', 1, :at, :at, 'run_1', wake, state, '', '', urgency,
    '', '', 'owner', 'keep', 'null' FROM (
    SELECT 'held' AS state, NULL AS wake, 'normal' AS urgency UNION ALL SELECT 'wake', 'wake_1', 'critical'
    UNION ALL SELECT 'told', 'wake_2', 'high' UNION ALL SELECT 'brief', NULL, 'low');
    INSERT INTO finding_events SELECT id, :at, state, rule, '', run_id, wake_id, NULL FROM findings;
    INSERT INTO decisions SELECT 'run_1', rowid, id, key, title, 'wake', 'new', 'x', '', '[]' FROM findings;
"""


def test_a_ledger_of_the_fourth_format_keeps_all_that_is_in_it_and_goes_on(tmp_path: Path, path: Path) -> None:
    path.parent.mkdir()
    database = open_file(path, migrations=migrations_with(tmp_path, count=4))
    with database.writing() as db:
        for statement in FOURTH_FORMAT.split(";")[:-1]:
            db.execute(statement, {"at": "2026-06-10T08:00:00.000000Z"})
        before = rows_of(db)
    assert all(before.values()), "it has something in each table"
    database.close()
    with open_ledger(path, check=True) as ledger:
        with database_of(ledger).reading() as db:
            after = rows_of(db)
        # What was held had no end: it is decided at once. Only what failed counts as a failure.
        held, wake = ledger.finding("fnd_held"), ledger.wake("wake_1")
        assert (held.held_until, held.events[0].trace) == (T0, ())
        assert (wake.attempts, wake.failures, wake.profile, wake.brief_id) == (3, 2, "", None)
        assert [attempt.outcome for attempt in wake.history] == ["failed", "interrupted", "failed"]
        assert ledger.past(at(1)).interruptions == (Interruption(T0, critical=True), Interruption(T0))
        assert (ledger.past(at(1)).joinable, ledger.past(at(1)).spending) == (frozenset(), ())
        assert ledger.view("job", ["told"], at(1)).known["told"].since == T0
        assert ledger.next_due(at(1)) == T0
        assert ledger.decide_held(hold_on, at(1)) == ()
        assert [run.id for run, _decided in ledger.decided_since(T0)] == ["run_1"]
        assert ledger.begin_wake("wake_1", "1:1", at(1)) is not None
    # Columns are only ever added, at the end.
    assert {table: [row[: len(rows[0])] for row in after[table]] for table, rows in before.items()} == before


def rows_of(db: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    """All that is in each table that can hold something."""
    tables = [row["name"] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    return {table: [tuple(row) for row in db.execute(f"SELECT * FROM {table}")] for table in tables}


@pytest.mark.parametrize(
    "last",
    ["CREATE TABLE broken (;", "INSERT INTO nowhere VALUES (1);", "SELECT 1; SELECT 2", "CREATE TABLE jobs (x);"],
)
def test_a_migration_that_fails_leaves_version_and_data_as_they_were(
    full_path: Path, tmp_path: Path, last: str
) -> None:
    before = schema_of(full_path)
    folder = migrations_with(tmp_path, f"DELETE FROM findings;\nCREATE TABLE fine (x);\n{last}")
    with pytest.raises((LedgerError, sqlite3.ProgrammingError)):
        open_file(full_path, migrations=folder)
    assert schema_of(full_path) == before
    ledger = open_ledger(full_path, check=True)
    assert len(waiting(ledger)) == 200
    ledger.close()


def test_a_failing_migration_says_which_and_that_nothing_was_lost(full_path: Path, tmp_path: Path) -> None:
    folder = migrations_with(tmp_path, "CREATE TABLE broken (;")
    with pytest.raises(LedgerError, match=r"to format \d with .*_x\.sql: near .*; it is unchanged"):
        open_file(full_path, migrations=folder)


def test_a_ledger_of_a_later_heartbeat_is_left_alone(full_path: Path) -> None:
    db = sqlite3.connect(full_path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    for opener in (open_ledger, open_existing):
        with pytest.raises(LedgerTooNew, match=r"its format is 99 .*upgrade heartbeat"):
            opener(full_path)
    assert ("version", "99") in schema_of(full_path)


# Damage


def overwrite(path: Path, offset: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def truncate(path: Path, size: int) -> None:
    os.truncate(path, size)


def drop(path: Path, what: str) -> None:
    db = sqlite3.connect(path)
    db.execute(f"DROP {what}")
    db.close()


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def replace_by_other_database(path: Path) -> None:
    path.unlink()
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE t (x)")
    db.close()


def leave_only_the_log(path: Path) -> None:
    path.unlink()
    Path(f"{path}-wal").write_bytes(b"log")


DAMAGES: dict[str, Callable[[Path], None]] = {
    "cut to nothing": lambda path: truncate(path, 0),
    "cut in the header": lambda path: truncate(path, 50),
    "cut in the middle": lambda path: truncate(path, 40960),
    "garbage for a header": lambda path: overwrite(path, 0, os.urandom(100)),
    "text": lambda path: overwrite(path, 0, b"{}\n" * 50_000),
    "zeroed pages": lambda path: overwrite(path, 4096 * 10, bytes(4096 * 30)),
    "a flipped page header": lambda path: overwrite(path, 4096 * 2, b"\xff" * 12),
    "a folder": replace_by_folder,
    "another database": replace_by_other_database,
    "a missing table": lambda path: drop(path, "TABLE queue"),
    "a missing index": lambda path: drop(path, "INDEX findings_current"),
    "only its log": leave_only_the_log,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_found_named_and_can_be_set_aside(full_path: Path, damage: str) -> None:
    DAMAGES[damage](full_path)
    with pytest.raises(LedgerCorrupt) as caught:
        open_ledger(full_path, check=True)
    assert str(caught.value).startswith(f"cannot use the ledger {full_path}: ")
    assert str(caught.value).endswith(
        "; start `heartbeat run`, which sets it aside and says so, or run `heartbeat ledger quarantine`"
    )
    assert (caught.value.exit_code, caught.value.retryable) == (4, False)
    aside = quarantine(full_path, at(0.5))
    assert aside.name == "ledger.db.corrupt-20260610T080030Z"
    ledger = open_ledger(full_path, check=True)
    assert waiting(ledger) == []
    record(ledger, 0, "a")
    ledger.close()


@pytest.mark.parametrize("damage", ["cut in the middle", "zeroed pages", "a missing table"])
def test_damage_met_in_use_is_named_as_well(full_path: Path, damage: str) -> None:
    DAMAGES[damage](full_path)
    with pytest.raises(LedgerCorrupt, match="cannot use the ledger"):
        use(full_path)


def use(path: Path) -> None:
    """Everything, without a check before."""
    due_items(path, at(999))
    ledger = open_ledger(path)
    try:
        for row in ledger.findings(limit=1000):
            ledger.finding(row.id)
        for run in ledger.runs(limit=1000):
            ledger.decisions(run.id)
        ledger.consume_brief(at(100))
        ledger.queue(at(999))
        record(ledger, 1000, "1-1", "new")
        ledger.prune(at(999_999), timedelta(days=1), 1)
    finally:
        ledger.close()


@pytest.mark.parametrize("seed", range(40))
def test_flipped_bytes_never_raise_anything_but_a_clear_error(full_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    content = bytearray(full_path.read_bytes())
    for _ in range(chance.choice((1, 20, 500))):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    full_path.write_bytes(content)
    try:
        use(full_path)
    except NotFound:
        pass  # a flip in an id or an index can hide a row, which no reading of one row could tell
    except HeartbeatError as error:
        assert str(full_path) in str(error)  # noqa: PT017 - many flips are harmless, and none may raise anything else


INSTANTS = {
    "jobs": ("anchor_at", "last_slot_at", "backoff_until"),
    "slots": ("slot_at", "last_at", "at"),
    "clock_events": ("at",),
    "runs": ("slot_at", "started_at", "ended_at"),
    "findings": ("first_seen_at", "last_seen_at", "useful_until", "starts_at", "occurred_at", "held_until"),
    "finding_events": ("at",),
    "wakes": ("created_at", "next_attempt_at", "useful_until", "settled_at"),
    "attempts": ("started_at", "ended_at"),
    "holds": ("until", "since"),
    "streaks": ("last_ok_at",),
    "incidents": ("opened_at", "resolved_at"),
    "briefs": ("until",),
    "queue": ("due_at", "until", "cancelled_at", "snoozed_slot", "snoozed_until", "over_at"),
}
WORDS = {
    "slots": ("state",),
    "runs": ("verdict",),
    "findings": ("change", "state", "urgency", "when_absent"),
    "finding_events": ("state",),
    "decisions": ("action", "change"),
    "queue": ("urgency",),
}
VALUES = {
    "runs": ("sources", "data"),
    "findings": ("data",),
    "finding_events": ("trace",),
    "decisions": ("trace",),
}
GARBAGE = [
    *((table, column, "2020-garbage") for table, columns in INSTANTS.items() for column in columns),
    *((table, column, "2020-01-01T00:00:00") for table, columns in INSTANTS.items() for column in columns),
    *((table, column, "zz") for table, columns in WORDS.items() for column in columns),
    *((table, column, "[" * 100_000) for table, columns in VALUES.items() for column in columns),
    *((table, column, '{"a":') for table, columns in VALUES.items() for column in columns),
    ("runs", "sources", "[7]"),
    ("decisions", "trace", '[["only a rule"]]'),
]


@pytest.fixture(scope="module")
def eventful(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a closed ledger with something in each table that is read."""
    path = tmp_path_factory.mktemp("eventful") / "ledger.db"
    with open_ledger(path) as ledger:
        record(ledger, 0, "briefed")
        ledger.consume_brief(at(1))
        run = Run("run_1", "job", "schedule", at(2), at(2))
        ledger.claim(run, "1:1")
        streak = FaultChange(Streak("job:job", 3, "gone", at(0)), opens=True, code="failed")
        step = Step("a", "b", "c")
        told = Decision(
            Finding("told", "Told"), Action.WAKE, Change.NEW, "wake", "why", trace=(step,), target=Target("claude")
        )
        held = Decision(Finding("held", "Held"), Action.HOLD, Change.NEW, "quiet_hours", "night", until=at(90))
        judgement = Judgement(Verdict.WAKE, "wake", "because", gate=Gate(True))
        plan = Plan((told, held), (streak,), at(3))
        _plan, (wake_id,) = ledger.record(run, Execution(at(2), at(2)), judgement, lambda _view: plan)
        ledger.begin_wake(wake_id, "1:1", at(3))
        ledger.postpone_wake(wake_id, "busy", at(4), at(4), usage=Usage(1, 2, 0.5))
        ledger.hold_agent("claude", at(70), "429", at(4))
        record(ledger, 5, "waits")
        ledger.pass_over([("job", Fate(SlotState.MISSED, at(6), at(9), "late", 4))], at(10))
        ledger.note_clock(ClockEvent(at(6), "suspend", 180.0, ""))
        ledger.enqueue(QueueItem("", "rent", "pay", at(5)), T0)
    return path.read_bytes()


def readings(path: Path) -> list[Callable[[SqliteLedger], object]]:
    """Every way to read a row."""
    return [
        lambda _ledger: due_items(path, at(99)),
        lambda ledger: ledger.states(),
        lambda ledger: ledger.state("job"),
        lambda ledger: ledger.slots(),
        lambda ledger: ledger.slots("job", at=at(7)),
        lambda ledger: ledger.clock_events(),
        lambda ledger: ledger.view("job", ["told", "briefed", "waits"], at(99)),
        lambda ledger: ledger.orphaned(lambda _owner: False),
        lambda ledger: ledger.due_wakes(at(99)),
        lambda ledger: ledger.next_due(at(99)),
        lambda ledger: ledger.past(at(99)),
        lambda ledger: ledger.waiting(),
        lambda ledger: list(ledger.decided_since(at(0))),
        lambda ledger: ledger.brief(at(99)),
        lambda ledger: ledger.queue(at(99)),
        lambda ledger: ledger.queue(at(99), waiting_only=True),
        lambda ledger: ledger.runs(),
        lambda ledger: ledger.last_runs(),
        lambda ledger: [ledger.run(run_id) for run_id in ids_in(path, "runs")],
        lambda ledger: [ledger.decisions(run_id) for run_id in ids_in(path, "runs")],
        lambda ledger: [ledger.finding(finding_id) for finding_id in ids_in(path, "findings")],
        lambda ledger: ledger.findings(),
        lambda ledger: [ledger.wake(wake_id) for wake_id in ids_in(path, "wakes")],
        lambda ledger: ledger.wakes(),
        lambda ledger: ledger.incidents(),
        # These read what they are about to change.
        lambda ledger: ledger.decide_held(hold_on, at(99)),
        lambda ledger: ledger.release_agent("claude", at(99)),
        lambda ledger: [ledger.begin_wake(wake_id, "1:1", at(99)) for wake_id in ids_in(path, "wakes")],
        lambda ledger: ledger.recover("job:job", at(99)),
        lambda ledger: ledger.enqueue(QueueItem("", "rent", "pay more", at(5)), T0),
        lambda ledger: ledger.snooze_item("rent", at(199), at(99)),
        lambda ledger: ledger.cancel_item("rent", at(99)),
        lambda ledger: ledger.consume_brief(at(99)),
        lambda ledger: record(ledger, 98, "told"),
        lambda ledger: ledger.interrupt(lambda _owner: False, at(99)),
        lambda ledger: ledger.prune(at(999_999), timedelta(days=1), 0),
    ]


def hold_on(held: Sequence[LedgerFinding], _past: Past) -> list[Decision]:
    return [Decision(row.finding, Action.HOLD, Change.SAME, "again", "", until=at(999)) for row in held]


def ids_in(path: Path, table: str) -> list[str]:
    db = sqlite3.connect(path)
    ids = [row[0] for row in db.execute(f"SELECT id FROM {table}")]
    db.close()
    return ids


def test_every_way_to_read_works_on_a_sound_ledger(path: Path, eventful: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(eventful)
    with open_ledger(path) as ledger:
        for reading in readings(path):
            reading(ledger)


@pytest.mark.parametrize(("table", "column", "garbage"), GARBAGE, ids=lambda value: value[:20])
def test_a_value_that_heartbeat_never_wrote_is_damage_wherever_it_is_read(
    path: Path, eventful: bytes, table: str, column: str, garbage: str
) -> None:
    path.parent.mkdir()
    path.write_bytes(eventful)
    db = sqlite3.connect(path)
    db.execute("PRAGMA ignore_check_constraints = ON")
    assert db.execute(f"UPDATE OR REPLACE {table} SET {column} = ?", (garbage,)).rowcount
    db.commit()
    db.close()
    found = []
    with open_ledger(path) as ledger:
        for reading in readings(path):
            try:
                reading(ledger)
            except LedgerCorrupt as error:
                found.append(str(error))
            except Refused:
                pass  # a run that could not be recorded is in the way of the next
    assert found
    assert all(f"cannot use the ledger {path}: a row is damaged (" in message for message in found)


def test_a_format_below_zero_is_damage(full_path: Path) -> None:
    db = sqlite3.connect(full_path)
    db.execute("PRAGMA user_version = -5")
    db.close()
    with pytest.raises(LedgerCorrupt, match="but not heartbeat's"):
        open_ledger(full_path)


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("UPDATE findings SET key = 'the same'", "UNIQUE constraint failed"),
        ("INSERT INTO jobs SELECT * FROM jobs", "UNIQUE constraint failed"),
        (
            "INSERT INTO attempts (wake_id, number, started_at, outcome) VALUES ('no such wake', 1, '', 'running')",
            "FOREIGN KEY constraint failed",
        ),
        ("UPDATE runs SET state = 'our mistake'", "CHECK constraint failed"),
        ("UPDATE runs SET owner = NULL", "NOT NULL constraint failed"),
        ("UPDATE runs SET exit_code = 'x'", "cannot store TEXT value in INTEGER column"),
    ],
)
def test_a_rule_of_the_tables_that_we_break_is_our_mistake_and_no_damage(
    full_path: Path, statement: str, rule: str
) -> None:
    ledger = open_ledger(full_path)
    with pytest.raises(LedgerMistake) as caught, database_of(ledger).writing() as db:
        db.execute(statement)
    message = str(caught.value)
    assert message.startswith(f"cannot record this in the ledger {full_path}: {rule}")
    assert message.endswith("; please report this")
    assert (caught.value.retryable, caught.value.exit_code) == (False, 1)
    assert len(waiting(ledger)) == 200
    ledger.close()
    open_ledger(full_path, check=True).close()


@pytest.mark.parametrize("way", ["taken away", "replaced", "with its folder"])
def test_a_ledger_that_lost_its_name_while_open_is_not_gone_on_with(full_path: Path, way: str) -> None:
    with open_ledger(full_path) as ledger:
        record(ledger, 10, "before")
        if way == "with its folder":
            full_path.parent.rename(full_path.parent.with_name("elsewhere"))
        else:
            full_path.rename(full_path.with_name("elsewhere.db"))
        if way == "replaced":
            full_path.write_bytes(full_path.with_name("elsewhere.db").read_bytes())
        for use in (lambda: record(ledger, 11, "after"), ledger.runs):
            with pytest.raises(LedgerCorrupt, match="taken away or replaced meanwhile; start again"):
                use()


def test_a_damaged_ledger_never_replaces_an_earlier_one(path: Path) -> None:
    asides = []
    for content in ("one", "two", "three"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
        Path(f"{path}-wal").write_text(f"log of {content}")
        asides.append(quarantine(path, T0))
    assert [aside.name.removeprefix("ledger.db.corrupt-") for aside in asides] == [
        "20260610T080000Z", "20260610T080000Z-2", "20260610T080000Z-3",
    ]  # fmt: skip
    assert [aside.read_text() for aside in asides] == ["one", "two", "three"]
    assert [Path(f"{aside}-wal").read_text() for aside in asides] == ["log of one", "log of two", "log of three"]
    assert not path.exists()
    with pytest.raises(NotFound):
        quarantine(path, T0)


def test_names_never_collide_without_hard_links_either(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object, **_more: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    ledger = open_ledger(path)
    record(ledger, 0, "a")
    ledger.close()
    assert [file.name for file in path.parent.iterdir()] == ["ledger.db"]
    assert quarantine(path, T0) != quarantine_again(path)


def quarantine_again(path: Path) -> Path:
    path.write_text("damaged")
    return quarantine(path, T0)


# What may pass: permissions, a full disk, a lock


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_ledger_that_may_not_be_written_says_so(shared_folder: Path, kind: str) -> None:
    path = shared_folder / "state" / "ledger.db"
    with as_ordinary_user():
        ledger = open_ledger(path)
        record(ledger, 0, "a")
        ledger.close()
        target = path if kind == "file" else path.parent
        target.chmod(0o400 if kind == "file" else 0o500)
        with pytest.raises(LedgerError, match=f"cannot use the ledger {path}: .*(read-only|cannot be opened)"):
            use(path)
        target.chmod(0o600 if kind == "file" else 0o700)
        use(path)


def test_a_ledger_that_may_not_be_read_says_so(shared_folder: Path) -> None:
    path = shared_folder / "ledger.db"
    with as_ordinary_user():
        open_ledger(path).close()
        path.chmod(0o000)
        with pytest.raises(LedgerError, match="give this user access") as caught:
            open_ledger(path)
        assert caught.value.retryable
        assert stat.S_IMODE(path.stat().st_mode) == 0


def test_a_folder_that_may_not_be_written_says_so(shared_folder: Path) -> None:
    with as_ordinary_user():
        shared_folder.chmod(0o500)
        with pytest.raises(LedgerError, match=r"cannot use the ledger .*: Permission denied; mend that"):
            open_ledger(shared_folder / "new" / "ledger.db")
        with pytest.raises(LedgerError, match="Permission denied"):
            open_ledger(shared_folder / "ledger.db")
        shared_folder.chmod(0o700)


def test_a_file_where_the_folder_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    with pytest.raises(LedgerError, match=r"cannot use the ledger .*/state/ledger.db: Not a directory"):
        open_ledger(tmp_path / "state" / "ledger.db")


@pytest.mark.parametrize("name", ["run", "findings"])
def test_a_ledger_without_room_undoes_and_goes_on_when_there_is_room(path: Path, name: str) -> None:
    ledger = open_ledger(path)
    run_id = record(ledger, 0, "a")
    with database_of(ledger).outside() as db:
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count = {pages + (0 if name == 'run' else 4)}")
    with pytest.raises(LedgerError, match=r"cannot use the ledger .*: the disk is full; free some space") as caught:
        record_until_it_fails(ledger, 50, body="x" * 500)
    assert (caught.value.retryable, caught.value.exit_code) == (True, 1)
    done = [run for run in ledger.runs(limit=200) if run.state == "ended"]
    assert len(waiting(ledger)) == 1 + 50 * (len(done) - 1)
    with database_of(ledger).outside() as db:
        db.execute("PRAGMA max_page_count = 1000000")
    ledger.interrupt(lambda _owner: False, at(200))
    record(ledger, 200, "b")
    assert ledger.run(run_id).state == "ended"
    assert waiting(ledger)[-1] == "b"
    ledger.close()
    open_ledger(path, check=True).close()


@contextmanager
def small_disk(folder: Path) -> Iterator[Callable[[], None]]:
    """A disk with little room; calling what it gives makes room. Without the right to mount, a limit on file sizes."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode == 0:
        try:
            filler = folder / "filler"
            filler.write_bytes(bytes(500_000))
            yield filler.unlink
        finally:
            subprocess.run(["umount", "-l", str(folder)], check=True)
    else:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, before[1]))
        try:
            yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, before)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_loses_nothing_and_it_goes_on_by_itself(tmp_path: Path) -> None:
    with small_disk(tmp_path) as make_room:
        ledger = open_ledger(tmp_path / "ledger.db")
        with pytest.raises(LedgerError, match="the disk"):
            record_until_it_fails(ledger, 1, body="x" * 2000)
        told = waiting(ledger)
        assert told == [f"{run.slot_at}-0" for run in reversed(ledger.runs(limit=5000)) if run.state == "ended"]
        make_room()
        ledger.interrupt(lambda _owner: False, at(4000))
        record(ledger, 5000, "after")
        assert waiting(ledger) == [*told, "after"]
        ledger.close()
        open_ledger(tmp_path / "ledger.db", check=True).close()


def test_a_ledger_is_not_half_created_on_a_full_disk(tmp_path: Path) -> None:
    with small_disk(tmp_path) as make_room:
        mounted = (tmp_path / "filler").exists()
        if mounted:
            (tmp_path / "more").write_bytes(bytes(520_000))
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        with pytest.raises(LedgerError, match="disk"):
            open_ledger(tmp_path / "ledger.db")
        assert not [file.name for file in tmp_path.iterdir() if file.name.startswith("ledger")]
        make_room()
        open_ledger(tmp_path / "ledger.db", check=True).close()


def test_a_ledger_locked_for_too_long_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "_BUSY_SECONDS", 0.05)
    ledger = open_ledger(path)
    record(ledger, 0, "a")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match=r"another process has kept it locked for over 5 s; try again"):
        record(ledger, 1, "b")
    assert waiting(ledger) == ["a"]
    other.execute("ROLLBACK")
    other.close()
    record(ledger, 1, "b")
    assert waiting(ledger) == ["a", "b"]
    ledger.close()


def test_a_thread_that_waits_for_another_process_does_not_keep_the_others_waiting(path: Path) -> None:
    ledger = open_ledger(path)
    record(ledger, 0, "a")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    database_of(ledger).patience = 60.0
    writer = threading.Thread(target=record, args=(ledger, 1, "b"))
    writer.start()
    for _ in range(20):
        assert waiting(ledger) == ["a"]
    assert writer.is_alive()
    other.execute("ROLLBACK")
    other.close()
    writer.join(60)
    assert waiting(ledger) == ["a", "b"]
    ledger.close()


def test_a_mistake_in_our_own_sql_is_not_called_damage(path: Path) -> None:
    ledger = open_ledger(path)
    with pytest.raises(sqlite3.OperationalError), database_of(ledger).writing() as db:
        db.execute("BEGIN")
    with pytest.raises(sqlite3.ProgrammingError), database_of(ledger).writing() as db:
        db.execute("SELECT ?")
    record(ledger, 0, "a")
    ledger.close()


# Threads and processes


def test_threads_share_one_ledger(path: Path) -> None:
    ledger = open_ledger(path)

    def work(number: int) -> None:
        for minute in range(10):
            run = Run(new_id("run", T0), f"job{number}", "schedule", at(minute), at(minute))
            ledger.claim(run, "1:1")
            ledger.record(run, Execution(T0, T0), Judgement(Verdict.QUIET, "", ""), lambda _view: Plan())
            ledger.runs()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ledger.runs(limit=100)) == 60
    assert {run.state for run in ledger.runs(limit=100)} == {"ended"}
    ledger.close()


# The quick look of the tick script


def test_due_items_are_read_without_writing(path: Path) -> None:
    ledger = open_ledger(path)
    ledger.enqueue(QueueItem("", "rent", "pay", at(5)), T0)
    ledger.enqueue(QueueItem("", "later", "pay", at(50)), T0)
    assert due_items(path, at(4)) == []
    assert [due.item.key for due in due_items(path, at(5))] == ["rent"]
    ledger.close()
    before = path.read_bytes()
    assert [due.item.key for due in due_items(path, at(5))] == ["rent"]
    assert path.read_bytes() == before


def test_the_quick_look_imports_nothing_heavy() -> None:
    code = "import sys, heartbeat.stores.sqlite; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    top = {name.split(".")[0] for name in done.stdout.split()}
    assert top & {"pydantic", "httpx", "typer", "rich", "apscheduler", "icalendar", "asyncio", "tempfile"} == set()


# Speed


def plan_of(ledger: SqliteLedger, call: Callable[[], object]) -> list[str]:
    """How SQLite goes about the queries of *call*."""
    statements: list[str] = []
    with database_of(ledger).outside() as db:
        db.set_trace_callback(statements.append)
        call()
        db.set_trace_callback(None)
        return [
            row["detail"]
            for statement in statements
            if statement.lstrip().startswith(("SELECT", "DELETE", "UPDATE", "INSERT"))
            for row in db.execute(f"EXPLAIN QUERY PLAN {statement}")
        ]


def test_all_the_decisions_of_a_run_are_one_query(path: Path) -> None:
    ledger = open_ledger(path)
    run_id = record(ledger, 0, *(f"{number}" for number in range(50)))
    (finding,) = ledger.findings(limit=1)
    for asked, count in ((None, 50), (finding.id, 1)):
        statements: list[str] = []
        with database_of(ledger).outside() as db:
            db.set_trace_callback(statements.append)
            assert len(ledger.decisions(run_id, asked)) == count
            db.set_trace_callback(None)
        assert len([statement for statement in statements if "decisions" in statement]) == 1
        assert len(statements) <= 4
    ledger.close()


def test_what_is_known_is_found_by_its_keys_and_not_by_its_job(path: Path) -> None:
    ledger = open_ledger(path)
    record(ledger, 0, "a", "b")
    details = plan_of(ledger, lambda: ledger.view("job", ["a", "b"], at(1)))
    ledger.close()
    assert any("findings_current (job=? AND key=?)" in detail for detail in details)
    assert any("findings_to_miss (job=?)" in detail for detail in details)


@pytest.mark.parametrize(
    "call",
    [
        *("record", "brief", "decisions", "due_wakes", "last_runs", "queue", "overtaken", "prune"),
        *("states", "state", "enlist", "pass_over", "claim", "slots", "slot"),
        *("wake", "past", "next_due", "decide_held", "waiting", "decided_since", "release"),
    ],
)
def test_no_everyday_query_reads_a_whole_table(path: Path, call: str) -> None:
    ledger = open_ledger(path)
    run_id = record(ledger, 0, "a")
    ledger.enqueue(QueueItem("", "rent", "pay", at(5)), T0)
    calls: dict[str, Callable[[], object]] = {
        "wake": lambda: wake(ledger, 1),
        "past": lambda: ledger.past(at(1)),
        "next_due": lambda: ledger.next_due(at(1)),
        "decide_held": lambda: ledger.decide_held(hold_on, at(1)),
        "waiting": ledger.waiting,
        "decided_since": lambda: list(ledger.decided_since(at(0))),
        "release": lambda: ledger.release_agent("a", at(2)),
        "record": lambda: record(ledger, 1, "a", "b"),
        "brief": lambda: ledger.brief(at(1)),
        "decisions": lambda: ledger.decisions(run_id, "fnd_x"),
        "due_wakes": lambda: ledger.due_wakes(at(1)),
        "last_runs": ledger.last_runs,
        "queue": lambda: ledger.queue(at(9)),
        "overtaken": lambda: ledger.withdraw_overtaken(at(9)),
        "prune": lambda: ledger.prune(at(999_999), timedelta(days=1), 1),
        "states": ledger.states,
        "state": lambda: ledger.state("job"),
        "enlist": lambda: ledger.enlist([("job", "off"), ("new", "off")], T0),
        "pass_over": lambda: ledger.pass_over([("job", Fate(SlotState.MISSED, at(6), at(9), "", 4))], at(9)),
        "claim": lambda: ledger.claim(Run("run_2", "job", "schedule", at(2), at(2)), "1:1"),
        "slots": lambda: ledger.slots("job", "ran"),
        "slot": lambda: ledger.slots("job", at=at(2)),
    }
    details = plan_of(ledger, calls[call])
    ledger.close()
    # These are as many as the owner has jobs, items in the queue, briefs a day, sources or agents.
    small = (
        "SCAN jobs",
        "SCAN queue",
        "SCAN briefs",
        "SCAN incidents",
        "SCAN passing",
        "SCAN holds",
        "SCAN overrides",
        "SCAN (subquery",
        "SCAN CONSTANT",
    )
    assert details
    assert [detail for detail in details if detail.startswith("SCAN") and not detail.startswith(small)] == []


def test_a_slot_is_looked_for_among_stretches_and_not_among_all_the_slots_of_its_job(path: Path) -> None:
    ledger = open_ledger(path)
    fate = Fate(SlotState.MISSED, at(6), at(9), "", 4)
    calls: tuple[Callable[[], object], ...] = (
        lambda: ledger.claim(Run("run_2", "job", "schedule", at(2), at(2)), "1:1"),
        lambda: ledger.pass_over([("job", fate)], at(9)),
        lambda: ledger.slots("job", at=at(2)),
    )
    for call in calls:
        assert any("slots_stretches (job=? AND last_at>?)" in detail for detail in plan_of(ledger, call))
    ledger.close()


def test_enlisting_what_is_known_writes_nothing(path: Path) -> None:
    ledger = open_ledger(path)
    schedules = [(f"job-{number}", "every 60s") for number in range(3)]
    assert len(ledger.enlist(schedules, T0)) == 3
    log = Path(f"{path}-wal")
    before = log.stat().st_size, log.read_bytes()
    assert ledger.enlist(schedules, at(9)) == []
    assert (log.stat().st_size, log.read_bytes()) == before
    ledger.close()


def test_however_many_slots_are_passed_over_it_is_one_commit_and_few_statements(path: Path) -> None:
    ledger = open_ledger(path)
    statements: list[str] = []
    fates = [(f"job-{number}", Fate(SlotState.SKIPPED, T0, at(number), "", None)) for number in range(1000)]
    with database_of(ledger).outside() as db:
        db.set_trace_callback(statements.append)
        ledger.pass_over(fates, at(2000))
        db.set_trace_callback(None)
    assert len(ledger.slots(limit=2000)) == 1000
    ledger.close()
    # Each is entered once on its way and once for its job.
    assert statements.count("COMMIT") == 1
    assert len([one for one in statements if not one.startswith("PRAGMA busy_timeout")]) <= 2 * 1000 + 10


def test_pruning_many_jobs_is_few_commits(path: Path) -> None:
    ledger = open_ledger(path)
    ledger.enlist([(f"job-{number}", "off") for number in range(1000)], T0)
    statements: list[str] = []
    with database_of(ledger).outside() as db:
        db.set_trace_callback(statements.append)
        ledger.prune(at(999_999), timedelta(days=1), 1)
        db.set_trace_callback(None)
    ledger.close()
    assert statements.count("COMMIT") <= 15


def test_a_claim_and_a_record_are_one_commit_each_and_few_statements(path: Path) -> None:
    ledger = open_ledger(path)
    record(ledger, 0, *"abcde")

    def duplicates(view: View) -> Plan:
        return Plan(
            tuple(
                Decision(known.finding, Action.DUPLICATE, Change.SAME, "duplicate", "", known)
                for known in view.known.values()
            )
        )

    statements: list[str] = []
    with database_of(ledger).outside() as db:
        db.set_trace_callback(statements.append)
        run = Run(new_id("run", at(1)), "job", "schedule", at(1), at(1))
        ledger.claim(run, "1:1")
        reported = tuple(Finding(key, key) for key in "abcde")
        judgement = Judgement(Verdict.QUIET, "quiet", "because", gate=Gate(False, findings=reported))
        ledger.record(run, Execution(at(1), at(1)), judgement, duplicates)
        db.set_trace_callback(None)
    ledger.close()
    assert statements.count("COMMIT") == 2
    assert len(statements) <= 40


def test_ten_thousand_findings_are_one_run(path: Path) -> None:
    ledger = open_ledger(path)
    before = os.times()
    record(ledger, 0, *(f"{number}" for number in range(10_000)))
    keys = [f"{number}" for number in range(10_000)]
    assert len(ledger.view("job", keys, at(1)).known) == 10_000
    after = os.times()
    assert len(waiting(ledger)) == 10_000
    ledger.close()
    assert after.user + after.system - before.user - before.system < 10
