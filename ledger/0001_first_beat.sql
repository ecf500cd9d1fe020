-- The ledger, version 1. Instants are UTC text of fixed width (2026-06-10T08:00:00.000000Z), so that
-- text order is time order. JSON columns hold one JSON value. A shipped migration never changes.

CREATE TABLE jobs (
    job           TEXT PRIMARY KEY,
    anchor_at     TEXT NOT NULL,            -- an interval counts from here
    last_slot_at  TEXT,                     -- the schedule goes on after this
    backoff_until TEXT,                     -- slots before this are skipped: too many faults in a row
    baseline_done INTEGER NOT NULL DEFAULT 0,
    fingerprint   TEXT NOT NULL DEFAULT ''  -- of the script and options of the latest complete run
) STRICT, WITHOUT ROWID;

CREATE TABLE runs (
    id           TEXT PRIMARY KEY,
    job          TEXT NOT NULL,
    trigger      TEXT NOT NULL,             -- schedule, manual
    slot_at      TEXT,
    owner        TEXT NOT NULL,             -- PID:START of the process that runs it
    state        TEXT NOT NULL CHECK (state IN ('running', 'ended', 'interrupted')),
    started_at   TEXT NOT NULL,
    ended_at     TEXT,
    verdict      TEXT CHECK (verdict IN ('wake', 'quiet', 'malformed', 'failed', 'timeout')),
    code         TEXT NOT NULL DEFAULT '',
    reason       TEXT NOT NULL DEFAULT '',
    hint         TEXT NOT NULL DEFAULT '',
    exit_code    INTEGER,
    signal       INTEGER,
    stdout_head  BLOB, stdout_tail BLOB, stdout_dropped INTEGER NOT NULL DEFAULT 0,
    stderr_head  BLOB, stderr_tail BLOB, stderr_dropped INTEGER NOT NULL DEFAULT 0,
    sources      TEXT NOT NULL DEFAULT '[]',
    data         TEXT NOT NULL DEFAULT 'null',
    context      TEXT NOT NULL DEFAULT ''   -- the text above the gate; only with a wake
) STRICT;
-- The latest run of a job is the one entered last: a clock set back does not disturb that order.
CREATE INDEX runs_by_job ON runs (job);
CREATE INDEX runs_by_end ON runs (ended_at);
CREATE UNIQUE INDEX runs_running ON runs (job) WHERE state = 'running';
CREATE INDEX runs_with_output ON runs (job) WHERE stdout_head IS NOT NULL;

CREATE TABLE slots (
    job     TEXT NOT NULL,
    slot_at TEXT NOT NULL,                  -- the due instant
    state   TEXT NOT NULL CHECK (state IN ('claimed', 'ran', 'skipped', 'missed', 'interrupted')),
    reason  TEXT NOT NULL DEFAULT '',
    run_id  TEXT,
    at      TEXT NOT NULL,                  -- when it got this state
    PRIMARY KEY (job, slot_at)
) STRICT, WITHOUT ROWID;

-- One row for each thing to tell: an update or a retraction is a row of its own.
CREATE TABLE findings (
    id            TEXT PRIMARY KEY,
    job           TEXT NOT NULL,
    key           TEXT NOT NULL,
    version       TEXT NOT NULL,
    change        TEXT NOT NULL CHECK (change IN ('new', 'update', 'retraction')),
    state         TEXT NOT NULL CHECK (state IN
                  ('wake', 'held', 'brief', 'told', 'briefed', 'known', 'withdrawn', 'dropped')),
    rule          TEXT NOT NULL,            -- of the latest change of state
    reason        TEXT NOT NULL,
    current       INTEGER NOT NULL,         -- 1: this row is what its key stands for now
    first_seen_at TEXT NOT NULL,
    last_seen_at  TEXT NOT NULL,
    run_id        TEXT NOT NULL,
    wake_id       TEXT,
    brief_id      TEXT,
    title         TEXT NOT NULL,
    kind          TEXT NOT NULL,
    body          TEXT NOT NULL,
    urgency       TEXT NOT NULL,
    useful_until  TEXT,
    starts_at     TEXT,
    occurred_at   TEXT,
    source        TEXT NOT NULL,
    url           TEXT NOT NULL,
    origin        TEXT NOT NULL,
    when_absent   TEXT NOT NULL,
    data          TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX findings_current ON findings (job, key) WHERE current = 1;
CREATE INDEX findings_to_miss ON findings (job) WHERE current = 1 AND when_absent <> 'keep';
CREATE INDEX findings_by_key ON findings (key);
CREATE INDEX findings_by_state ON findings (state, first_seen_at);
CREATE INDEX findings_by_seen ON findings (last_seen_at);
CREATE INDEX findings_by_wake ON findings (wake_id) WHERE wake_id IS NOT NULL;

CREATE TABLE finding_events (
    finding_id TEXT NOT NULL REFERENCES findings (id) ON DELETE CASCADE,
    at         TEXT NOT NULL,
    state      TEXT NOT NULL,
    rule       TEXT NOT NULL,
    reason     TEXT NOT NULL,
    run_id     TEXT,
    wake_id    TEXT,
    brief_id   TEXT
) STRICT;
CREATE INDEX finding_events_by_finding ON finding_events (finding_id);

CREATE TABLE decisions (
    run_id     TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    number     INTEGER NOT NULL,            -- order within the run
    finding_id TEXT,
    key        TEXT NOT NULL,
    title      TEXT NOT NULL,
    action     TEXT NOT NULL CHECK (action IN ('wake', 'hold', 'brief', 'duplicate', 'drop')),
    change     TEXT NOT NULL,
    rule       TEXT NOT NULL,
    reason     TEXT NOT NULL,
    trace      TEXT NOT NULL,               -- JSON: every rule looked at, as [rule, outcome, reason]
    PRIMARY KEY (run_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE wakes (
    id              TEXT PRIMARY KEY,       -- also the idempotency key the agent gets
    job             TEXT NOT NULL,
    run_id          TEXT NOT NULL,
    agent           TEXT NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'settled', 'failed', 'cancelled')),
    owner           TEXT,                   -- PID:START of the process that is sending it
    created_at      TEXT NOT NULL,
    next_attempt_at TEXT,
    attempts        INTEGER NOT NULL DEFAULT 0,
    useful_until    TEXT,
    settled_at      TEXT,
    reply           TEXT NOT NULL DEFAULT '',
    error           TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX wakes_by_state ON wakes (state, next_attempt_at);
CREATE INDEX wakes_by_creation ON wakes (created_at);

CREATE TABLE attempts (
    wake_id    TEXT NOT NULL REFERENCES wakes (id) ON DELETE CASCADE,
    number     INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    ended_at   TEXT,
    outcome    TEXT NOT NULL CHECK (outcome IN ('running', 'accepted', 'failed', 'interrupted')),
    message    TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (wake_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE streaks (
    subject    TEXT PRIMARY KEY,            -- job:NAME, source:JOB/NAME, agent:NAME
    faults     INTEGER NOT NULL,            -- in a row
    message    TEXT NOT NULL,
    last_ok_at TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE incidents (
    id            TEXT PRIMARY KEY,
    subject       TEXT NOT NULL,
    code          TEXT NOT NULL,
    message       TEXT NOT NULL,
    opened_at     TEXT NOT NULL,
    resolved_at   TEXT,
    open_told     INTEGER NOT NULL DEFAULT 0,   -- a consumed brief has said that it opened
    resolve_told  INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX incidents_open ON incidents (subject) WHERE resolved_at IS NULL;
CREATE INDEX incidents_untold ON incidents (opened_at) WHERE resolve_told = 0;

CREATE TABLE briefs (
    id       TEXT PRIMARY KEY,
    since    TEXT,
    until    TEXT NOT NULL,                 -- when it was consumed
    items    INTEGER NOT NULL
) STRICT;

CREATE TABLE queue (
    id           TEXT PRIMARY KEY,
    key          TEXT NOT NULL UNIQUE,
    message      TEXT NOT NULL,
    due_at       TEXT NOT NULL,
    source       TEXT NOT NULL,
    urgency      TEXT NOT NULL,
    until        TEXT,
    created_at   TEXT NOT NULL,
    cancelled_at TEXT
) STRICT;
CREATE INDEX queue_by_due ON queue (due_at);
