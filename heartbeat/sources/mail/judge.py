"""What a mail is to the owner: a VIP's, a match, a forgery of a VIP's, or nothing to tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from heartbeat.sources.mail.arrival import arrived
from heartbeat.sources.mail.auth import Vouch, vouch
from heartbeat.sources.mail.author import Address, Author, read_author, reply_domains
from heartbeat.sources.mail.message import Message
from heartbeat.sources.mail.patterns import Patterns
from heartbeat.sources.mail.vips import Vip, imitation, look_of
from heartbeat.sources.mail.words import one_line

VIP, PATTERN, SPOOF = "vip-mail", "pattern-mail", "spoof-suspect"
_FIRST_WORD = re.compile(rb"[\w-]*")


@dataclass(frozen=True, slots=True)
class Rules:
    """What the owner wants to be told of."""

    vips: Sequence[Vip]
    patterns: Patterns
    authserv_id: str
    """The name of the owner's own server in Authentication-Results; empty: none is trusted."""
    with_bulk: bool
    """Automatic replies of VIPs, and bulk mail of a VIP's domain, matter too."""
    max_age: timedelta


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a mail is told of."""

    kind: str
    why: str
    author: Author
    subject: str
    arrived: datetime | None


def judge(message: Message, rules: Rules, now: datetime) -> Verdict | None:
    """Too old comes first, then forged, then a VIP, then a pattern; None is nothing to tell."""
    arrival = arrived(message, now)
    if arrival is not None and now - arrival > rules.max_age:
        return None
    author = read_author(message)
    subject = one_line(next(message.all("subject"), b""))
    vip = author.address and _exact(rules.vips, author.address)
    if forged := _doubt(message, vip, rules.authserv_id) if vip else _imitated(author, rules.vips):
        return Verdict(SPOOF, forged, author, subject, arrival)
    if vip and (rules.with_bulk or not _mass_mail(message, vip)):
        return Verdict(VIP, f"from {vip.shown}", author, subject, arrival)
    if pattern := rules.patterns.search(subject):
        return Verdict(PATTERN, f"its subject matches {pattern}", author, subject, arrival)
    return None


def _exact(vips: Sequence[Vip], author: Address) -> Vip | None:
    """A person before a domain: what a domain sends in bulk is no news, what the person sends is."""
    return max((vip for vip in vips if vip.wrote(author)), key=lambda vip: bool(vip.local), default=None)


def _doubt(message: Message, vip: Vip, authserv_id: str) -> str:
    """Why a mail that bears a VIP's exact address may still be another's: From is easily forged."""
    word = vouch(message, authserv_id, vip.domain)
    if word is Vouch.FAIL:
        return f"the mail server says that it does not come from {vip.domain}"
    if word is Vouch.PASS:
        return ""
    if authserv_id:
        return f"{authserv_id} does not confirm that it comes from {vip.domain}"
    if reply_domains(message) - {vip.domain}:
        return f"answers would not go to {vip.domain}, and nothing confirms that it comes from there"
    return ""


def _imitated(author: Author, vips: Sequence[Vip]) -> str:
    found = imitation(vips, look_of(author))
    if found is None:
        return ""
    vip, by = found
    if author.address is None:
        return f"it names {vip.shown}, but its From is not to be trusted: {author.defect}"
    return {
        "address": f"the sender is {author.address}, who writes the address of {vip.shown} into the name",
        "name": f"the sender is {author.address}, who bears the name of {vip.shown}",
        "look": f"the sender is {author.address}, which only looks like {vip.shown}",
    }[by]


def _mass_mail(message: Message, vip: Vip) -> bool:
    """An automatic reply, or what a list or a mass mailer sent in the name of a VIP's domain."""
    if any(_first_word(value) not in (b"no", b"") for value in message.all("auto-submitted")):
        return True
    marks = next(message.all("list-id"), None), next(message.all("list-unsubscribe"), None)
    bulk = any(_first_word(value) in (b"bulk", b"list", b"junk") for value in message.all("precedence"))
    return not vip.local and (bulk or marks != (None, None))


def _first_word(value: bytes) -> bytes:
    found = _FIRST_WORD.match(value.strip())
    return found[0].lower() if found else b""
