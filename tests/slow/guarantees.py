"""What must hold of a ledger and an agent's log, whatever was done to the daemon."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.slow.due import Due, instant, show
from tests.slow.homes import Home

_BROKEN = {
    "the database is sound": "SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'",
    "every reference leads somewhere": "SELECT * FROM pragma_foreign_key_check",
    "no slot has two runs that ended": """
        SELECT job, slot_at, group_concat(id || ' ' || state) FROM runs WHERE slot_at IS NOT NULL AND state = 'ended'
        GROUP BY job, slot_at HAVING count(*) > 1""",
    "no slot ran before its instant": "SELECT * FROM runs WHERE started_at < slot_at",
    "each slot has a fate, which is that of its run": """
        SELECT slots.*, runs.state AS run_state, runs.id AS run FROM slots LEFT JOIN runs ON runs.id = slots.run_id
        WHERE NOT CASE slots.state
            WHEN 'ran' THEN runs.state IS 'ended' WHEN 'interrupted' THEN runs.state IS 'interrupted'
            WHEN 'skipped' THEN slots.run_id IS NULL WHEN 'missed' THEN slots.run_id IS NULL ELSE 0 END""",
    "only a slot alone has runs, and its attempts are their number": """
        SELECT slots.*, count(runs.id) AS runs FROM slots
        LEFT JOIN runs ON runs.job = slots.job AND runs.slot_at = slots.slot_at
        GROUP BY slots.job, slots.slot_at
        HAVING runs <> attempts OR (attempts > 0) <> (run_id IS NOT NULL)
        OR (attempts > 0 AND last_at <> slots.slot_at)""",
    "what does not run says why": "SELECT * FROM slots WHERE state <> 'ran' AND reason = ''",
    "each scheduled run has its slot, which names the latest": """
        SELECT runs.*, slots.run_id FROM runs LEFT JOIN slots ON slots.job = runs.job AND slots.slot_at = runs.slot_at
        WHERE trigger = 'schedule' AND slots.run_id IS NOT
            (SELECT id FROM runs AS others WHERE others.job = runs.job AND others.slot_at = runs.slot_at
             ORDER BY others.rowid DESC LIMIT 1)""",
    "every slot is of a job that is known": "SELECT * FROM slots WHERE job NOT IN (SELECT job FROM jobs)",
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
    return found + left + list(_of_the_agent(home)) + list(_of_the_scripts(home))


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


def _of_the_scripts(home: Home) -> Iterator[str]:
    """What those that enter each run say against what the ledger says."""
    begun = Counter(home.begun())
    jobs = {job for job, _ in begun}
    fates = {(row["job"], row["slot_at"]): row for row in home.rows("SELECT * FROM slots WHERE last_at = slot_at")}
    for (job, slot), times in begun.items():
        if (job, slot) not in fates or times > fates[job, slot]["attempts"]:
            yield f"{job} began {times} times for {slot}, and the ledger has {fates.get((job, slot))}"
    for (job, slot), row in fates.items():
        if row["state"] == "ran" and job in jobs and (job, slot) not in begun:
            yield f"{job} has never begun for {slot}, and the ledger has {row}"


@dataclass(frozen=True)
class Phase:
    """How far a schedule came from one anchor; it gets another when the clock is set back."""

    anchor: int
    last: int | None
    """None: no slot of it has a fate."""


@dataclass(frozen=True)
class Fates:
    """The slots that one row of the ledger stands for."""

    first: int
    last: int
    count: int | None
    state: str

    def is_of(self, slots: Sequence[int]) -> bool:
        """Whether it begins and ends with one of these, and says truly how many there are between.

        One that is not counted may begin right after a slot, which has got a row of its own.
        """
        begin, end = bisect_left(slots, self.first), bisect_right(slots, self.last)
        if begin == end or slots[end - 1] != self.last:
            return False
        is_rest = self.count is None and begin > 0 and slots[begin - 1] == self.first - 1
        return (slots[begin] == self.first or is_rest) and self.count in (None, end - begin)

    def __str__(self) -> str:
        span = (
            show(self.first) if self.last == self.first else f"{show(self.first)} to {show(self.last)} ({self.count})"
        )
        return f"{span} {self.state}"


def phase_of(home: Home, job: str) -> Phase:
    """How far a job has come."""
    (row,) = home.rows("SELECT anchor_at, last_slot_at FROM jobs WHERE job = ?", job)
    return Phase(instant(row["anchor_at"]), row["last_slot_at"] and instant(row["last_slot_at"]))


def misfits(home: Home, due: Mapping[str, Due], earlier: Mapping[str, Sequence[Phase]] | None = None) -> list[str]:
    """Due instants without exactly one fate, and fates of what was never due.

    *due* says when each job is due; *earlier*, what `phase_of` said of it each time before the clock was set back.
    """
    found = []
    for job, schedule in due.items():
        phases = [*(earlier or {}).get(job, ()), phase_of(home, job)]
        rows = [
            Fates(instant(row["slot_at"]), instant(row["last_at"]), row["count"], row["state"])
            for row in home.rows("SELECT * FROM slots WHERE job = ? ORDER BY slot_at", job)
        ]
        found += [f"{job}: {fault}" for fault in faults(rows, schedule, phases)]
    return found


def faults(rows: list[Fates], due: Due, phases: list[Phase]) -> Iterator[str]:
    end = max((row.last for row in rows), default=0)
    for row in rows:
        if not any(row.is_of(due(phase.anchor, end)) for phase in phases):
            yield f"this does not stand for slots of the schedule: {row}"
    for begins_anew, phase in enumerate(phases):
        slots = due(phase.anchor, phase.last if phase.last is not None else phase.anchor - 1)
        # Where a clock was set back, what comes due is what comes after.
        yield from _without_fate(slots[1:] if begins_anew and slots and slots[0] == phase.anchor else slots, rows)
    if len({phase.anchor for phase in phases}) == 1:
        yield from _doubled(rows)
        # Without a slot behind it there is none but of instants that had passed before it began.
        come_to = phases[-1].anchor if phases[-1].last is None else phases[-1].last
        if end > come_to:
            yield f"the schedule has come to {show(come_to)}, and there is a fate of {show(end)}"


def _without_fate(slots: Sequence[int], rows: list[Fates]) -> Iterator[str]:
    alone = {row.first for row in rows if row.first == row.last}
    stretches = [row for row in rows if row.first < row.last]
    number = 0
    while number < len(slots):
        if slots[number] not in alone:
            reach = max((row.last for row in stretches if row.first <= slots[number] <= row.last), default=None)
            if reach is None:
                yield f"this was due and has no fate: {show(slots[number])}"
            else:
                number = bisect_right(slots, reach) - 1
        number += 1


def _doubled(rows: list[Fates]) -> Iterator[str]:
    """What has two fates: only a clock that was set back is a reason to go by the one that was entered first."""
    latest: Fates | None = None
    for row in rows:
        if latest is not None and row.first <= latest.last:
            yield f"these have slots in common: {latest}; {row}"
        latest = row if latest is None or row.last > latest.last else latest
