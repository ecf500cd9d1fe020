"""launchd jobs that restart the subject: known names, `launchctl submit`, what runs again and again."""

from __future__ import annotations

import os
import time

from heartbeat.ask import ask, launchctl
from heartbeat.probe.restarters.jobs import Job, read_job, read_labels
from heartbeat.probe.restarters.search import Search, told, uid_of
from heartbeat.probe.restarters.subject import Restarter, quote, unseen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_SECONDS, _MOST = 5.0, 150
_APPLES = ("com.apple.", "application.com.apple.", "0x")


def look(search: Search) -> tuple[list[Restarter], list[tuple[str, str]]]:
    """The jobs found, and what could not be asked."""
    uid = uid_of(search.owner)
    program = launchctl(os.environ)
    answer = ask((program, "list"))
    if answer.status is None and "no such program" in answer.fault:
        return [], []  # not a Mac
    faults = []
    if answer.status != 0:
        faults.append(unseen("launchd", answer.fault or answer.text.strip() or "launchctl list failed"))
    places = [(f"gui/{uid}", label) for label in read_labels(answer.text)]
    for domain in (f"gui/{uid}", f"user/{uid}", "system"):
        listed = ask((program, "print", domain))  # a domain that is not there has no jobs
        places.extend((domain, label) for label in read_labels(listed.text) if listed.status == 0)
    found, left = _judge_all(search, list(dict.fromkeys(places)), f"user/{uid}")
    if left:
        faults.append(unseen("launchd", f"{left} jobs were not looked at for want of time"))
    return found, faults


def _judge_all(search: Search, places: Sequence[tuple[str, str]], other: str) -> tuple[list[Restarter], int]:
    """The restarters among the jobs of these domains and labels, and how many jobs there was no time for."""
    until = time.monotonic() + _SECONDS
    found: list[Restarter] = []
    seen: set[tuple[str, str]] = set()
    own = set(search.subject.labels)
    wanted = [place for place in places if not place[1].startswith(_APPLES) and place[1] not in own]
    # Known names first: they must not be the ones there was no time for.
    wanted.sort(key=lambda place: not _is_suspect(search, place[1]))
    for count, (domain, label) in enumerate(wanted):
        if time.monotonic() > until or count >= _MOST:
            return found, len(wanted) - count
        for where in dict.fromkeys((domain, other if domain.startswith("gui/") else domain)):
            answer = ask((launchctl(os.environ), "print", f"{where}/{label}"))
            if answer.status == 0:
                break
        else:
            continue
        if (where, label) in seen:
            continue
        seen.add((where, label))
        restarter = judge_job(search, where, label, read_job(answer.text))
        if restarter is not None:
            found.append(restarter)
    return found, 0


def judge_job(search: Search, domain: str, label: str, job: Job) -> Restarter | None:
    """What one job shows."""
    remedy = _remedy(search, domain, label, job)
    user = search.owner if domain != "system" else job.user or "root"
    what = f"the launchd job {label} ({domain})"
    step = search.restarting(job.argv, user=user, folder=job.folder, assigned=job.environment)
    search.seen_pids.add(job.pid)
    does = f"runs {told(step)}" if step is not None else f"runs `{quote(job.argv)[:80]}`"
    if label in search.subject.known_restarters:
        return Restarter("named", label, f"{what} is there only to restart it: it {does}", remedy)
    if job.is_submitted and (step is not None or _has_own_name(search, label)):
        again = "; `launchctl submit` starts it again whenever it ends"
        return Restarter("submitted", label, f"{what} {does}{again}", remedy)
    if step is not None and (step.looped or job.comes_again):
        return Restarter("launchd", label, f"{what} {does}", remedy)
    if search.is_kept_by(job.pid, (job.argv,), user=user, assigned=job.environment):
        search.adopt(f"{label} ({domain})", labels=(label,))
    elif search.accuses and job.keeps_alive and search.is_daemon(job.argv, user=user, assigned=job.environment):
        message = f"{what} runs the same daemon a second time, and starts it again whenever it ends"
        return Restarter("second_supervisor", label, message, remedy)
    search.seen_pids.discard(job.pid)
    return None


def _remedy(search: Search, domain: str, label: str, job: Job) -> str:
    """Out of memory; and, when a file would bring it back at the next login, kept from that."""
    verbs = ("bootout",) if job.is_submitted or not job.path.startswith("/") else ("disable", "bootout")
    commands = [("launchctl", verb, f"{domain}/{label}") for verb in verbs]
    is_roots = domain == "system" or uid_of(search.owner) != os.geteuid()
    return " && ".join(search.as_root(*words) if is_roots else quote(words) for words in commands)


def _has_own_name(search: Search, label: str) -> bool:
    return any(own in label for own in search.subject.labels)


def _is_suspect(search: Search, label: str) -> bool:
    return label in search.subject.known_restarters or _has_own_name(search, label)
