"""What must hold of a ledger and an agent's log, whatever was done to the daemon."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.slow.homes import Home

_BROKEN = {
    "the database is sound": "SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
    "every reference leads somewhere": "SELECT * FROM pragma_foreign_key_check",
    "no slot has two runs": """
        SELECT job, slot_at, group_concat(id || ' ' || state) FROM runs WHERE slot_at IS NOT NULL
        GROUP BY job, slot_at HAVING count(*) > 1""",
    "each slot has a fate, which is that of its run": """
        SELECT slots.*, runs.state AS run_state, runs.id AS run FROM slots LEFT JOIN runs ON runs.id = slots.run_id
        WHERE NOT CASE slots.state
            WHEN 'ran' THEN runs.state IS 'ended' WHEN 'interrupted' THEN runs.state IS 'interrupted'
            WHEN 'skipped' THEN slots.run_id IS NULL ELSE 0 END""",
    "each scheduled run has its slot": """
        SELECT runs.* FROM runs LEFT JOIN slots ON slots.run_id = runs.id
        WHERE trigger = 'schedule' AND (slots.job IS NOT runs.job OR slots.slot_at IS NOT runs.slot_at)""",
    "no run is left running": "SELECT id, job, owner FROM runs WHERE state = 'running'",
    "no wake waits": "SELECT id, state, attempts, error FROM wakes WHERE state IN ('pending', 'sending')",
    "a wake is accepted once when it is settled, and otherwise never": """
        SELECT wakes.id, wakes.state, count(*) FILTER (WHERE outcome = 'accepted') AS accepted
        FROM wakes LEFT JOIN attempts ON wake_id = wakes.id GROUP BY wakes.id
        HAVING accepted <> (wakes.state = 'settled')""",
    "every attempt is on record and has ended": """
        SELECT wakes.id, wakes.attempts, count(number) AS recorded FROM wakes LEFT JOIN attempts ON wake_id = wakes.id
        GROUP BY wakes.id
        HAVING recorded <> attempts OR coalesce(max(number), 0) <> attempts OR sum(outcome = 'running') > 0""",
    "what was told is in a settled wake": """
        SELECT findings.id, wakes.id AS wake, wakes.state FROM findings LEFT JOIN wakes ON wakes.id = wake_id
        WHERE findings.state = 'told' AND wakes.state IS NOT 'settled'""",
    "what a run decided to wake for was told, or withdrawn because of something newer": """
        SELECT findings.* FROM findings JOIN decisions ON finding_id = findings.id AND action = 'wake'
        WHERE findings.state <> 'told'
        AND NOT (findings.state = 'withdrawn' AND findings.rule IN ('replaced', 'absent'))""",
    "a finding is one row, however often it was reported": """
        SELECT job, key, version, group_concat(id || ' ' || state) FROM findings WHERE when_absent = 'keep'
        GROUP BY job, key, version, change HAVING count(*) > 1""",
    "a finding is what its latest event says": """
        SELECT findings.id, findings.state, finding_events.state AS latest FROM findings
        LEFT JOIN finding_events ON finding_events.rowid =
            (SELECT max(rowid) FROM finding_events WHERE finding_id = findings.id)
        WHERE latest IS NOT findings.state""",
}


def breaches(home: Home) -> list[str]:
    """Everything that does not hold, with the rows that show it; the daemon has been stopped."""
    found = [f"not true: {claim}: {row}" for claim, sql in _BROKEN.items() for row in home.rows(sql)]
    left = [f"left alive: {peer.pid} {command}" for peer, command in home.offspring().items()]
    return found + left + list(_of_the_agent(home))


def _of_the_agent(home: Home) -> Iterator[str]:
    """What its log says against what the ledger says."""
    carriers: defaultdict[str, set[str]] = defaultdict(set)
    for wake, findings in home.handed():
        for finding in findings:
            carriers[finding].add(wake)
    ours = {row["id"]: row for row in home.rows("SELECT id, state, wake_id FROM findings")}
    for finding, wakes in carriers.items():
        if finding not in ours or wakes != {ours[finding]["wake_id"]}:
            yield f"{finding} was handed over as {sorted(wakes)}, and the ledger has {ours.get(finding)}"
    for finding, row in ours.items():
        if row["state"] == "told" and finding not in carriers:
            yield f"{finding} is told, and the agent has never seen it: {row}"
    calls = Counter(wake for wake, _ in home.handed())
    for row in home.rows("SELECT id, state, attempts FROM wakes"):
        if calls[row["id"]] > row["attempts"] or (row["state"] == "settled" and not calls[row["id"]]):
            yield f"{row['id']} was handed over {calls[row['id']]} times, and the ledger has {row}"
