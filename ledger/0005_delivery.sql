-- Version 5: discipline and delivery: holds, messages to the owner, briefs by the day, what a call costs.

-- When a held finding is decided again, of no other; and every rule that was looked at when time alone decided.
ALTER TABLE findings ADD COLUMN held_until TEXT;
ALTER TABLE finding_events ADD COLUMN trace TEXT NOT NULL DEFAULT '[]';
CREATE INDEX findings_held ON findings (held_until) WHERE held_until IS NOT NULL;
UPDATE findings SET held_until = last_seen_at WHERE state = 'held';

ALTER TABLE wakes ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;   -- attempts that failed since it was made, retried or diverted
ALTER TABLE wakes ADD COLUMN profile TEXT NOT NULL DEFAULT '';      -- how the agent is to be called
ALTER TABLE wakes ADD COLUMN deferred INTEGER NOT NULL DEFAULT 0;   -- 1: its next attempt was put off without one
ALTER TABLE wakes ADD COLUMN brief_id TEXT;                         -- the brief it is to write up
ALTER TABLE wakes ADD COLUMN critical INTEGER NOT NULL DEFAULT 0;   -- 1: it was made for something critical
UPDATE wakes SET failures = (SELECT count(*) FROM attempts WHERE wake_id = wakes.id AND outcome = 'failed')
    WHERE state IN ('pending', 'sending');
UPDATE wakes SET critical = EXISTS (SELECT 1 FROM findings WHERE wake_id = wakes.id AND urgency = 'critical');

CREATE TABLE calls (
    wake_id    TEXT NOT NULL REFERENCES wakes (id) ON DELETE CASCADE,
    number     INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    ended_at   TEXT,
    outcome    TEXT NOT NULL CHECK (outcome IN ('running', 'accepted', 'failed', 'held', 'interrupted')),
    message    TEXT NOT NULL DEFAULT '',
    session    TEXT NOT NULL DEFAULT '',
    tokens_in  INTEGER,                     -- NULL: the agent does not say
    tokens_out INTEGER,
    usd        REAL,
    PRIMARY KEY (wake_id, number)
) STRICT, WITHOUT ROWID;
INSERT INTO calls (wake_id, number, started_at, ended_at, outcome, message)
    SELECT wake_id, number, started_at, ended_at, outcome, message FROM attempts;
DROP TABLE attempts;
ALTER TABLE calls RENAME TO attempts;
CREATE INDEX attempts_with_cost ON attempts (ended_at)
    WHERE tokens_in IS NOT NULL OR tokens_out IS NOT NULL OR usd IS NOT NULL;

CREATE TABLE holds (
    agent    TEXT PRIMARY KEY,
    until    TEXT NOT NULL,
    reason   TEXT NOT NULL,
    since    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What the owner said for the time being: quiet, loud, zone.
CREATE TABLE overrides (
    name   TEXT PRIMARY KEY CHECK (name IN ('quiet', 'loud', 'zone')),
    value  TEXT NOT NULL,                   -- the zone; else empty
    until  TEXT,                            -- NULL: until it is taken back
    set_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row for each channel that is to tell the owner something.
CREATE TABLE messages (
    id              TEXT PRIMARY KEY,
    kind            TEXT NOT NULL CHECK (kind IN ('reply', 'notice', 'brief', 'incident')),
    channel         TEXT NOT NULL,
    state           TEXT NOT NULL CHECK (state IN
                    ('pending', 'sending', 'delivered', 'unverified', 'failed', 'expired', 'cancelled')),
    owner           TEXT,                   -- PID:START of the process that is sending it
    title           TEXT NOT NULL,
    body            TEXT NOT NULL,
    urgency         TEXT NOT NULL,
    created_at      TEXT NOT NULL,
    not_before      TEXT,                   -- it is not to be sent earlier, whatever becomes due meanwhile
    next_attempt_at TEXT,
    attempts        INTEGER NOT NULL DEFAULT 0,
    failures        INTEGER NOT NULL DEFAULT 0,
    useful_until    TEXT,
    settled_at      TEXT,
    error           TEXT NOT NULL DEFAULT '',
    wake_id         TEXT,
    brief_id        TEXT,
    incident_id     TEXT,
    told            INTEGER NOT NULL DEFAULT 0,  -- 1: a brief has said that it could not be delivered
    told_brief      TEXT                         -- that brief
) STRICT;
CREATE INDEX messages_by_state ON messages (state, next_attempt_at);
CREATE INDEX messages_by_creation ON messages (created_at);
CREATE INDEX messages_by_wake ON messages (wake_id) WHERE wake_id IS NOT NULL;
CREATE INDEX messages_by_brief ON messages (brief_id) WHERE brief_id IS NOT NULL;
CREATE INDEX messages_by_telling ON messages (told_brief) WHERE told_brief IS NOT NULL;
CREATE INDEX messages_untold ON messages (created_at) WHERE told = 0 AND state IN ('failed', 'expired');

ALTER TABLE incidents ADD COLUMN told INTEGER NOT NULL DEFAULT 0;   -- messages that were sent of it
ALTER TABLE incidents ADD COLUMN tell_at TEXT;                      -- when the next one is due
CREATE INDEX incidents_to_tell ON incidents (tell_at) WHERE tell_at IS NOT NULL;
CREATE INDEX incidents_by_subject ON incidents (subject);
-- The briefs that told of its beginning and of its end.
ALTER TABLE incidents ADD COLUMN open_brief TEXT;
ALTER TABLE incidents ADD COLUMN resolve_brief TEXT;
CREATE INDEX incidents_by_open_brief ON incidents (open_brief) WHERE open_brief IS NOT NULL;
CREATE INDEX incidents_by_resolve_brief ON incidents (resolve_brief) WHERE resolve_brief IS NOT NULL;

-- The owner's day of a brief made at its time: one a day, whatever happens. And what it said.
ALTER TABLE briefs ADD COLUMN day TEXT;
ALTER TABLE briefs ADD COLUMN text TEXT NOT NULL DEFAULT '';
ALTER TABLE briefs ADD COLUMN urgency TEXT NOT NULL DEFAULT 'normal';
ALTER TABLE briefs ADD COLUMN file TEXT CHECK (file IN ('due', 'written'));   -- NULL: it goes to none
CREATE INDEX briefs_to_file ON briefs (until) WHERE file = 'due';
CREATE UNIQUE INDEX briefs_by_day ON briefs (day) WHERE day IS NOT NULL;
CREATE INDEX findings_by_brief ON findings (brief_id) WHERE brief_id IS NOT NULL;

-- What a brief counts of the time since the one before, without a look at the rows themselves.
DROP INDEX runs_by_end;
CREATE INDEX runs_by_end ON runs (ended_at, state, verdict);
CREATE INDEX slots_not_run ON slots (at) WHERE state IN ('skipped', 'missed', 'interrupted');
CREATE INDEX wakes_settled ON wakes (settled_at, agent) WHERE settled_at IS NOT NULL;
