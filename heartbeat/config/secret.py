"""Secrets: where each is kept, and reading it at the moment it is needed."""

from __future__ import annotations

import os
import pwd
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, model_validator

from heartbeat.config.fields import Model, Text

_LARGEST = 64 * 1024
_REMEDY = 'write { env = "NAME" } or { file = "~/path" }'


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        # Not quoted: it may be the secret itself.
        raise ValueError("cannot use the text after env (not shown); write the name of a variable there")
    return name


class Secret(Model):
    """The place of a secret, never its value: a variable of heartbeat's own environment, or a file."""

    env: Annotated[str, AfterValidator(_variable)] | None = None
    file: Text | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Secret:
        if bool(self.env) == bool(self.file):
            raise ValueError(f"cannot tell where this secret is kept; {_REMEDY}")
        return self

    def read(self, folder: Path, environ: Mapping[str, str]) -> str:
        """The value; raises ValueError when it cannot be had. *folder* is what a bare file name is relative to."""
        if self.env:
            value = environ.get(self.env, "")
            if not value:
                raise ValueError(f"cannot find the variable {self.env} in heartbeat's environment; set it there")
            return value
        path = expand(self.file or "", folder, environ)
        value = _read_private(path).removesuffix("\n").removesuffix("\r")
        if not value or "\0" in value:
            raise ValueError(f"cannot use {path}: it is empty or holds a NUL character; put the secret into it")
        return value


def expand(text: str, folder: Path, environ: Mapping[str, str]) -> Path:
    """The path of a text in the configuration: `~` is the home folder, a bare name is relative to *folder*."""
    if text == "~" or text.startswith("~/"):
        return Path(home_folder(environ) + text[1:])
    return folder / text


def home_folder(environ: Mapping[str, str]) -> str:
    """HOME, which a service manager may leave out or empty."""
    return environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir


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
            raw = file.read(_LARGEST + 1)
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}; put the secret there or correct the path") from None
    if len(raw) > _LARGEST:
        raise ValueError(f"cannot use {path}: it is larger than 64 KiB; put only the secret into it")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        # The error's own text would quote bytes of the secret.
        raise ValueError(f"cannot use {path}: it is not UTF-8 text; save the secret as text") from None
