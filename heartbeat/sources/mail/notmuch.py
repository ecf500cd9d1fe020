"""Unread mails as notmuch knows them: it names the files, we read their headers.

What notmuch itself shows of a mail is not used: two mails with one Message-ID are one to it, with the fields of either.
"""

from __future__ import annotations

import os

from heartbeat.sources import SourceFailed
from heartbeat.sources.commands import run
from heartbeat.sources.entries import Entry
from heartbeat.sources.mail.ask import Ask, text_of
from heartbeat.sources.mail.maildir import read_files
from heartbeat.sources.mail.message import Unread
from heartbeat.sources.text import clean_title

_MOST = 64 << 20


def read(entry: Entry, ask: Ask) -> Unread:
    """The mails that a query finds, in the database of a configuration file.

    The query is not bounded by date: notmuch goes by the Date field, which its sender chose. The age of files bounds.
    """
    if not os.path.isfile(entry.place):
        raise SourceFailed("cannot find notmuch's configuration file; name it, most often it is ~/.notmuch-config")
    query = text_of(entry, "query", "tag:unread")
    argv = ["notmuch", f"--config={entry.place}", "search", "--output=files", "--format=text0", "--", query]
    output = run(argv, ask.left, _MOST)
    if output.status:
        says = clean_title(output.stderr.decode("utf-8", "replace"), 200)
        raise SourceFailed(f"cannot search with notmuch: {says or f'it ended with {output.status}'}; try it by hand")
    paths = [os.fsdecode(path) for path in output.stdout.split(b"\0") if path]
    messages, fault = read_files(paths, ask)
    if not messages and paths and not any(map(os.path.exists, paths)):
        fault = f"cannot find any of the {len(paths)} files that notmuch names; run notmuch new"
    return Unread(tuple(messages), fault)
