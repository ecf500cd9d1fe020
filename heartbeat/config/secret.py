"""Secrets: the five places where one may be kept, and reading those of them that need no other program."""

from __future__ import annotations

import os
import pwd
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeGuard

from pydantic import AfterValidator, Field, ValidationError, model_validator

from heartbeat.config.fields import Model, Text
from heartbeat.config.service import CREDENTIAL

LARGEST = 64 * 1024
"""Bytes of a secret; the kernel allows 128 KiB for one variable."""
PLACES = ("env", "file", "command", "keyring", "credential")
"""The keys of which a secret has exactly one."""

_SHAPES = {
    "env": "the name of a variable in quotes",
    "file": 'a path in quotes, such as "~/.mail-password"',
    "command": 'a list of texts, such as ["pass", "show", "mail"]',
    "keyring": 'service and user in quotes with a slash between, such as "mail/me"',
    "credential": "the name of a credential in quotes",
}
_REMEDY = (
    'write { env = "NAME" }, { file = "~/path" }, { command = ["pass", "show", "mail"] }, { keyring = "mail/me" } '
    'or { credential = "name" }'
)


def _unusable(place: str) -> ValueError:
    # The text is not quoted: it may be the secret itself.
    return ValueError(f"cannot use what stands after {place} (not shown); write {_SHAPES[place]} there")


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise _unusable("env")
    return name


def _words(words: tuple[str, ...]) -> tuple[str, ...]:
    if not words or not words[0]:
        raise _unusable("command")
    return words


def _entry(text: str) -> str:
    service, _, user = text.rpartition("/")
    if not service or not user:
        raise _unusable("keyring")
    return text


def _credential(name: str) -> str:
    if not re.fullmatch(CREDENTIAL, name):
        raise _unusable("credential")
    return name


class Secret(Model):
    """The place of a secret, never its value."""

    env: Annotated[str, AfterValidator(_variable)] | None = None
    """A variable of heartbeat's own environment."""
    file: Text | None = None
    command: Annotated[tuple[Text, ...], Field(strict=False), AfterValidator(_words)] | None = None
    """A program and its arguments; the secret is the first line of what it prints."""
    keyring: Annotated[Text, AfterValidator(_entry)] | None = None
    """Service and user of an entry in the keyring of the desktop."""
    credential: Annotated[str, AfterValidator(_credential)] | None = None
    """What systemd hands over to the service under this name."""

    @model_validator(mode="before")
    @classmethod
    def _no_value(cls, value: Any) -> Any:
        if isinstance(value, dict | Secret):
            return value
        # It is not quoted: it may be the secret itself.
        raise ValueError(f"cannot keep a secret in this file (its value is not shown); keep it elsewhere: {_REMEDY}")

    @model_validator(mode="after")
    def _one_place(self) -> Secret:
        if len(self.model_fields_set) != 1 or not any(getattr(self, place) for place in PLACES):
            raise ValueError(f"cannot tell where this secret is kept; {_REMEDY}")
        return self

    def read(self, folder: Path, environ: Mapping[str, str], credentials: Mapping[str, str] | None = None) -> str:
        """The value from a variable, a file or a credential; raises ValueError when it cannot be had.

        *folder* is what a bare file name is relative to; *credentials* are those of [service].
        """
        if self.env:
            value = environ.get(self.env, "")
            if not value:
                raise ValueError(f"cannot find the variable {self.env} in heartbeat's environment; set it there")
            return value
        if self.credential:
            path = _file_of(self.credential, environ, credentials or {})
        else:
            path = expand(self.file or "", folder, environ)
        value = _read_private(path).removesuffix("\n").removesuffix("\r")
        if not value or "\0" in value:
            raise ValueError(f"cannot use {path}: it is empty or holds a NUL character; put the secret into it")
        return value


def is_secret(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether a table in the options of a job is meant as a secret."""
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)) in PLACES


def secret_of(table: Mapping[str, Any]) -> Secret:
    """The secret that a table with one of PLACES describes; raises ValueError, which quotes nothing of it."""
    try:
        return Secret.model_validate(table)
    except ValidationError:
        raise _unusable(next(iter(table))) from None


def expand(text: str, folder: Path, environ: Mapping[str, str]) -> Path:
    """The path of a text in the configuration: `~` is the home folder, a bare name is relative to *folder*."""
    if text == "~" or text.startswith("~/"):
        return Path(home_folder(environ) + text[1:])
    return folder / text


def home_folder(environ: Mapping[str, str]) -> str:
    """HOME, which a service manager may leave out or empty."""
    return environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir


def _file_of(name: str, environ: Mapping[str, str], credentials: Mapping[str, str]) -> Path:
    """Where systemd put a credential; else, as outside of the service, the file that it would take it from."""
    handed = f"{environ.get('CREDENTIALS_DIRECTORY', '')}/{name}"
    # Of a file that could not be read when the service started, systemd hands over a line end alone.
    if os.path.isfile(handed) and os.path.getsize(handed) > 1:
        return Path(handed)
    if name in credentials:
        return _outside(name, Path(credentials[name]))
    known = ", ".join(sorted(credentials)) or "none"
    raise ValueError(
        f"cannot find the credential {name!r}: [service] credentials names {known}; "
        "add it there with its file, and run `heartbeat install`"
    )


def _outside(name: str, path: Path) -> Path:
    """The file of a credential, for whoever is not the service."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK))
    except PermissionError:
        raise ValueError(
            f"cannot read the credential {name!r} here: systemd reads {path} for the service; ask as root"
        ) from None
    except OSError:
        pass  # whoever reads it says what is wrong
    return path


def _read_private(path: Path) -> str:
    try:
        # Without O_NONBLOCK a FIFO in this place would block for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode):
                raise ValueError(f"cannot use {path}: it is not a file; give the file that holds the secret")
            if facts.st_mode & 0o077:
                raise ValueError(f"cannot use {path}: others may read or change it; run `chmod 600 {path}`")
            raw = file.read(LARGEST + 1)
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}; put the secret there or correct the path") from None
    if len(raw) > LARGEST:
        raise ValueError(f"cannot use {path}: it is larger than 64 KiB; put only the secret into it")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        # The error's own text would quote bytes of the secret.
        raise ValueError(f"cannot use {path}: it is not UTF-8 text; save the secret as text") from None
