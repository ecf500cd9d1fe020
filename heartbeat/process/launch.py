"""Says why a program could not be started, and what to do about it."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Mapping, Sequence

_SCARCE = {
    errno.EAGAIN: "the limit of processes is reached; end some, or raise TasksMax or `ulimit -u`",
    errno.ENOMEM: "memory is exhausted; end some programs or give the machine more",
    errno.EMFILE: "too many files are open in heartbeat; raise LimitNOFILE or `ulimit -n`",
    errno.ENFILE: "too many files are open on this machine; raise fs.file-max",
    errno.ETXTBSY: "it is being written just now; try again when that has ended",
}


def why_not_started(error: Exception, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> str:
    """A sentence with a remedy; it never quotes arguments or variables, which may hold secrets."""
    if not argv:
        return "cannot start the command '': it is empty; name a program"
    program = argv[0]
    if not isinstance(error, OSError):
        return f"cannot start {program!r}: an argument or variable is not valid ({error}); remove NUL bytes and '='"
    if error.filename == cwd != program:
        return f"cannot start {program!r} in {cwd!r}: {os.strerror(error.errno or 0)}; make it a folder we may enter"
    return f"cannot start {program!r}: {_cause(error, program, argv, env, cwd)}"


def _cause(error: OSError, program: str, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> str:
    if error.errno in _SCARCE:
        return _SCARCE[error.errno]
    if error.errno == errno.E2BIG:
        size = sum(len(os.fsencode(text)) + 1 for text in argv)
        return f"its arguments ({size} bytes) or variables are longer than the system allows; hand over text on stdin"
    path = os.path.join(cwd, program) if "/" in program else shutil.which(program, path=env.get("PATH", os.defpath))
    if path is None and error.errno in (errno.ENOENT, errno.ENOTDIR):
        return f"no such program in PATH {env.get('PATH', os.defpath)!r}; install it, or write its full path"
    return _fault_of_file(error, path or program)


def _fault_of_file(error: OSError, path: str) -> str:
    if error.errno == errno.ENOENT and os.path.exists(path):
        return _fault_of_interpreter(_first_line(path))
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return "there is no such file; check the path"
    if error.errno == errno.EACCES:
        return _fault_of_permission(path)
    if error.errno == errno.ENOEXEC:
        return _fault_of_format(_first_line(path))
    return f"{error.strerror}; check the file {path!r}"


def _fault_of_interpreter(first: bytes) -> str:
    if not first.startswith(b"#!"):
        return "the loader it was built for is missing; install a build for this system"
    if first.endswith(b"\r"):
        return "its lines end with CR LF, so the interpreter is not found; save it with LF line ends"
    return f"its interpreter {first[2:].decode(errors='replace').strip()!r} does not exist; correct its first line"


def _fault_of_permission(path: str) -> str:
    if os.path.isdir(path):
        return "it is a folder; name a program"
    if os.path.isfile(path) and not os.access(path, os.X_OK):
        return f"it is not executable; run: chmod +x {path}"
    return "permission denied; let it, its interpreter and their folders be read, and mount them without noexec"


def _fault_of_format(first: bytes) -> str:
    if first.startswith(b"\xef\xbb\xbf"):
        return "it begins with a byte order mark; save it as UTF-8 without one"
    if first.startswith((b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"MZ")):
        return "it was built for another kind of machine; install a build for this one"
    return "its first line names no interpreter; begin it with one, such as #!/bin/sh"


def _first_line(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.readline(4096).rstrip(b"\n")
    except OSError:
        return b""
