"""What an installation for the whole machine needs before its service: its folders, and a user who can run it."""

from __future__ import annotations

import os
import pwd
import stat
import subprocess
import sys
from pathlib import Path

from heartbeat.errors import Refused, ServiceError
from heartbeat.paths import Home
from heartbeat.service.acting import acting_as, groups_of
from heartbeat.service.planning import find_user, interpreter

_SECONDS = 30.0


def user_of(home: Home) -> str:
    """Who the installation of the machine runs as: the owner of its state; empty before there is one.

    Where somebody took the state away, to begin anew, the owner of its cache, which systemd keeps beside it.
    """
    for folder in (home.state, home.cache):
        try:
            return pwd.getpwuid(os.stat(folder).st_uid).pw_name
        except FileNotFoundError:
            continue
        except (OSError, KeyError):
            return ""
    return ""


def prepare(home: Home, name: str) -> tuple[str, ...]:
    """Make the folders, and let the user *name* read the configuration; says what was done.

    Raises Refused when the folders are another user's, ServiceError when the user cannot run heartbeat.
    """
    user = find_user(name)
    for folder in (home.state, home.cache):
        if folder.exists() and (owner := folder.stat().st_uid) != user.pw_uid:
            other = _name_of(owner)
            whose = f"{other!r}" if other else f"the user {owner}, who is no more on this machine"
            instead = f", or install with `--as {other}`" if other else ""
            raise Refused(
                f"cannot install as {name!r}: {folder} belongs to {whose}; run `chown -R {name}: {folder}`{instead}"
            )
    _try_to_run(user)
    done = [_make(folder, 0o700, user) for folder in (home.state, home.cache)]
    done.append(_make(home.config, 0o755, None))
    done += [_let_read(path, user) for path in (home.config, home.config_file, home.jobs)]
    return tuple(filter(None, done))


def _make(folder: Path, mode: int, user: pwd.struct_passwd | None) -> str:
    if folder.is_dir():
        return ""
    try:
        folder.mkdir(parents=True)
        folder.chmod(mode)  # whatever the umask
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)
    except OSError as error:
        raise ServiceError(
            f"cannot make {folder}: {error.strerror}; make it by hand, or correct what is there"
        ) from error
    return f"made {folder}" + (f", which is {user.pw_name}'s" if user else "")


def _let_read(path: Path, user: pwd.struct_passwd) -> str:
    """Give the user's own group, and nobody else, what is missing to read root's *path*."""
    wanted = os.R_OK | (os.X_OK if path.is_dir() else 0)
    with acting_as(user.pw_uid):
        if os.access(path, wanted, effective_ids=True):
            return ""
    try:
        facts = os.lstat(path)
        if facts.st_uid != 0 or stat.S_ISLNK(facts.st_mode):
            return ""  # another's: whether it can be read, the check that follows says
        os.chown(path, -1, user.pw_gid)
        os.chmod(path, stat.S_IMODE(facts.st_mode) | (0o050 if wanted & os.X_OK else 0o040))
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ServiceError(f"cannot let {user.pw_name} read {path}: {error.strerror}; correct its owner") from error
    return f"let {user.pw_name} read {path}"


def _try_to_run(user: pwd.struct_passwd) -> None:
    gid, groups = groups_of(user.pw_uid)
    identity = {"user": user.pw_uid, "group": gid, "extra_groups": groups} if os.geteuid() == 0 else {}
    try:
        done = subprocess.run(
            [*interpreter(), "--version"],
            **identity,  # type: ignore[call-overload]
            cwd="/",
            env={"PATH": os.defpath, "HOME": user.pw_dir},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
        said, failed = done.stdout.strip().rpartition("\n")[2], done.returncode != 0
    except (OSError, subprocess.SubprocessError) as error:
        said, failed = str(error), True
    if failed:
        raise ServiceError(
            f"cannot run {sys.executable} as {user.pw_name!r}: {said or 'it says nothing'};"
            " install heartbeat where they can read it, such as, from its checkout:"
            " `sudo python3 -m venv /opt/heartbeat && sudo /opt/heartbeat/bin/pip install .`"
        )


def _name_of(uid: int) -> str:
    """Empty for a user that was removed: a number is no name for `--as`."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return ""
