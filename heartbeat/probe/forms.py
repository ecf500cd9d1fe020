"""The answer of the probe for each kind of reader: people, programs, Nagios, Prometheus. Standard library only."""

from __future__ import annotations

from heartbeat.probe.health import STATES, Health
from heartbeat.probe.instants import local_of, text_of
from heartbeat.pulse import PERIOD, plain
from heartbeat.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

OK, WARNING, CRITICAL, UNKNOWN = range(4)
"""Exit statuses of a plugin, by https://nagios-plugins.org/doc/guidelines.html."""
_BY_STATE = {"up": OK, "degraded": WARNING, "absent": UNKNOWN}
_NAMES = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
_WORST_LAST = (OK, UNKNOWN, WARNING, CRITICAL)
_QUEUES = ("items", "findings", "wakes", "messages")
_TARGET_ITSELF = "heartbeat"


class Assertion(Record):
    """One thing that was to hold: its `name` as it was asked, and why it does not, empty when it does."""

    __slots__ = ("name", "reason")

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason


def as_text(healths: Iterable[Health]) -> str:
    """For people: the state, since when, and what is wrong."""
    return "\n".join(line for health in healths for line in _lines(health))


def _lines(health: Health) -> list[str]:
    since = f" (since {local_of(health.since)})" if health.since is not None and health.state != "absent" else ""
    lines = [f"{health.word}: {health.summary}{since}"]
    return [plain(line) for line in (*lines, *(f"  {code}: {message}" for code, message in health.problems))]


def as_json(healths: Sequence[Health], assertions: Sequence[Assertion], *, several: bool) -> str:
    """For programs: the envelope of every verb, on one line."""
    import json  # here: without --json nobody waits for it

    facts = [_fields(health) for health in healths]
    data: dict[str, object] = {"targets": facts} if several else facts[0]
    if assertions:
        data["assertions"] = [
            {"assertion": each.name, "holds": not each.reason, "reason": each.reason} for each in assertions
        ]
    return json.dumps({"schema": "heartbeat/v1", "ok": True, "command": "health", "data": data, "error": None})


def as_refusal(code: str, message: str) -> str:
    """For programs: nothing was looked at, and why."""
    import json

    error = {"code": code, "message": message}
    return json.dumps({"schema": "heartbeat/v1", "ok": False, "command": "health", "data": None, "error": error})


def _fields(health: Health) -> dict[str, object]:
    return {
        "target": health.target or _TARGET_ITSELF,
        "state": health.state,
        "known": health.is_told,
        "live": health.is_live,
        "summary": health.summary,
        "since": None if health.since is None else text_of(health.since),
        "problems": [{"code": code, "message": message} for code, message in health.problems],
        "pid": health.pid,
        "uptime_seconds": health.uptime_seconds,
        "last_beat_at": health.last_beat_at or None,
        "recent_starts": health.recent_starts,
        "restarts": health.restarts,
        "facts": dict(health.facts),
    }


def as_nagios(healths: Sequence[Health], failures: Sequence[Assertion]) -> tuple[str, int]:
    """For Nagios, Icinga, Naemon and their like: one line with performance data, and the exit status.

    An assertion that fails makes it critical, whatever the state.
    """
    status = max(map(_status_of, healths), key=_WORST_LAST.index)
    said = [_sentence(health) for health in healths]
    if failures:
        status = CRITICAL
        said += [f"{failure.name}: {failure.reason}" for failure in failures]
    text = "; ".join(said).replace("|", "/")  # what follows a bar are numbers
    numbers = " ".join(number for health in healths for number in _numbers(health, several=len(healths) > 1))
    return plain(f"HEARTBEAT {_NAMES[status]} - {text} | {numbers}"), status


def _status_of(health: Health) -> int:
    return _BY_STATE.get(health.state, CRITICAL) if health.is_told else UNKNOWN


def _sentence(health: Health) -> str:
    reasons = ", ".join(f"{code}: {message}" for code, message in health.problems[:3])
    return health.summary + (f" ({reasons})" if reasons else "")


def _numbers(health: Health, *, several: bool) -> list[str]:
    facts = dict(health.facts)
    rows = [
        ("uptime", health.uptime_seconds, "s", ";;;0"),
        ("pulse_age", facts.get("pulse_age_seconds"), "s", f";{2 * PERIOD:.0f};{3 * PERIOD:.0f};0"),
        ("problems", len(health.problems), "", ";;;0"),
        ("recent_starts", health.recent_starts, "", ";;;0"),
        ("restarts", health.restarts, "c", ""),
        *((name, facts.get(name), "", ";;;0") for name in ("jobs", *_QUEUES)),
    ]
    target = "".join("_" if letter in "'=|" else letter for letter in health.target)
    prefix = f"{target or _TARGET_ITSELF}_" if several else ""
    return [f"'{prefix}{name}'={value:.6g}{unit}{limits}" for name, value, unit, limits in rows if value is not None]


def as_prometheus(healths: Sequence[Health], assertions: Sequence[Assertion]) -> str:
    """For Prometheus: the text format 0.0.4, for node_exporter's textfile collector."""
    named = [({"target": health.target or _TARGET_ITSELF}, health) for health in healths]
    lines = _family(
        "heartbeat_state",
        "gauge",
        "1 for the state that the evidence shows, 0 for the others",
        [
            ({**who, "state": state}, float(state == each.state and each.is_told))
            for who, each in named
            for state in STATES
        ],
    )
    lines += _family(
        "heartbeat_live", "gauge", "Whether --assert-live holds", [(w, float(e.is_live)) for w, e in named]
    )
    counts = [
        (who, code, sum(1 for c, _ in each.problems if c == code)) for who, each in named for code in _codes(each)
    ]
    rows = [({**who, "code": code}, float(count)) for who, code, count in counts]
    lines += _family("heartbeat_problems", "gauge", "Problems that are open, by their code", rows)
    for name, kind, text, values in (
        ("heartbeat_recent_starts", "gauge", "Starts within ten minutes", [e.recent_starts for _, e in named]),
        ("heartbeat_restarts_total", "counter", "Restarts that the supervisor counted", [e.restarts for _, e in named]),
        ("heartbeat_uptime_seconds", "gauge", "Seconds since its start", [e.uptime_seconds for _, e in named]),
        ("heartbeat_state_since_seconds", "gauge", "When the state began, since 1970", [e.since for _, e in named]),
        ("heartbeat_pulse_age_seconds", "gauge", "Age of the last proof of life", _fact(named, "pulse_age_seconds")),
        ("heartbeat_jobs", "gauge", "Jobs that are configured", _fact(named, "jobs")),
    ):
        pairs = zip([who for who, _ in named], values, strict=True)
        lines += _family(name, kind, text, [(who, float(value)) for who, value in pairs if value is not None])
    queues = [({**who, "queue": q}, dict(each.facts).get(q)) for who, each in named for q in _QUEUES]
    waiting = [(labels, value) for labels, value in queues if value is not None]
    lines += _family("heartbeat_waiting", "gauge", "What waits: items, findings, wakes, messages", waiting)
    held = [({"assertion": each.name}, float(not each.reason)) for each in assertions]
    lines += _family("heartbeat_assertion", "gauge", "Whether an assertion holds", held)
    return "\n".join(lines)


def _codes(health: Health) -> list[str]:
    return sorted({code for code, _ in health.problems})


def _fact(named: Sequence[tuple[dict[str, str], Health]], name: str) -> list[float | None]:
    return [dict(health.facts).get(name) for _, health in named]


def _family(name: str, kind: str, text: str, samples: Iterable[tuple[dict[str, str], float]]) -> list[str]:
    """All samples of one metric together, as the format wants it; nothing when there is none."""
    found: dict[str, float] = {}
    for each, value in samples:  # the same labels twice would make the whole text invalid
        labels = _labels(each)
        found[labels] = min(value, found.get(labels, value))
    rows = [f"{name}{{{labels}}} {value!r}" for labels, value in found.items()]
    return [f"# HELP {name} {text}.", f"# TYPE {name} {kind}", *rows] if rows else []


def _labels(labels: dict[str, str]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(value: str) -> str:
    return plain(value).replace("\\", "\\\\").replace('"', '\\"')
