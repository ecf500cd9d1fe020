-- Version 3: queue items that come again, that were snoozed, and that were imported once.

ALTER TABLE queue ADD COLUMN schedule TEXT NOT NULL DEFAULT '';  -- identity of that by which it comes again; '' is once
ALTER TABLE queue ADD COLUMN words TEXT NOT NULL DEFAULT '';     -- the same as it was written
ALTER TABLE queue ADD COLUMN snoozed_slot TEXT;                  -- the occurrence that was snoozed; of '' its due_at
ALTER TABLE queue ADD COLUMN snoozed_until TEXT;
ALTER TABLE queue ADD COLUMN over_at TEXT;                       -- occurrences up to here are settled, whatever is known of them

-- What was imported is not imported again, also when nothing else of it is left.
CREATE TABLE queue_imports (
    key TEXT PRIMARY KEY,
    at  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The occurrences that wait to be told: few, and looked for before each run.
CREATE INDEX findings_waiting_occurrences ON findings (key)
    WHERE state IN ('wake', 'held', 'brief') AND key >= 'queue-at:' AND key < 'queue-at;';
