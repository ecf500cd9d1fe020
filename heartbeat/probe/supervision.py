"""What the word of a supervisor adds to the evidence on disk. Pure; standard library only."""

from __future__ import annotations

from heartbeat.flapping import BURST, GAP, Flapping
from heartbeat.probe.holder import pid_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from heartbeat.marker import Marker
    from heartbeat.probe.supervisor import Supervised
    from heartbeat.starts import Start

    Problems = tuple[tuple[str, str], ...]

MISSING = "missing"
"""The state of a unit that heartbeat was installed as, and that its supervisor does not know."""
GRACE = 60.0
"""For so long a service that its supervisor is starting is not down."""
_SLACK, _THROTTLE = 0.5, 60.0
"""Seconds by which the log may be before the supervisor on when a start was; and which launchd may wait after one."""
_INVALID, _REFUSED = 4, 5


def is_service(marker: Marker | None) -> bool:
    """Whether a supervisor keeps it, so that `heartbeat start` starts it."""
    return marker is not None and marker.manager != "none"


def is_being_started(said: Supervised | None, *, monotonic: float, since_sign: float | None) -> bool:
    """Whether the supervisor is just starting it, and has not been for long.

    *since_sign* is for how many seconds nothing was heard of it: where the supervisor keeps no times, that counts.
    """
    if said is None or not (said.state == "activating" or said.pid):
        return False
    times = [since_sign] if since_sign is not None else []
    times += [monotonic - at for at in (said.begun if said.pid else None, said.changed) if at is not None]
    return any(0 <= seconds <= GRACE for seconds in times)


def unlogged_flapping(
    said: Supervised | None, starts: Sequence[Start], *, monotonic: float, now: float
) -> Flapping | None:
    """Starts that never came as far as the log (a broken installation, a full disk), by the supervisor's own count."""
    if said is None or (said.restarts or 0) < BURST:
        return None
    # launchd keeps no times: what waits to be started just now is being restarted now.
    waits = said.manager == "launchd" and said.state == "activating"
    begun = monotonic if waits else said.begun
    if begun is None or not 0 <= monotonic - begun <= GAP:
        return None
    at = now - (monotonic - begun)
    is_logged = any(start.at >= at - (_THROTTLE if waits else _SLACK) for start in starts)
    return None if is_logged else Flapping("counter", (at,), count=said.restarts or 0)


def problems_of(said: Supervised | None, holder: str | None) -> Problems:
    """What the supervisor knows of a service whose lock *holder* (`PID:START`) holds, as (code, message)."""
    if said is None:
        return ()
    if said.fault:
        # Nothing is proved by it; where all else is well, that is enough.
        return () if holder else (("supervisor_silent", said.fault),)
    if said.state == MISSING:
        return (("unit_missing", f"{said.manager} does not know {said.unit}; run `heartbeat install` again"),)
    if holder is None:
        return _of_idle(said)
    if said.pid != pid_of(holder):
        main = f"the main process of {said.unit} is {said.pid}" if said.pid else f"{said.unit} is {said.state}"
        remedy = "end the one that was started by hand, then `heartbeat start`"
        return (("foreign_daemon", f"process {pid_of(holder)} holds the lock, but {main}; {remedy}"),)
    return ()


def _of_idle(said: Supervised) -> Problems:
    if said.state == "activating":
        counted = f", for the {said.restarts}. time" if said.restarts else ""
        return (("restarting", f"{said.manager} is starting {said.unit}{counted} ({said.sub or said.state})"),)
    if said.pid:
        return (("restarting", f"process {said.pid}, which {said.manager} started, has not taken the lock yet"),)
    if said.state == "failed":
        return (_failed(said),)
    if said.manager == "launchd" and said.exit_status == _INVALID:
        return (_failed(said),)
    return ()


def _failed(said: Supervised) -> tuple[str, str]:
    again = _again(said)
    if said.exit_status == _INVALID:
        return "config_error", f"the configuration is not valid; `heartbeat check` names each problem; then {again}"
    if said.exit_status == _REFUSED:
        return "start_refused", f"another daemon held the lock when {said.unit} was started; then {again}"
    result = f"Result={said.result or 'unknown'}, {said.restarts or 0} restarts"
    if said.restarts or said.result == "start-limit-hit":
        return "start_limit", f"{said.manager} gave {said.unit} up ({result}); see `heartbeat logs`, then {again}"
    return "unit_failed", f"{said.unit} has failed ({result}); see `heartbeat logs`, then {again}"


def _again(said: Supervised) -> str:
    if said.manager == "launchd":
        return f"`launchctl kickstart {said.domain}/{said.unit}`"
    command = "systemctl" if said.domain == "system" else "systemctl --user"
    return f"`{command} reset-failed {said.unit}` and `{command} start {said.unit}`"
