"""Sends one message by apprise, in a process of its own: its plugins may hang where nothing else can end them.

Started by its path, with the standard library and apprise alone. The job is JSON on standard input, so that the
address is in no argument; the answer is JSON on standard output. Its keys are too short to be taken for a secret.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from typing import Any
from urllib.parse import quote, quote_plus, unquote, unquote_plus

UNCONFIRMED = frozenset(
    (
        *("dbus", "kde", "qt", "glib", "gio", "gnome", "macosx", "windows", "blink1"),  # this machine's own screen
        *("syslog", "rsyslog"),  # a datagram
        *("aprs", "irc", "ircs", "mqtt", "mqtts", "nostr", "xmpp", "xmpps"),  # nothing comes back
        *("growl", "deltachat", "deltachats"),
    )
)
"""Schemas of services that do not confirm; all others answer, by HTTP or SMTP, when they have taken it."""
_PERMANENT = re.compile(r"\berror=(400|401|404|405|410|413|422)\b")
_WORTH_TELLING = re.compile(r"(Socket |SMTP )?[Ee]xception")
_LONGEST_ERROR = 6000
"""Whoever started us takes secrets out once more, and cuts it then."""
_SHORTEST_PART, _LONGEST_PATTERN = 6, 1024
_SHORTEST_CUT = 20  # characters: where there is no room for more, the text is worth more than where to find the rest
_MENTION = re.compile(r"@(?=(?:everyone|here|channel|all|room)\b)|<(?=[@!#])", re.IGNORECASE)
_TYPES = {"high": "warning", "critical": "failure"}


class _Heard(logging.Handler):
    """Keeps what apprise complains of."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: dict[str, None] = {}

    def emit(self, record: logging.LogRecord) -> None:
        line = record.getMessage().strip()
        if record.levelno >= logging.WARNING or _WORTH_TELLING.match(line):
            self.lines[line] = None


def within(text: str, tail: str, cut: str, room: int) -> str:
    """Text and tail within so many characters; when that is too few, the text is cut and *cut* says so."""
    whole = "\n\n".join(filter(None, (text, tail)))
    if len(whole) <= room:
        return whole
    end = "\n".join(filter(None, (cut, tail)))
    left = room - len(end) - 3
    if left < _SHORTEST_CUT:
        return text[: max(room - 1, 0)] + "…"
    return f"{text[:left]}…\n\n{end}"


def without_mentions(text: str) -> str:
    """The text in which nothing calls a whole channel of a chat together: a stranger may have written it."""
    return _MENTION.sub(lambda found: f"{found[0]}\u200b", text)


def send(job: dict[str, Any]) -> dict[str, Any]:
    """Send it; what came of it."""
    # Here: whoever imports `within` must not pay for it.
    import apprise

    heard = _Heard()
    logger = logging.getLogger("apprise")
    logger.handlers, logger.propagate = [heard], False
    logger.setLevel(logging.DEBUG)
    # A redirected POST becomes a GET, and its 200 would pass for a proof of delivery.
    asset = apprise.AppriseAsset(
        app_id="heartbeat",
        app_desc="heartbeat",
        async_mode=False,
        http_redirects=False,
        pgp_autogen=False,
        pem_autogen=False,
    )
    service: Any = apprise.Apprise.instantiate(job["url"], asset=asset)
    if service is None:
        why = _told(heard, job["url"]) or "apprise knows no such service"
        return {"ok": False, "final": True, "error": f"the address cannot be used: {why}"}
    _prepare(service, job["timeout"])
    title, body = without_mentions(job["title"]), _body(service, job)
    sent = apprise.Apprise(service, asset=asset).notify(
        body=body,
        title=title,
        notify_type=_TYPES.get(job["urgency"], "info"),
        body_format=apprise.NotifyFormat.TEXT,
    )
    if sent:
        return {"ok": True, "proof": not UNCONFIRMED.intersection(service.schemas())}
    error = _told(heard, job["url"])
    return {"ok": False, "final": bool(_PERMANENT.search(error)), "error": error or "it gave no reason"}


def _prepare(service: Any, timeout: float) -> None:
    # With `optional` a failure would be reported as a success.
    service.optional = False
    # Apprise gives up after 4 s, when a slow service may well have taken it: it would be sent twice.
    if service.socket_connect_timeout == type(service).socket_connect_timeout:
        service.socket_connect_timeout = timeout / 3
    if service.socket_read_timeout == type(service).socket_read_timeout:
        service.socket_read_timeout = timeout / 2


def _body(service: Any, job: dict[str, Any]) -> str:
    """Within what the service takes, unless its address says that it is to be split."""
    text = without_mentions(job["text"])
    if service.overflow_mode == "split":
        return within(text, job["tail"], job["cut"], 32_768)
    service.overflow_mode = "truncate"
    title = len(job["title"]) + 8 if service.title_maxlen <= 0 else 0
    return within(text, job["tail"], job["cut"], service.body_maxlen - title)


def _told(heard: _Heard, url: str) -> str:
    # The secrets go before it is cut: the first half of one would not be found.
    return without_parts("; ".join(heard.lines), url)[:_LONGEST_ERROR]


def parts_of(url: str) -> list[str]:
    """What must not be seen of an address, the longest first: itself, and every part, since each may be a password."""
    rest = url.partition("://")[2]
    login, _, after = rest.rpartition("@")
    pieces = re.split(r"[/?&:@,;#\s]+", rest)
    values = [piece.partition("=")[2] for piece in pieces]
    # The name of an option is none; what stands before the sign in a path may well be.
    names = [piece.partition("=")[0] for piece in re.split(r"[/&:@,;#\s]+", rest.partition("?")[0])]
    found = [url, rest, login, after, *pieces, *values, *names]
    found += [read(part) for part in found for read in (unquote, unquote_plus)]
    return sorted({part for part in found if len(part) >= _SHORTEST_PART}, key=len, reverse=True)


def without_parts(text: str, url: str) -> str:
    """The text without any part of the address, however it is spelled there."""
    for part in parts_of(url):
        text = _spellings(part).sub("[secret address]", text)
    return text


def _spellings(part: str) -> re.Pattern[str]:
    """Finds a part with each of its characters plain or percent-encoded; a long one only as it is usually written."""
    if len(part) > _LONGEST_PATTERN:
        forms = {part, quote(part), quote(part, safe=""), quote_plus(part), repr(part)[1:-1]}
        return re.compile("|".join(map(re.escape, sorted(forms, key=len, reverse=True))), re.IGNORECASE)
    return re.compile("".join(map(_spelled, part)), re.IGNORECASE)


def _spelled(letter: str) -> str:
    encoded = "".join(f"%{byte:02x}" for byte in letter.encode(errors="surrogateescape"))
    return f"(?:{re.escape(letter)}|{encoded}{r'|[+]' if letter == ' ' else ''})"


def main() -> None:
    job = json.load(sys.stdin)
    # A plugin that prints must not spoil the answer.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    json.dump(send(job), answer)
    answer.close()


if __name__ == "__main__":
    main()
