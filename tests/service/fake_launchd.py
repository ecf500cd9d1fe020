"""A stand-in for launchd, good enough to test an installer and a daemon's life on Linux.

    python -m tests.service.fake_launchd FOLDER     be launchd, with state in FOLDER; SIGTERM ends it and its jobs

What it imitates was gathered from launchd.plist(5), launchctl(1) and reports of what macOS did, and never compared with
a Mac: so a test that passes says "we handle what was reported", not "it works on macOS". It imitates the window after
`bootout` in which `bootstrap` answers 5; 113 for an unknown service, 125 for a domain that is not there, 119 for a
disabled one, 122 for a file that others may write; an agent refused by the wrong kind of session; SIGKILL after
ExitTimeOut; no more than one start in ThrottleInterval, and no limit of starts; KeepAlive's conditions ORed; the bare
environment; `disable` that outlives everything; `kickstart -k` that kills at once; and `load` that fails with status 0.

Environment: FAKE_SCALE=0.1 makes its seconds ten times shorter; FAKE_GUI=0: nobody is logged in at the screen;
FAKE_LAZY=1: a loaded job is not spawned until somebody kickstarts it.
"""

from __future__ import annotations

import asyncio
import json
import os
import plistlib
import signal
import stat
import sys
from pathlib import Path

from tests.service.fake_job import Job, Plist, is_wanted_at_load

LINGERS = 2
"""How often a label that `print` no longer finds cannot be loaded again: about 5 s on a Mac, and counted here, so that
a busy machine does not change what is tested."""
INPUT_OUTPUT = (5, "Bootstrap failed: 5: Input/output error\nTry re-running the command as root for richer errors.\n")

Reply = tuple[int, str]


class FakeLaunchd:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scale = float(os.environ.get("FAKE_SCALE", "1"))
        self.has_screen = os.environ.get("FAKE_GUI", "1") != "0"
        self.is_lazy = os.environ.get("FAKE_LAZY", "0") != "0"
        self.jobs: dict[str, Job] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.lingering: dict[str, int] = {}

    # What outlives everything

    @property
    def disabled(self) -> set[str]:
        file = self.folder / "disabled.json"
        return set(json.loads(file.read_text())) if file.exists() else set()

    def set_disabled(self, label: str, *, on: bool) -> None:
        names = self.disabled | {label} if on else self.disabled - {label}
        (self.folder / "disabled.json").write_text(json.dumps(sorted(names)))

    # The verbs

    def command(self, verb: str, words: list[str]) -> Reply:
        """What `launchctl VERB WORDS` answers."""
        if verb in ("load", "unload"):
            return self.legacy(verb, words[-1])
        flags = [word for word in words if word.startswith("-")]
        rest = [word for word in words if not word.startswith("-")]
        sent = rest.pop(0) if verb == "kill" else ""
        kind, label = self.split(rest[0])
        if verb in ("enable", "disable"):
            self.set_disabled(label, on=verb == "disable")
            return 0, ""
        if kind.startswith("gui/") and not self.has_screen:
            return 125, "Could not find domain: 125: Domain does not support specified action\n"
        if verb == "bootstrap":
            return self.bootstrap(kind, Path(rest[1]))
        return self.of_job(verb, kind, label, flags, sent) if label else self.of_domain(verb, kind)

    def of_domain(self, verb: str, kind: str) -> Reply:
        if verb == "print-disabled":
            names = "".join(f'\t\t"{name}" => disabled\n' for name in sorted(self.disabled))
            return 0, f'\tdisabled services = {{\n\t\t"com.example.other" => enabled\n{names}\t}}\n'
        return (0, f"{kind} = {{\n\ttype = user\n}}\n") if verb == "print" else (64, "Usage: launchctl …\n")

    def of_job(self, verb: str, kind: str, label: str, flags: list[str], sent: str) -> Reply:
        job = self.jobs.get(f"{kind}/{label}")
        if job is None:
            missing = (3, "Boot-out failed: 3: No such process\n")
            return missing if verb == "bootout" else (113, f'Could not find service "{label}" in domain for {kind}\n')
        if verb == "print":
            return 0, job.show()
        if verb == "bootout":
            self.boot_out(job)
        elif verb == "kill":
            job.send(sent)
        elif verb == "kickstart" and "-k" in flags and job.process is not None:
            job.forced, job.started = True, float("-inf")
            job.send("SIGKILL")
        elif verb == "kickstart":
            job.kick()
        else:
            return 64, f"unrecognized subcommand: {verb}\n"
        return 0, ""

    def bootstrap(self, kind: str, file: Path) -> Reply:
        try:
            plist: Plist = plistlib.loads(file.read_bytes())
            label = plist["Label"]
        except Exception:  # noqa: BLE001 - whatever is wrong with it, that is all that one is told
            return INPUT_OUTPUT
        if stat.S_IMODE(file.stat().st_mode) & 0o022:
            return 122, "Bootstrap failed: 122: Path had bad ownership/permissions\n"
        if label in self.disabled:
            return 119, "Bootstrap failed: 119: Service is disabled\n"
        session = {"gui": "Aqua", "user": "Background"}.get(kind.partition("/")[0])
        is_misplaced = session is not None and plist.get("LimitLoadToSessionType", "Aqua") != session
        name = f"{kind}/{label}"
        if is_misplaced or name in self.jobs:
            return INPUT_OUTPUT
        if self.lingering.get(name):
            self.lingering[name] -= 1
            return INPUT_OUTPUT
        self.add(plist, kind, str(file))
        return 0, ""

    def legacy(self, verb: str, file: str) -> Reply:
        """No domain is named, and whatever happens, it was a success."""
        kind = f"{'gui' if self.has_screen else 'user'}/{os.getuid()}"
        if verb == "load":
            return 0, self.bootstrap(kind, Path(file))[1]
        return 0, self.command("bootout", [f"{kind}/{Path(file).stem}"])[1]

    @staticmethod
    def split(target: str) -> tuple[str, str]:
        """Domain and label; `system` has no user in it."""
        parts = target.split("/")
        count = 1 if parts[0] == "system" else 2
        return "/".join(parts[:count]), "/".join(parts[count:])

    # Jobs

    def add(self, plist: Plist, kind: str, file: str) -> None:
        job = Job(plist, kind, file, self.scale, wanted=is_wanted_at_load(plist) and not self.is_lazy)
        self.jobs[f"{kind}/{job.label}"] = job
        self.tasks[f"{kind}/{job.label}"] = asyncio.create_task(job.run())

    def boot_out(self, job: Job) -> None:
        name = f"{job.domain}/{job.label}"

        async def end() -> None:
            await job.drain()
            await self.tasks.pop(name)
            del self.jobs[name]
            self.lingering[name] = LINGERS

        if not job.draining:
            job.draining = True
            self.tasks[f"{name} ending"] = asyncio.create_task(end())

    # Serving

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Words with NULs between them; back goes a line with the status, then the text."""
        words = (await reader.readline()).decode().rstrip("\n").split("\0")
        with (self.folder / "asked.log").open("a") as log:
            log.write(" ".join(words) + "\n")
        try:
            status, text = self.command(words[0], words[1:])
        except Exception as error:  # noqa: BLE001 - the test shall see it, not a client that hangs
            status, text = 70, f"fake launchctl: {error!r}\n"
        writer.write(f"{status}\n{text}".encode())
        await writer.drain()
        writer.close()

    async def serve(self) -> None:
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        server = await asyncio.start_unix_server(self.answer, str(self.folder / "socket"))
        await stop.wait()
        server.close()
        for job in list(self.jobs.values()):
            self.boot_out(job)
        await asyncio.gather(*(task for name, task in list(self.tasks.items()) if name not in self.jobs))


if __name__ == "__main__":
    asyncio.run(FakeLaunchd(Path(sys.argv[1])).serve())
