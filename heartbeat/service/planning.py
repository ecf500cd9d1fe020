"""The plan of an installation, from its folders, its configuration and the shell that asks; and doubts about it."""

from __future__ import annotations

import hashlib
import os
import pwd
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from heartbeat import __version__, folders
from heartbeat.config import Settings
from heartbeat.errors import Invalid, NotFound
from heartbeat.paths import Home, find_home
from heartbeat.service.plan import Plan, Scope

SYSTEM = Home(*map(Path, folders.SYSTEM))
"""The folders of the installation that the whole machine has."""

_PATH = "/usr/local/bin:/usr/bin:/bin"
_LANG = "C.UTF-8"
_FLEETING = ("/tmp", "/var/tmp", "/dev/shm", "/run/user", "/private/tmp", "/private/var/folders", "/var/folders")  # noqa: S108 - recognised, not used
_CACHE = re.compile(r"/(?:[.]?cache|Caches)/(?:uv|pipx)/|/pipx/[.]cache/|/archive-v[0-9]+/")
_LONGEST_SLUG = 30
_OF_THE_SERVICE = ("install", "uninstall", "start", "stop", "restart", "reload", "status", "logs", "check")
_TYPED = re.compile(r"`heartbeat ([a-z][^`]*)`")


def make_plan(home: Home, settings: Settings, environ: Mapping[str, str], *, scope: Scope, user: str = "") -> Plan:
    """What `install` would set up now; raises Invalid for folders that cannot be, NotFound for a user that is not."""
    for folder in (home.config, home.state, home.cache):
        if not folder.is_absolute():
            raise Invalid(f"cannot use the folder {str(folder)!r}: it is not absolute; set HOME to an absolute path")
    if user:
        find_user(user)
    return Plan(
        name=name_of(home, environ),
        scope=scope,
        home=home,
        argv=(*interpreter(), "run"),
        path=clean_path(environ.get("PATH", "")),
        version=__version__,
        user=user,
        environment={**home.environment(), "LANG": _language(environ)},
        credentials=settings.service.credentials,
        drain=settings.daemon.drain,
    )


def scope_of(home: Home) -> Scope:
    """Whose these folders are: the machine's, or a user's."""
    return "system" if home == SYSTEM else "user"


def interpreter() -> tuple[str, ...]:
    """How heartbeat is started, wherever that is: `-P` keeps the modules of that folder from being taken for ours."""
    return sys.executable, "-P", "-m", "heartbeat"


def command_file() -> Path:
    """The `heartbeat` command of this interpreter."""
    return Path(sys.executable).with_name("heartbeat")


def called(verb: str, home: Home, environ: Mapping[str, str], *, absolute: bool = False) -> str:
    """How a verb is called for this installation, wherever that is typed."""
    words = [str(command_file()) if absolute else "heartbeat", *verb.split()]
    if scope_of(home) == "system" and words[1] in _OF_THE_SERVICE:
        words.append("--system")
        return shlex.join(words)
    own = _without_ours(environ)
    if home == find_home(None, own):
        return shlex.join(words)
    if home == find_home(str(home.config), own):
        words[1:1] = ["--home", str(home.config)]
        return shlex.join(words)
    return " ".join([*_variables(home, own), shlex.join(words)])


def addressed(text: str, home: Home, environ: Mapping[str, str]) -> str:
    """A text with each `heartbeat VERB` in it as it is called for this installation."""

    def typed(found: re.Match[str]) -> str:
        return found[0] if "--system" in found[1] else f"`{called(found[1], home, environ)}`"

    return _TYPED.sub(typed, text)


def name_of(home: Home, environ: Mapping[str, str]) -> str:
    """`heartbeat` for the system's folders and the user's own; else with a slug that no other folder has."""
    config, state = real = _real(home)  # one folder may be reached by several names
    if real in (_real(SYSTEM), _real(find_home(None, _without_ours(environ)))):
        return "heartbeat"
    words = re.sub(r"[^a-z0-9]+", "-", os.path.basename(config).lower())[:_LONGEST_SLUG].strip("-")
    digest = hashlib.sha256(os.fsencode(f"{config}\0{state}")).hexdigest()[:6]
    return "-".join(["heartbeat", *([words] if words else []), digest])


def _real(home: Home) -> tuple[str, str]:
    return os.path.realpath(home.config), os.path.realpath(home.state)


def _without_ours(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environ.items() if not name.startswith("HEARTBEAT_")}


def _variables(home: Home, own: Mapping[str, str]) -> list[str]:
    """The variables that an installation needs which no `--home` can name, as they are typed before a command."""
    given: dict[str, str] = {}
    for name, folder in home.environment().items():
        if find_home(None, {**own, **given}).environment()[name] != folder:
            given[name] = folder
    return [f"{name}={shlex.quote(folder)}" for name, folder in given.items()]


def clean_path(path: str) -> str:
    """Of a shell's PATH what a service can use, and the folder of the `heartbeat` command.

    A relative folder would mean another one there; one that does not outlive the login or the day, none at all.
    """
    folders = [folder.rstrip("/") or "/" for folder in path.split(":") if folder.startswith("/")]
    lasting = [
        folder for folder in folders if folder.isprintable() and not is_fleeting(folder) and os.path.isdir(folder)
    ]
    return ":".join(dict.fromkeys([*(lasting or _PATH.split(":")), str(command_file().parent)]))


def path_due(there: str, wanted: str) -> str:
    """The PATH that a service should have which has *there*: its own, while all folders of that are to be found.

    Another shell, such as cron's, has another, and that is no fault of the service.
    """
    folders = there.split(":")
    is_well = str(command_file().parent) in folders and all(map(os.path.isdir, folders))
    return there if is_well else wanted


def is_fleeting(path: str) -> bool:
    """Whether it lies where the system clears away."""
    return any(path == folder or path.startswith(f"{folder}/") for folder in _FLEETING)


def find_user(name: str) -> pwd.struct_passwd:
    """The user of that name; raises NotFound."""
    try:
        return pwd.getpwnam(name)
    except KeyError:
        raise NotFound(f"cannot find the user {name!r} on this machine; name one that `id {name}` knows") from None


def doubts(plan: Plan, environ: Mapping[str, str]) -> tuple[str, ...]:
    """What will make the service fail one day, or is not what was meant; each with what to do."""
    found = []
    program, prefix = plan.argv[0], sys.prefix
    if is_fleeting(program):
        found.append(
            f"{program} lies where the system clears away; install heartbeat elsewhere"
            " (`pipx install .` in its checkout)"
        )
    elif _CACHE.search(f"{prefix}/"):
        found.append(
            f"{prefix} is a cache (of `uvx` or `pipx run`) that may be cleared;"
            " use `uv tool install .` or `pipx install .` in the checkout"
        )
    if os.geteuid() == 0 and plan.scope == "user":
        found.append("it runs as root; for a service of the machine: `heartbeat install --system --as USER`")
    if plan.user == "root":
        found.append("it runs as root, and so does the agent; `--as USER` names somebody with fewer rights")
    if not plan.home.config_file.exists():
        init = called("init", plan.home, environ)
        found.append(f"there is no {plan.home.config_file} yet, so it has no jobs; `{init}` writes one")
    return tuple(found)


def _language(environ: Mapping[str, str]) -> str:
    """The locale of the shell, in the order in which the C library looks."""
    given = (environ.get(name, "") for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    return next((value for value in given if value and value.isprintable()), _LANG)
