#!/usr/bin/env -S python3 -P
# /// script
# requires-python = ">=3.11"
# dependencies = ["heartbeat"]
#
# [tool.heartbeat]
# description = "Tells of unread mail from the people that matter, by its headers alone."
# every = "10m"
# timeout = "60s"
# require_token = true
#
# [tool.heartbeat.options]
# vips = []            # "Rae Boss <rae@example.org>", "rae@example.org", or "@example.org" for everybody there, but not
#                      # below it; with a name, others who bear it are noticed; a tag (rae+news@…) does not matter
# patterns = []        # regular expressions, searched in the decoded subject of any mail, such as "(?i)invoice"
# max_age = "24h"      # how long after its arrival an unread mail is told of
# authserv_id = ""     # your mail server's name in the Authentication-Results it writes, such as "mx.example.org",
#                      # "*.messagingengine.com" (any one label) or "exchange-online" (which writes none): a VIP's mail
#                      # that it does not confirm is suspected then; without a name only one that fails
# bulk = "skip"        # "include": tell also of VIPs' automatic replies, and of bulk and list mail from an "@domain"
# urgency = "normal"   # of a VIP's mail: low (for the brief alone), normal, high or critical
# sources = []         # { imap = "imaps://mail.example.org", user = "me", password = { env = "NAME" } },
#                      # { maildir = "~/Maildir" }, { notmuch = "~/mail" }, { gmail = "me" }, { jmap = "https://…", … },
#                      # each with a name if you like
# ///
"""Every unread mail of a VIP or with a subject that matters, and every mail that only pretends to be a VIP's.

It keeps no memory: a mail is reported on each run until it is read or too old, and heartbeat tells of it once. What a
forger sends is for the brief alone. Nothing is marked as read, and no body is fetched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from time import monotonic
from typing import Any

from heartbeat import tick
from heartbeat.durations import parse_duration, show_duration
from heartbeat.errors import Invalid
from heartbeat.sources.entries import Entry, read_entries
from heartbeat.sources.mail.arrival import arrived
from heartbeat.sources.mail.judge import PATTERN, SPOOF, VIP, Rules, Verdict, judge
from heartbeat.sources.mail.message import Message, Unread
from heartbeat.sources.mail.patterns import Patterns
from heartbeat.sources.mail.read import KINDS, PATHS, read_mail
from heartbeat.sources.mail.vips import read_vips
from heartbeat.sources.text import clean_title

LONGEST = timedelta(days=31)
GRACE = timedelta(days=3)
"""A mail that waits for the end of quiet hours, or for the agent, is of use beyond its age limit: over a weekend."""
JUDGING = 20.0
"""Seconds, beside those for reading: what strangers write may be made to take long."""
MOST_FINDINGS = 120
"""Together they must fit into a gate line: 120 of 8 kB at most, for each character may take twelve bytes."""
LONGEST_NAME = 60
LONGEST_ADDRESS = 120
LONGEST_SENDER = 254
LONGEST_SUBJECT = 250
LONGEST_MESSAGE = 1_000
RANK = (VIP, PATTERN, SPOOF)
"""In this order they are told when there are too many: forged mails must not crowd out true ones."""
NOUNS = {VIP: "of VIPs", PATTERN: "by their subject", SPOOF: "suspected of forgery"}


@dataclass(frozen=True, slots=True)
class Found:
    """One mail to be told of."""

    key: str
    source: str
    verdict: Verdict


def main() -> None:
    options = tick.options(__file__)
    now = tick.now()
    vips, wrong_vips = read_vips(options["vips"])
    patterns = Patterns(options["patterns"])
    with_bulk = _choice(options, "bulk", ("skip", "include")) == "include"
    rules = Rules(vips, patterns, _text(options, "authserv_id"), with_bulk, _max_age(options))
    urgency = _choice(options, "urgency", ("low", "normal", "high", "critical"))
    entries = read_entries(options["sources"], KINDS, PATHS)
    if missing := _missing(options, entries):
        # A failed source, so that a forgotten option does not look like a calm day for ever.
        tick.finish(reason=missing, sources=[{"name": "mail", "ok": False, "message": missing}])
        return
    unread = list(read_mail(entries, now - rules.max_age, now, tick.cache_dir()))
    found, late = _found(unread, rules, now)
    told = sorted(found, key=lambda one: _rank(one, now))[:MOST_FINDINGS]
    states = [_state(entry, held, found, told, late[entry.name]) for entry, held in unread]
    states += _option_states({"vips": (len(vips), wrong_vips), "patterns": (len(patterns), patterns.faults)}, entries)
    tick.finish(
        [_finding(one, urgency, rules, now) for one in told], sources=states, reason=_reason(found, unread, states)
    )


def _found(unread: Sequence[tuple[Entry, Unread]], rules: Rules, now: datetime) -> tuple[list[Found], Counter[str]]:
    """The mails to be told of, and how many of each source there was no time for: the newest are judged first.

    One that lies in several folders or sources is told once, for the first of them.
    """
    queue = [(message, place) for place, (_, held) in enumerate(unread) for message in held.messages]
    queue.sort(key=lambda one: arrived(one[0], now) or now, reverse=True)
    deadline = monotonic() + JUDGING
    found: dict[str, tuple[int, Found]] = {}
    for done, (message, place) in enumerate(queue):
        if monotonic() > deadline:
            late = Counter(unread[place][0].name for _, place in queue[done:])
            break
        if verdict := judge(message, rules, now):
            key = f"mail:{_digest(message, verdict.kind)}"
            if key not in found or place < found[key][0]:
                found[key] = place, Found(key, unread[place][0].name, verdict)
    else:
        late = Counter()
    return [one for _, one in found.values()], late


def _digest(message: Message, kind: str) -> str:
    """Of what stays when a mail is moved or its mailbox rebuilt.

    A Message-ID alone would let a stranger who repeats it pass for the mail that was told. And who copies all of this
    is not the same in another verdict.
    """
    first = (next(message.all(name), b"") for name in ("message-id", "date", "subject"))
    parts = [b" ".join(field.split()) for field in (kind.encode(), *first, *message.all("from"))]
    return sha256(b"".join(b"%d:%s" % (len(part), part) for part in parts)).hexdigest()[:32]


def _rank(one: Found, now: datetime) -> tuple[int, timedelta, str]:
    return RANK.index(one.verdict.kind), now - (one.verdict.arrived or now), one.key


def _finding(one: Found, urgency: str, rules: Rules, now: datetime) -> dict[str, Any]:
    verdict = one.verdict
    finding = {
        "key": one.key,
        "title": _title(verdict),
        "kind": verdict.kind,
        # Of a VIP's mail the title says it all.
        "body": "" if verdict.kind == VIP else clean_title(verdict.why, 500),
        "urgency": {VIP: urgency, PATTERN: "normal", SPOOF: "low"}[verdict.kind],
        "useful_until": (verdict.arrived or now) + rules.max_age + GRACE,
        "source": one.source,
        "origin": "third_party",
        # That it is read, or moved away, is no news.
        "when_absent": "keep",
    }
    # Not of a suspect: a rule that raises what a VIP writes must not raise what only pretends to be theirs.
    sender = str(verdict.author.address or "") if verdict.kind != SPOOF else ""
    if 0 < len(sender) <= LONGEST_SENDER:
        finding["data"] = {"sender": sender}
    return finding | ({"occurred_at": verdict.arrived.astimezone(UTC)} if verdict.arrived else {})


def _title(verdict: Verdict) -> str:
    """Who and what; of a suspect the real address first."""
    author, forged = verdict.author, verdict.kind == SPOOF
    name = clean_title(author.name, LONGEST_NAME if author.address else LONGEST_NAME + LONGEST_ADDRESS)
    address = clean_title(str(author.address), LONGEST_ADDRESS) if author.address else ""
    if name and address:
        who = f'{address} as "{name}"' if forged else f"{name} <{address}>"
    else:
        who = name or address or "(no author)"
    return f"{'Perhaps forged: ' * forged}{who}: {clean_title(verdict.subject, LONGEST_SUBJECT) or '(no subject)'}"


def _state(entry: Entry, held: Unread, found: Sequence[Found], told: Sequence[Found], late: int) -> dict[str, Any]:
    left = sum(one.source == entry.name for one in found) - sum(one.source == entry.name for one in told)
    notes = [
        held.fault,
        f"{late} of its mails, the oldest, were not looked at: judging took too long; read or delete some" * bool(late),
        f"{left} more to tell of are left out; read some of the others first" * bool(left),
    ]
    message = clean_title("; ".join(note for note in notes if note), LONGEST_MESSAGE)
    return {"name": entry.name, "ok": not message, "items": len(held.messages), "message": message}


def _option_states(
    options: Mapping[str, tuple[int, Sequence[str]]], entries: Iterable[Entry]
) -> Iterable[dict[str, Any]]:
    """What is wrong in an option costs only itself, and is told as a source that fails."""
    taken = {entry.name for entry in entries}
    for name, (items, faults) in options.items():
        if faults:
            shown = f"option {name}" if name in taken else name
            message = clean_title("; ".join(faults), LONGEST_MESSAGE)
            yield {"name": shown, "ok": False, "items": items, "message": message}


def _reason(found: Sequence[Found], unread: Sequence[tuple[Entry, Unread]], states: Sequence[Mapping[str, Any]]) -> str:
    counts = [(sum(one.verdict.kind == kind for one in found), NOUNS[kind]) for kind in RANK]
    shown = ", ".join(f"{count} {noun}" for count, noun in counts if count) or "none to tell of"
    failed = sum(not state["ok"] for state in states)
    total = sum(len(held.messages) for _, held in unread)
    return f"{total} unread mail{'s'[: total != 1]}: {shown}" + (
        f"; {failed} of {len(states)} sources failed" if failed else ""
    )


def _missing(options: Mapping[str, Any], entries: Sequence[Entry]) -> str:
    if not options["vips"] and not options["patterns"]:
        return "no VIP is configured; add one to the option vips, such as 'Rae Boss <rae@example.org>', or a pattern"
    if not entries:
        return 'no mailbox is configured; add one to the option sources, such as { maildir = "~/Maildir" }'
    return ""


def _max_age(options: Mapping[str, Any]) -> timedelta:
    text = options["max_age"]
    try:
        span = parse_duration(text)
    except (ValueError, TypeError, OverflowError):
        span = timedelta(0)
    if not timedelta(0) < span <= LONGEST:
        raise Invalid(f"cannot use max_age = {text!r}; write a duration up to {show_duration(LONGEST)}, such as '24h'")
    return span


def _text(options: Mapping[str, Any], name: str) -> str:
    if not isinstance(options[name], str):
        raise Invalid(f"cannot use {name} = {options[name]!r}; write text in quotes")
    return str(options[name]).strip()


def _choice(options: Mapping[str, Any], name: str, known: Sequence[str]) -> str:
    if options[name] not in known:
        raise Invalid(f"cannot use {name} = {options[name]!r}; write one of {', '.join(known)}")
    return str(options[name])


if __name__ == "__main__":
    tick.run(main)
