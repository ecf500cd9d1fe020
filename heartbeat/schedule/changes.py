"""What the next changes of a zone's clock do to a timing: told from its real slots, not from the rules for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from heartbeat.schedule.cron import is_fixed_time
from heartbeat.schedule.cron_wording import join
from heartbeat.schedule.kinds import EVERY_DAY, At, Cron, Every, Schedule, Timing
from heartbeat.schedule.offsets import next_change, offset_at
from heartbeat.schedule.walk import latest_slot, next_slot
from heartbeat.schedule.windows import is_inside
from heartbeat.schedule.wording import schedule_means, show_instant, show_period

AHEAD = timedelta(days=400)
"""Changes further away are not looked for."""
_UTC = ZoneInfo("UTC")
_TINY = timedelta.resolution
_DAY, _MINUTE = timedelta(days=1), timedelta(minutes=1)
_FEW = 4
"""So many times are written out."""
_VERY_MANY = 200


@dataclass(frozen=True, slots=True)
class ClockChange:
    """The clock of a zone is set forward or back."""

    at: datetime
    """The instant from which the new offset holds, in UTC."""
    effect: str
    """What that does to the timing."""


def clock_changes(timing: Timing, after: datetime, *, most: int = 2) -> list[ClockChange]:
    """The next changes of the zone's clock, each with what it does to the slots; none for a zone without any."""
    found: list[ClockChange] = []
    after = after.astimezone(UTC)
    end = after + min(AHEAD, datetime.max.replace(tzinfo=UTC) - after)
    at = next_change(after, end, timing.zone)
    while at is not None and len(found) < most:
        found.append(ClockChange(at, _effect(timing, _shift_at(at, timing.zone))))
        at = next_change(at, end, timing.zone)
    return found


@dataclass(frozen=True, slots=True)
class _Shift:
    """One change: which readings of the clock on the wall it skips or repeats. Readings are written as if in UTC."""

    at: datetime
    length: timedelta
    """How far the clock is set; negative when back."""
    first: datetime
    end: datetime
    """The readings from the first up to, but without, the end do not happen, or happen twice."""

    @property
    def is_forward(self) -> bool:
        return self.length > timedelta()

    def show(self, *readings: datetime) -> list[str]:
        """The readings as people write them: with the date where one date is not plain from the change itself."""
        exact = any(reading.second for reading in (*readings, self.first, self.end))
        dated = self.end - self.first >= _DAY or self.first.date() != (self.end - _TINY).date()
        form = ("%Y-%m-%d " if dated else "") + ("%H:%M:%S" if exact else "%H:%M")
        return [reading.strftime(form) for reading in readings]

    def __str__(self) -> str:
        return " and ".join(self.show(self.first, self.end))


def _shift_at(at: datetime, zone: ZoneInfo) -> _Shift:
    old, new = offset_at(at - _TINY, zone), offset_at(at, zone)
    return _Shift(at, new - old, at + min(old, new), at + max(old, new))


def _effect(timing: Timing, shift: _Shift) -> str:
    begins = shift.at if shift.is_forward else shift.at + shift.length
    if timing.until is not None and timing.until < begins + timing.shift:
        return f"nothing: there is no slot after {show_instant(timing.until, timing.zone)}"
    effects = {schedule: _effect_on(schedule, timing, shift) for schedule in timing.schedules}
    if len(set(effects.values())) == 1:
        return _with_jitter(next(iter(effects.values())), timing)
    touched = {schedule: effect for schedule, effect in effects.items() if not effect.startswith("nothing")}
    if not touched:
        return "nothing: none of its schedules is touched"
    told = [f"{schedule_means(schedule, timing.zone)}: {effect}" for schedule, effect in touched.items()]
    rest = ["nothing to the others"] if len(touched) < len(effects) else []
    return _with_jitter("; and ".join([*told, *rest]), timing)


def _with_jitter(effect: str, timing: Timing) -> str:
    """The times in an effect are those before the shift, as the windows and the clock of the zone see them."""
    if not timing.shift or effect.startswith("nothing"):
        return effect
    return f"{effect} (then moved by {show_period(timing.shift)}, as always)"


def _effect_on(schedule: Schedule, timing: Timing, shift: _Shift) -> str:
    match schedule:
        case At():
            return "nothing: it is one instant"
        case Every():
            return _effect_on_windows(timing, shift)
        case Cron():
            until = timing.until - timing.shift if timing.until is not None else None
            alone = replace(timing, schedules=(schedule,), shift=timedelta(), until=until)
            return _forward(alone, schedule, shift) if shift.is_forward else _back(alone, shift)


def _effect_on_windows(timing: Timing, shift: _Shift) -> str:
    """What becomes of an interval: only its windows look at the clock on the wall."""
    nothing = "nothing: it counts elapsed time"
    if not timing.between and timing.days == EVERY_DAY:
        return nothing
    minutes = (shift.end - shift.first) // _MINUTE
    readings = (shift.first + number * _MINUTE for number in range(minutes))
    if not any(is_inside(reading, timing.between, timing.days, _UTC) for reading in readings):
        return f"{nothing}, and no window is open between {shift}"
    happens = "does not happen" if shift.is_forward else "happens twice"
    return f"it counts elapsed time, and the part of its windows between {shift} {happens} then"


def _forward(timing: Timing, schedule: Cron, shift: _Shift) -> str:
    nothing = f"nothing: no slot lies between {shift}"
    named = _slots(Timing((schedule,), _UTC), shift.first, shift.end)
    wanted = _slots(replace(timing, zone=_UTC, until=None), shift.first, shift.end)
    (right_after,) = shift.show(shift.end)
    if not is_fixed_time(schedule.expression):
        return f"{_not_there(wanted, shift)}: left out" if wanted else nothing
    # The time is moved before the windows are asked, so that one outside of them may come inside.
    if not named or not (wanted or _is_allowed(timing, shift.at, timing.zone)):
        return nothing
    if shift.at not in _slots(timing, shift.at, shift.at + _TINY):
        return f"{_not_there(wanted, shift)}, and {right_after} lies outside its windows: it does not run"
    is_due_anyway = _slots(Timing((schedule,), _UTC), shift.end, shift.end + _TINY)
    also = f", together with what is due at {right_after} anyway" if is_due_anyway else ""
    once = " once" if len(named) > 1 or also else ""
    return f"{_not_there(named, shift)}: it runs{once} at {right_after}{also}"


def _back(timing: Timing, shift: _Shift) -> str:
    length = abs(shift.length)
    old = [at + (shift.end - shift.at) for at in _slots(timing, shift.at - length, shift.at)]
    new = [at + (shift.first - shift.at) for at in _slots(timing, shift.at, shift.at + length)]
    if not old and not new:
        return f"nothing: no slot lies between {shift}"
    twice = f"{_listed(old, shift)} {'comes' if len(old) == 1 else 'come'} twice then"
    if old == new:
        return f"{twice}: it runs both times"
    if not new:
        return f"{twice}: it runs the first time only"
    return (
        f"what lies between {shift} comes twice then: it runs at {_listed(old, shift)}, then at {_listed(new, shift)}"
    )


def _slots(timing: Timing, start: datetime, end: datetime) -> list[datetime]:
    """The slots from *start* up to, but without, *end*; of very many only the first ones and the last."""
    bare, found = replace(timing, between=(), days=EVERY_DAY), []
    slot = next_slot(bare, start - _TINY, anchor=start)
    while slot is not None and slot < end:
        found += [slot] if _is_allowed(timing, slot, timing.zone) else []
        if timing == bare and len(found) == _VERY_MANY:
            return [*found, latest_slot(bare, slot, end - _TINY, anchor=start)]
        slot = next_slot(bare, slot, anchor=start)
    return found


def _is_allowed(timing: Timing, instant: datetime, zone: ZoneInfo) -> bool:
    return is_inside(instant, timing.between, timing.days, zone)


def _not_there(readings: list[datetime], shift: _Shift) -> str:
    return f"{_listed(readings, shift)} {'does' if len(readings) == 1 else 'do'} not exist then"


def _listed(readings: list[datetime], shift: _Shift) -> str:
    if len(readings) > _FEW:
        return "the times from {} to {}".format(*shift.show(readings[0], readings[-1]))
    return join(shift.show(*readings)) if readings else "no time"
