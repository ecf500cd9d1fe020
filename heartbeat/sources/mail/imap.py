"""Unread mails at an IMAP server: a read-only look at their headers, one login each time.

UIDs are for fetching and are never kept: a rebuilt mailbox, or a mail moved away and back, has new ones.
"""

from __future__ import annotations

import imaplib
import socket
import ssl
from contextlib import suppress

from heartbeat.sources import SourceFailed
from heartbeat.sources.entries import Entry
from heartbeat.sources.mail.ask import Ask, folders_of
from heartbeat.sources.mail.connection import Connection, TooMuch
from heartbeat.sources.mail.imap_login import Account, account_of, log_in, open_connection
from heartbeat.sources.mail.imap_words import ITEMS, criteria, encoded, fetched, folder_name, quoted, uids
from heartbeat.sources.mail.message import Message, Unread
from heartbeat.sources.mail.raw import read_message
from heartbeat.sources.mail.refusals import Refusals
from heartbeat.sources.text import clean_title

BATCH = 100
"""Mails fetched at once: with the longest headers, a tenth of what is kept in all."""
_LISTED = 20
_FAULTS: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
    ((TooMuch,), "cannot read from {host}: it sends more than any mailbox holds; see whether it is a mail server"),
    (
        (ssl.SSLCertVerificationError,),
        "cannot trust {host}: {why}; name the right host, or its own authority as ca_file",
    ),
    (
        (ssl.SSLError,),
        "cannot speak TLS with {host}; see whether the port is right, and whether it wants imap:// with starttls",
    ),
    ((TimeoutError,), "cannot read from {host}: no whole answer in time; see whether it is slow or down"),
    ((socket.gaierror,), "cannot find the host {host}; mend the address, or see whether the network is up"),
    (
        (imaplib.IMAP4.abort, ConnectionResetError, BrokenPipeError),
        "cannot read from {host}: it ended the connection, or speaks no IMAP; it may be over later",
    ),
    ((OSError,), "cannot connect to {host}: {why}; see whether it is up"),
    ((Exception,), "cannot read from {host}: it answers as no IMAP server does; see whether host and port are right"),
)
"""The first that fits."""


def read(entry: Entry, ask: Ask) -> Unread:
    """The unread mails of an account; what was read before something failed is kept."""
    account, folders = account_of(entry), folders_of(entry)
    refusals = Refusals(
        ask.cache, ("imap", account.host, str(account.port), account.user), account.password or account.token
    )
    if until := refusals.waits_until(ask.now):
        raise SourceFailed(
            f"cannot log in to {account.host}: user or password was refused; mend them, others are tried at once; "
            f"the same ones are not tried before {until:%H:%M}, so that the account is not locked"
        )
    messages: list[Message] = []
    try:
        faults = _look(account, ask, refusals, folders, messages)
    except TooMuch as error:
        all_of_it = f"cannot read all mails of {account.host}: their headers are too large; the newest were read"
        return Unread(tuple(messages), all_of_it if messages else _why(error, account.host))
    except (OSError, imaplib.IMAP4.error, ValueError, SourceFailed) as error:
        return Unread(tuple(messages), _why(error, account.host))
    return Unread(tuple(messages), "; ".join(faults))


def _look(
    account: Account, ask: Ask, refusals: Refusals, folders: tuple[str, ...], messages: list[Message]
) -> list[str]:
    """Add the unread mails of the folders to *messages*; the folders that cannot be opened, in words."""
    connection = open_connection(account, ask)
    try:
        log_in(connection, account, ask, refusals)
        faults = [fault for name in folders if (fault := _look_into(connection, name, ask, messages))]
        with suppress(Exception):  # we have what we came for
            connection.logout()
    finally:
        with suppress(OSError):
            connection.shutdown()
    return faults


def _look_into(connection: Connection, name: str, ask: Ask, messages: list[Message]) -> str:
    opened, _ = connection.select(quoted(encoded(name)), readonly=True)
    if opened != "OK":
        known = ", ".join(_names(connection)) or "none that it tells"
        return f"cannot open the folder {clean_title(name, 100)!r}; mend folders; the account has {known}"
    # Bounded by date, always: a line that names every mail of years would be refused for its length.
    answer, data = connection.uid("SEARCH", *criteria(ask.since))
    _check(answer)
    numbers = uids(data)
    for start in range(0, len(numbers), BATCH):
        batch = numbers[start : start + BATCH]
        answer, data = connection.uid("FETCH", ",".join(map(str, batch)), ITEMS)
        _check(answer)
        # By number: the server may tell a mail twice, or tell of one that nobody asked for.
        found = {mail.uid: mail for mail in fetched(data)}
        mails = [found[number] for number in batch if number in found]
        messages.extend(read_message(mail.header, mail.arrived_at) for mail in mails if not mail.seen)
    return ""


def _names(connection: Connection) -> list[str]:
    _, data = connection.list()
    names = (folder_name(line) for line in data if isinstance(line, bytes))
    return [clean_title(name, 60) for name in names if name][:_LISTED]


def _check(answer: str) -> None:
    if answer != "OK":
        raise SourceFailed("cannot read the mailbox: the server refuses to search or to fetch; it may be over later")


def _why(error: Exception, host: str) -> str:
    """What went wrong, in our words: the server's may hold what it was sent."""
    if isinstance(error, SourceFailed):
        return str(error)
    why = getattr(error, "verify_message", "") or getattr(error, "strerror", "") or type(error).__name__
    words = next(words for kinds, words in _FAULTS if isinstance(error, kinds))
    return words.format(host=host, why=clean_title(str(why), 120))
