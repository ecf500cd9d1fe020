"""Whose mailbox at which server, and how to get in without ever showing a password to anybody else."""

from __future__ import annotations

import imaplib
import ipaddress
import re
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from heartbeat.sources import SourceFailed
from heartbeat.sources.entries import Entry
from heartbeat.sources.mail.ask import Ask, file_of, flag_of, text_of
from heartbeat.sources.mail.connection import Connection
from heartbeat.sources.mail.imap_words import quoted
from heartbeat.sources.mail.refusals import Refusals

_PORTS = {"imaps": 993, "imap": 143}
_PASSING = frozenset({"UNAVAILABLE", "INUSE", "LIMIT", "SERVERBUG"})
"""Codes (RFC 5530) that say nothing against the password."""
_CODE = re.compile(r"\[([A-Z][A-Z0-9-]{0,40})[] ]")


@dataclass(frozen=True, slots=True)
class Account:
    """A user at a server. *token* is for XOAUTH2, which then takes the place of the password."""

    host: str
    port: int
    scheme: str
    user: str
    password: str = field(repr=False, default="")
    token: str = field(repr=False, default="")
    starttls: bool = False
    ca_file: str = ""


def account_of(entry: Entry) -> Account:
    """Raises SourceFailed where the settings do not fit together, or would show the password to the network."""
    scheme, host, port = _server(entry.place)
    account = Account(
        host,
        port,
        scheme,
        text_of(entry, "user"),
        text_of(entry, "password"),
        text_of(entry, "token"),
        flag_of(entry, "starttls"),
        file_of(entry, "ca_file"),
    )
    if not account.user or bool(account.password) == bool(account.token):
        raise SourceFailed("cannot log in: write user, and either password or token (for XOAUTH2)")
    if scheme == "imaps" and account.starttls:
        raise SourceFailed(
            "cannot use starttls with imaps://, which is encrypted from the start; leave one of them out"
        )
    if scheme == "imap" and not account.starttls and not _is_loopback(host):
        raise SourceFailed(
            f"cannot log in to {host}: imap:// shows the password to the network; write imaps://, or starttls = true"
        )
    return account


def open_connection(account: Account, ask: Ask) -> Connection:
    """An encrypted connection, or one to this machine; nothing has been shown yet."""
    if account.scheme == "imaps":
        return Connection(account.host, account.port, _trust(account.ca_file), lambda: ask.left)
    connection = Connection(account.host, account.port, None, lambda: ask.left)
    if account.starttls:
        if "STARTTLS" not in connection.capabilities:
            connection.shutdown()
            raise SourceFailed(f"cannot log in to {account.host}: it offers no STARTTLS; write imaps:// if it has that")
        connection.starttls(_trust(account.ca_file))
    return connection


def log_in(connection: Connection, account: Account, ask: Ask, refusals: Refusals) -> None:
    """One try; refused, there is none for a while."""
    try:
        _show(connection, account)
    except imaplib.IMAP4.abort:
        raise
    except imaplib.IMAP4.error as error:
        found = _CODE.search(str(error))
        code = f" ({found[1]})" if found else ""
        if found and found[1] in _PASSING:
            raise SourceFailed(f"cannot log in to {account.host}: not now{code}; it may be over later") from None
        until = refusals.refused(ask.now)
        raise SourceFailed(
            f"cannot log in to {account.host}: user or password is refused{code}; mend them; "
            f"the same ones are not tried before {until:%H:%M}, so that the account is not locked"
        ) from None
    refusals.accepted()


def _show(connection: Connection, account: Account) -> None:
    if account.token:
        words = f"user={account.user}\1auth=Bearer {account.token}\1\1"
        connection.authenticate("XOAUTH2", _once(words))
    elif "AUTH=PLAIN" in connection.capabilities:
        connection.authenticate("PLAIN", _once(f"\0{account.user}\0{account.password}"))
    elif "LOGINDISABLED" in connection.capabilities:
        raise SourceFailed(f"cannot log in to {account.host}: it allows no login with a password here; use a token")
    else:
        quoted(account.password)  # only to see that it can stand there; imaplib quotes it itself
        connection.login(quoted(account.user), account.password)


def _once(words: str) -> Callable[[bytes], bytes | None]:
    """Answers the first question of the server; a second one is a complaint."""
    answers = [words.encode("utf-8", "surrogateescape")]

    def answer(_question: bytes) -> bytes | None:
        return answers.pop() if answers else b""

    return answer


def _server(address: str) -> tuple[str, str, int]:
    try:
        parts = urlsplit(address.strip())
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    usable = parts.scheme in _PORTS and parts.hostname and not parts.query and not parts.fragment
    if not usable or parts.path not in ("", "/") or "@" in parts.netloc:
        raise SourceFailed("cannot use the address; write imaps://host or imaps://host:port, and user beside it")
    return parts.scheme, parts.hostname or "", port or _PORTS[parts.scheme]


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _trust(ca_file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=ca_file or None)
    except (OSError, ValueError):
        raise SourceFailed("cannot use ca_file: it holds no certificates; name a PEM file that can be read") from None
