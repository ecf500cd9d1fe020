-- Version 2: every due instant ends in exactly one row, alone or in a stretch of those that ended alike.

ALTER TABLE jobs ADD COLUMN schedule TEXT NOT NULL DEFAULT '';  -- identity of the one in use; '' is not known

-- A row stands for the due instants from slot_at to last_at, but for those that have a row of their own.
CREATE TABLE fates (
    job      TEXT NOT NULL,
    slot_at  TEXT NOT NULL,
    last_at  TEXT NOT NULL CHECK (last_at >= slot_at),  -- the same for a single slot
    count    INTEGER,                       -- how many slots; NULL: too many to count
    state    TEXT NOT NULL CHECK (state IN ('claimed', 'ran', 'skipped', 'missed', 'interrupted')),
    reason   TEXT NOT NULL,
    run_id   TEXT,                          -- the latest
    attempts INTEGER NOT NULL,              -- runs that were begun for it
    at       TEXT NOT NULL,                 -- when it got this state
    PRIMARY KEY (job, slot_at)
) STRICT, WITHOUT ROWID;
INSERT INTO fates SELECT job, slot_at, slot_at, 1, state, reason, run_id, run_id IS NOT NULL, at FROM slots;
DROP TABLE slots;
ALTER TABLE fates RENAME TO slots;
CREATE INDEX slots_by_time ON slots (slot_at DESC, job);
CREATE INDEX slots_stretches ON slots (job, last_at) WHERE last_at > slot_at;

CREATE TABLE clock_events (
    at      TEXT NOT NULL,                  -- the wall clock when it was noticed
    kind    TEXT NOT NULL,                  -- suspend, forward, back, frozen, zone
    seconds REAL NOT NULL,                  -- its length, or how far the clock was set
    detail  TEXT NOT NULL
) STRICT;
CREATE INDEX clock_events_by_time ON clock_events (at);
