"""The people that matter: `Name <address>`, `address` or `@domain`; who is one, and who only looks like one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from heartbeat.sources.mail.author import Address, Author, read_mailbox
from heartbeat.sources.mail.names import canonical_domain, readable_domain, skeleton, words_of
from heartbeat.sources.text import clean_title

MOST = 500
LONGEST = 320
_MOST_SIGNS = 20
_SHAPES = "write 'Name <address>', an address or '@domain'"
_NAMED = re.compile(r"(?P<name>[^<>]*)<(?P<address>[^<>]*)>\s*")
_AROUND_AT = re.compile(r" ?@ ?")
_AROUND_SIGNS = re.compile(r" ?([@.,]) ?")


@dataclass(frozen=True, slots=True)
class Vip:
    """One entry, ready to compare."""

    shown: str
    local: str
    """In lower case; empty: the whole domain, without those below it."""
    domain: str
    words: tuple[str, ...]
    """Of the name, as they look."""
    looks: tuple[str, ...]
    """The address, or the domain with its @, as it looks in either spelling of the domain."""
    domain_look: str

    def wrote(self, author: Address) -> bool:
        """Whether it is exactly this one; case does not matter, nor a tag unless the entry has one."""
        if author.domain != self.domain:
            return False
        local = author.local.lower()
        return not self.local or self.local in (local, _untagged(local))


@dataclass(frozen=True, slots=True)
class Look:
    """What an author looks like."""

    text: str
    """The name, and what may hide in the address."""
    words: tuple[str, ...]
    """Of the name."""
    addresses: tuple[str, ...]
    """With its tag and without."""
    domain: str
    real_domain: str


def read_vips(value: Any) -> tuple[list[Vip], list[str]]:
    """The entries of the option, and what is wrong with the others."""
    if not isinstance(value, list):
        return [], [f"cannot use vips: it is no list; in it {_SHAPES}"]
    vips, faults = [], []
    for number, entry in enumerate(value[:MOST], 1):
        try:
            vips.append(_read(entry))
        except ValueError as error:
            faults.append(f"cannot use vip {number}, {clean_title(repr(entry), 80)}: {error}")
    if len(value) > MOST:
        faults.append(f"cannot use {len(value)} vips; only the first {MOST} are looked for")
    return vips, faults


def look_of(author: Author) -> Look:
    """Made once for each mail, for it is compared with every VIP."""
    name = " ".join(skeleton(author.name).split())
    name = f"{_AROUND_AT.sub('@', name)} {_AROUND_SIGNS.sub(_tightened, name)}" if "@" in name else name
    if author.address is None:
        return Look(name, tuple(words_of(name)), (), "", "")
    domain = skeleton(readable_domain(author.address.domain))
    local = skeleton(author.address.local)
    addresses = (f"{local}@{domain}", f"{_untagged(local)}@{domain}")
    # Many bear their own address as their name; and a VIP's may hide in the part before the @.
    words = words_of(name.replace(addresses[0], ""))
    return Look(f"{name} {local}", tuple(words), addresses, domain, author.address.domain)


def imitation(vips: Sequence[Vip], look: Look) -> tuple[Vip, str] | None:
    """The VIP that an author, who is none, may be taken for, and by what."""
    for vip in vips:
        if any(_holds(look.text, one) for one in vip.looks):
            return vip, "address"
        if _looks_like(vip, look):
            return vip, "look"
        if _bears(vip.words, look.words):
            return vip, "name"
    return None


def _read(entry: Any) -> Vip:
    if not isinstance(entry, str) or not entry.strip():
        raise ValueError(f"it is no text; {_SHAPES}")
    text = entry.strip()
    if len(text) > LONGEST:
        raise ValueError(f"it is longer than {LONGEST} characters; {_SHAPES}")
    named = _NAMED.fullmatch(text)
    name, address = (named["name"].strip(' "'), named["address"].strip()) if named else ("", text)
    if address.startswith("@"):
        return _vip(text, "", "", _domain(address[1:]))
    if "@" not in address:
        why = "an address has an @" if named else "a name alone proves nothing, for anybody may write it"
        raise ValueError(f"{why}; {_SHAPES}")
    mailbox = read_mailbox(address)
    if mailbox is None or "*" in address or "@" in mailbox.local:
        raise ValueError(f"it is no address; {_SHAPES}")
    return _vip(text, name, mailbox.local.lower(), mailbox.domain)


def _domain(text: str) -> str:
    domain = canonical_domain(text)
    if domain is None or "." not in domain:
        raise ValueError("it is no domain; write it whole, such as '@example.org', for it does not mean those below it")
    return domain


def _vip(shown: str, name: str, local: str, domain: str) -> Vip:
    readable = readable_domain(domain)
    looks = {skeleton(f"{local}@{one}") for one in (domain, readable)}
    return Vip(
        clean_title(shown, 120), local, domain, tuple(words_of(skeleton(name))), tuple(looks), skeleton(readable)
    )


def _untagged(local: str) -> str:
    return local.partition("+")[0] or local


def _holds(text: str, look: str) -> bool:
    """Whether an address stands in a text, not as the end or the beginning of a longer one."""
    place = text.find(look)
    while place >= 0:
        # Signs belong to a longer address only with a letter beyond them.
        before = text[max(0, place - _MOST_SIGNS) : place].rstrip("+._-")[-1:]
        after = text[place + len(look) :][:_MOST_SIGNS].lstrip("-")[:1]
        if (look[0] == "@" or not before.isalnum()) and not after.isalnum():
            return True
        place = text.find(look, place + 1)
    return False


def _tightened(sign: re.Match[str]) -> str:
    return "@" if sign[1] == "@" else "."


def _looks_like(vip: Vip, look: Look) -> bool:
    if look.real_domain != vip.domain and look.domain == vip.domain_look:
        return True
    if vip.local and not set(vip.looks).isdisjoint(look.addresses):
        return True
    # partner.example.org.evil.example: what follows has to be a domain too, for example.com.br is none's imitation.
    front, _, rest = look.real_domain.partition(vip.domain + ".")
    return front == "" and "." in rest


def _bears(name: Sequence[str], words: Sequence[str]) -> bool:
    """Whether somebody bears a name: in any order, with more around it; a name of one word only alone."""
    if not name:
        return False
    return "".join(name) == "".join(words) or (len(name) > 1 and set(name) <= set(words))
