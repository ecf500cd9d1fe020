"""An IMAP server that answers as a test says: politely where nothing is said."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

Answer = bytes | Callable[["Talk"], None]
POLITE: dict[str, Answer] = {
    "GREETING": b"* OK ready\r\n",
    "CAPABILITY": b"* CAPABILITY IMAP4rev1 AUTH=PLAIN\r\n%TAG% OK done\r\n",
    "AUTHENTICATE": b"%TAG% OK in\r\n",
    "LOGIN": b"%TAG% OK in\r\n",
    "EXAMINE": b"* 1 EXISTS\r\n* OK [UIDVALIDITY 1] ok\r\n%TAG% OK [READ-ONLY] open\r\n",
    "UID SEARCH": b"* SEARCH 7\r\n%TAG% OK done\r\n",
    "UID FETCH": b"* 1 FETCH (UID 7 FLAGS () BODY[] {15}\r\nFrom: a@b.c\r\n\r\n)\r\n%TAG% OK done\r\n",
    "LIST": b'* LIST (\\HasNoChildren) "/" "INBOX"\r\n* LIST () "/" "Entw&APw-rfe"\r\n%TAG% OK done\r\n',
    "LOGOUT": b"* BYE bye\r\n%TAG% OK done\r\n",
}


@dataclass
class Talk:
    """One connection, and the command that is to be answered."""

    conn: socket.socket
    tag: bytes = b""
    line: bytes = b""

    def say(self, words: bytes) -> None:
        self.conn.sendall(words.replace(b"%TAG%", self.tag))


@dataclass
class Double:
    port: int
    got: list[bytes] = field(default_factory=list)
    connections: int = 0


@contextmanager
def imap_double(answers: Mapping[str, Answer], context: ssl.SSLContext | None = None) -> Iterator[Double]:
    """*context* is for STARTTLS."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        double = Double(listener.getsockname()[1])
        told = {**POLITE, **answers}

        def accept() -> None:
            with suppress(OSError):
                while True:
                    conn, _ = listener.accept()
                    double.connections += 1
                    threading.Thread(target=_talk, args=(conn, told, double, context), daemon=True).start()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield double
        # A blocked accept is not ended by closing alone.
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)


def _talk(conn: socket.socket, answers: Mapping[str, Answer], double: Double, context: ssl.SSLContext | None) -> None:
    with suppress(OSError), ExitStack() as stack:
        stack.enter_context(conn)
        talk = Talk(conn)
        _answer(talk, answers["GREETING"])
        reader = stack.enter_context(conn.makefile("rb"))
        while line := reader.readline():
            double.got.append(line)
            talk.tag, _, talk.line = line.strip().partition(b" ")
            words = talk.line.decode("latin-1").upper().split(" ")
            name = " ".join(words[:2]) if words[0] == "UID" else words[0]
            if name == "AUTHENTICATE" and not callable(answers[name]):
                talk.say(b"+ \r\n")
                double.got.append(reader.readline())
            _answer(talk, answers.get(name, b"%TAG% BAD what\r\n"))
            if name == "STARTTLS" and context is not None:
                talk.conn = stack.enter_context(context.wrap_socket(conn, server_side=True))
                reader = stack.enter_context(talk.conn.makefile("rb"))


def _answer(talk: Talk, answer: Answer) -> None:
    if callable(answer):
        answer(talk)
    else:
        talk.say(answer)
