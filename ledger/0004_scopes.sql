-- Version 4: a part of a script's field has a baseline of its own, and an absence may have to repeat.

ALTER TABLE findings ADD COLUMN scope TEXT NOT NULL DEFAULT '';
ALTER TABLE findings ADD COLUMN absences INTEGER NOT NULL DEFAULT 1;  -- runs in a row that must miss it
ALTER TABLE findings ADD COLUMN missed INTEGER NOT NULL DEFAULT 0;    -- runs in a row that did
ALTER TABLE findings ADD COLUMN unsure INTEGER NOT NULL DEFAULT 0;    -- 1: the options changed since it was reported

CREATE TABLE scopes (
    job     TEXT NOT NULL,
    scope   TEXT NOT NULL,
    last_at TEXT NOT NULL,                  -- when a run last looked at it whole
    PRIMARY KEY (job, scope)
) STRICT, WITHOUT ROWID;
CREATE INDEX scopes_by_time ON scopes (last_at);
