"""What the verbs of the service share: which installation is meant, who keeps it, and whether it may be touched."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

import typer

from heartbeat.cli.shell import Shell, shell
from heartbeat.config import Settings, load_settings
from heartbeat.errors import ConfigError, HeartbeatError, Refused, ServiceError
from heartbeat.folders import make_private
from heartbeat.marker import Marker, forget_intent, write_marker
from heartbeat.paths import find_home
from heartbeat.service import Manager, Plan, Scope, Standing, find_manager, planning
from heartbeat.service.acting import acting_as, acting_for
from heartbeat.service.asking import ask_for
from heartbeat.service.credentials import refuse_unusable
from heartbeat.service.hand import running
from heartbeat.service.own_unit import find_own_unit
from heartbeat.service.planning import addressed, called, find_user, make_plan, scope_of
from heartbeat.service.standing import installed, runs_as
from heartbeat.service.unit_files import read

SYSTEM_OPTION = typer.Option(False, "--system", help="The installation of the whole machine, in /etc/heartbeat.")


class WrongUsage(typer.BadParameter):
    """Options that contradict each other: no single value is invalid, so none is called that."""

    def format_message(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class Target:
    """The installation that a verb is about."""

    call: Shell
    plan: Plan
    marker: Marker | None

    @property
    def environ(self) -> Mapping[str, str]:
        """The caller's, but with the home folder of the user whose files are meant."""
        if not self.plan.user:
            return self.call.environ
        return {**self.call.environ, "HOME": find_user(self.plan.user).pw_dir}

    def named(self, user: str) -> Target:
        """The same, running as *user*; raises NotFound when there is no such user."""
        return replace(self, plan=replace(self.plan, user=find_user(user).pw_name))

    def manager(self) -> Manager:
        """Who keeps it, or could; raises Refused with the reasons when nobody can."""
        found = find_manager(self.plan.scope, self.call.environ, self.marker.manager if self.marker else "")
        if found.manager is None:
            reasons = "; ".join(found.reasons)
            # Where there is neither, it is systemd's reason that ends with this.
            instead = "" if "--detach" in reasons else f"; without a supervisor: `{self.command('run --detach')}`"
            raise Refused(f"cannot {self.call.command}: {reasons}{instead}")
        return found.manager

    def kept(self) -> Target:
        """The same; where heartbeat is not installed, but runs as a unit of the owner's own, that unit."""
        if self.is_installed() or (own := self._own_unit()) is None:
            return self
        return replace(self, plan=replace(self.plan, name=own[0], scope=own[1], user="", is_owners=True))

    def _own_unit(self) -> tuple[str, Scope] | None:
        with suppress(Refused):
            found = running(self.call.home)
            return find_own_unit(found[0], self.call.environ) if found else None
        return None

    def have(self, verb: str) -> list[str]:
        """Let the supervisor do it: what it did, with every command as it is typed for this installation."""
        try:
            did = getattr(self.manager(), verb)(self.plan)
        except HeartbeatError as error:
            error.args = (self.spoken(str(error)),)
            raise
        return [self.spoken(line) for line in did]

    def spoken(self, text: str) -> str:
        return addressed(text, self.call.home, self.call.environ)

    def is_installed(self) -> bool:
        """Whether it is written down as installed, or its supervisor knows it; not when that has another's."""
        standing = self.standing()
        if standing.state == "not installed":
            return self.marker is not None and not standing.detail
        return self.marker is not None or standing.state != "unknown"

    def stranger(self) -> str:
        """What else has the name of the service at its supervisor; an empty text when nothing has."""
        found = find_manager(self.plan.scope, self.call.environ, self.marker.manager if self.marker else "")
        standing = self.standing()
        return standing.detail if found.manager and standing.state == "not installed" else ""

    def is_its(self, marker: Marker) -> bool:
        """Whether that is this service, and not one that was installed when the folder had another name."""
        found = find_manager(self.plan.scope, self.call.environ, marker.manager)
        return found.manager is None or found.manager.marker(self.plan).unit == marker.unit

    def refuse_stranger(self) -> None:
        """Two services cannot have one name: raise Refused before anything is made."""
        if reason := self.stranger():
            raise Refused(
                f"cannot install {self.plan.name}: {reason}; remove that, or take a folder of its own, which gives "
                "another name: `heartbeat --home DIR install`"
            )

    def refuse_credentials(self) -> None:
        """Raise Invalid when the service, as it is installed, could not start again: better now than after a stop."""
        if self.plan.is_owners:
            return
        units = (read(file) or "" for file in self.manager().files(self.plan))
        refuse_unusable(self.call.command, units, self.plan.scope)

    def standing(self) -> Standing:
        """What its supervisor says; what it cannot be asked is no error."""
        found = find_manager(self.plan.scope, self.call.environ, self.marker.manager if self.marker else "")
        if found.manager is None:
            return Standing("unknown" if self.marker else "not installed", "; ".join(found.reasons))
        try:
            return found.manager.status(self.plan)
        except ServiceError as error:
            return Standing("unknown", str(error))

    def by_hand(self) -> int | None:
        """The pid of a daemon that runs here, and is not the service's."""
        found = running(self.call.home)
        if found is None:
            return None
        standing = self.standing()
        is_its = standing.state in ("running", "starting") and standing.pid in (None, found[0])
        return None if is_its else found[0]

    def refuse_by_hand(self) -> None:
        """A daemon outside the service would keep the lock, and the service from starting."""
        if (pid := self.by_hand()) is not None:
            where = self.call.home.state
            message = f"cannot {self.call.command}: process {pid} runs heartbeat in {where}, outside the service"
            if own := self._own_unit():
                disable = f"systemctl {'--user ' if own[1] == 'user' else ''}disable --now {own[0]}"
                raise Refused(f"{message}, as {own[0]}.service, a unit of your own; `{disable}` takes it away")
            raise Refused(f"{message}; `{self.command('stop')}` ends it")

    def need_root(self) -> None:
        if self.plan.scope == "system" and os.geteuid() != 0:
            more = f" --as {self.plan.user}" if self.call.command == "install" else ""
            again = f"sudo {self.command(self.call.command, absolute=True)}{more}"
            if self.plan.is_owners:
                again = f"sudo systemctl {self.call.command} {self.plan.name}"
            raise Refused(f"cannot {self.call.command} the service of the machine: it needs root; run `{again}`")

    def check(self) -> None:
        """Raise ConfigError when `heartbeat run` would refuse the configuration: better now than after a stop."""
        from heartbeat.job import load

        try:
            with self.as_its_user():
                load(self.call.home, self.environ)
        except ConfigError as error:
            with suppress(Refused):
                found = running(self.call.home)
                goes_on = (
                    f"process {found[0]} goes on with the configuration it has" if found else "nothing was started"
                )
                error.args = (f"{error}\n{goes_on}",)
            raise

    @contextmanager
    def as_its_user(self) -> Iterator[None]:
        """With the rights of whom the service runs as."""
        with acting_as(find_user(self.plan.user).pw_uid if self.plan.user else os.geteuid()):
            yield

    def ask_for(self, word: str) -> None:
        ask_for(self.call.home, word, self.call.environ)

    def mark(self, marker: Marker) -> None:
        """Write down that it is installed."""
        file = self.call.home.marker_file
        try:
            with acting_for(file.parent):
                make_private(file.parent)
                write_marker(file, marker)
        except OSError as error:
            raise ServiceError(f"cannot write {file}: {error.strerror}; correct its owner, or make room") from error

    def unmark(self) -> None:
        """Write down that it is not installed, nor anything asked of it; a disk that is full or read-only is told."""
        file = self.call.home.marker_file
        try:
            with acting_for(file.parent):
                file.unlink(missing_ok=True)
                forget_intent(self.call.home.intent_file)
        except OSError as error:
            print(f"heartbeat: cannot remove {file}: {error.strerror}; remove it by hand", file=sys.stderr)

    def instead(self) -> str:
        """What may be done where there is no service."""
        return f"`{self.command('install')}` makes it a service, `{self.command('run --detach')}` runs it without one"

    def command(self, verb: str, *, absolute: bool = False) -> str:
        """How this verb is called for this installation."""
        return called(verb, self.call.home, self.call.environ, absolute=absolute)


def aim(verb: str, *, system: bool, user: bool = False, runs_as_user: str = "") -> Target:
    """The installation that a call of *verb* is about; raises WrongUsage for options that contradict."""
    call = shell(verb)
    if system:
        own = {name: value for name, value in call.environ.items() if not name.startswith("HEARTBEAT_")}
        if user or call.home not in (planning.SYSTEM, find_home(None, own)):
            other = "--user" if user else f"the folder {call.home.config}"
            raise WrongUsage(f"--system has folders of its own, and {other} means others; leave one of them out")
        call = replace(call, home=planning.SYSTEM)
    scope = scope_of(call.home)
    if user and scope == "system":
        raise WrongUsage(f"{call.home.config} is the machine's, not a user's; leave out --user")
    if runs_as_user and scope == "user":
        raise WrongUsage("a service of your own runs as yourself; --as belongs to --system")
    who = runs_as_user or runs_as(call.home) if scope == "system" else ""
    plan = make_plan(call.home, _settings(call), call.environ, scope=scope, user=who)
    return Target(call, plan, installed(call.home))


def show(target: Target, data: Mapping[str, Any], lines: Sequence[str]) -> None:
    """Print what was done, to the installation that is named with it."""
    named = {"name": target.plan.name, "scope": target.plan.scope, "home": str(target.call.home.config)}
    target.call.show({**named, **data}, lambda: "\n".join(lines))


def _settings(call: Shell) -> Settings:
    """Those of the installation; the defaults when they cannot be read: it must be possible to stop it then."""
    try:
        return load_settings(call.home)
    except ConfigError:
        return Settings()
