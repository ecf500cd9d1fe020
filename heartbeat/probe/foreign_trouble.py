"""What is wrong with another daemon though it runs: who keeps it, and what it is connected to.

Pure; standard library only.
"""

from __future__ import annotations

from heartbeat.pulse import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from heartbeat.probe.foreign import Evidence
    from heartbeat.probe.foreign_files import Reading
    from heartbeat.probe.processes import Process
    from heartbeat.probe.supervisor import Supervised
    from heartbeat.probe.watched import Target

    Problems = tuple[tuple[str, str], ...]


def judge_service(target: Target, evidence: Evidence, main: Process | None) -> Problems:
    """Whether a supervisor keeps the daemon up, when there is one that was asked."""
    known = [each for each in evidence.supervised if not each.fault]
    if not known:
        return (_unknown(target, evidence),) if evidence.was_asked else ()
    running = [each for each in known if each.pid]
    if len(running) > 1:
        places = " and ".join(f"{each.unit} ({each.domain})" for each in running)
        return (("supervised_twice", f"{places} run at once; remove one of them"),)
    if main and running and main.parent != running[0].pid and main.pid != running[0].pid:
        message = f"{running[0].unit} runs process {running[0].pid}, but {main.pid} is at work; end one of them"
        return (("other_process", message),)
    if running:
        return ()
    return (_idle(known[0]),)


def judge_platforms(target: Target, state: Reading | None) -> tuple[str, Problems]:
    """What the daemon is connected to, for a summary; and what it should be connected to and is not."""
    if not target.state_file:
        return "", ()
    platforms = state.platforms if state else ()
    states = {name: said for name, said, _ in platforms}
    connected = [name for name, said in states.items() if said == "connected"]
    fatal = [("platform_fatal", f"{name}: {error or 'fatal'}") for name, said, error in platforms if said == "fatal"]
    lost = [
        ("platform_required", f"{name} is {states.get(name, 'not there')}, and must be connected")
        for name in target.required
        if name not in connected and states.get(name) != "fatal"
    ]
    if platforms and not (connected or fatal or lost):
        lost = [("platforms_disconnected", f"not one of {', '.join(states)} is connected")]
    phase = state.phase if state else None
    if phase and target.phases and phase not in target.phases:
        lost.append(("not_serving", f"it says of itself that it is {phase}"))
    channels = f"{len(connected)}/{len(platforms)} channels" if platforms else "no channels"
    return f", {channels}", (*fatal, *lost)


def _unknown(target: Target, evidence: Evidence) -> tuple[str, str]:
    silent = next((each.fault for each in evidence.supervised), "")
    if silent:
        return "supervisor_silent", plain(f"cannot ask who keeps it running: {silent}")
    names = " or ".join(filter(None, (target.unit, target.label)))
    return "unsupervised", f"no supervisor knows {names}: nothing starts it again"


def _idle(each: Supervised) -> tuple[str, str]:
    """A unit that its supervisor knows and that has no process."""
    shown = f"{each.unit} is {each.state}" + (f" ({each.sub or each.result})" if each.sub or each.result else "")
    ended = f", its last exit status was {each.exit_status}" if each.exit_status else ""
    if each.manager == "launchd" and each.result:  # then it tells of no exit status
        ended = f", its last process was ended by a signal ({plain(each.result)})"
    if each.state == "failed":
        return "unit_failed", f"{shown}{ended}; result: {each.result or 'unknown'}"
    code = "unit_waiting" if each.state == "activating" else "unit_inactive"
    return code, f"{shown}{ended}"
