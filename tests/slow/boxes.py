"""Boxes: a real systemd, as PID 1 of namespaces of its own, in which a test installs heartbeat and breaks it.

A box shows the machine's files under an overlay: what is written in it is gone with it. heartbeat lies in
/opt/heartbeat there, with the command on everybody's PATH; so a private /tmp, a closed /root and a checkout in any
folder make no difference.
"""

from __future__ import annotations

import json
import os
import selectors
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

HERE = Path(__file__).parent
CHECKOUT = HERE.parents[1]
PYTHON = "/opt/heartbeat/bin/python"
USER = "ann"
LIMIT = 600
"""Seconds that a box may live."""

# The interpreter may lie in a home that is closed to others: in the box, and only there, they may pass through it.
PREPARE = """
set -eu
python=$1 packages=$2
at=$(readlink -f "$python")
while [ "$at" != / ]; do at=$(dirname "$at"); chmod o+x "$at"; done
"$python" -m venv --without-pip /opt/heartbeat
for site in /opt/heartbeat/lib/python*/site-packages; do
    printf '/opt/checkout\\n/opt/packages\\n' >"$site/box.pth"
done
printf '%s\\n' '#!/opt/heartbeat/bin/python -P' 'import sys' 'from heartbeat.__main__ import main' 'sys.exit(main())' \
    >/opt/heartbeat/bin/heartbeat
chmod 755 /opt/heartbeat/bin/heartbeat
ln -s /opt/heartbeat/bin/heartbeat /usr/local/bin/heartbeat
"""


@dataclass(frozen=True, slots=True)
class Done:
    """A command that has ended in the box."""

    status: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err


class Box:
    """A running box."""

    def __init__(self, writer: IO[str], reader: IO[str], log: Path) -> None:
        self._writer = writer
        self._reader = reader
        self._log = log

    def try_(self, *argv: str, seconds: float = 60, stdin: str = "") -> Done:
        """What root's command said, whatever its status."""
        self._writer.write(json.dumps({"argv": argv, "seconds": seconds, "stdin": stdin}) + "\n")
        self._writer.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(self._reader, selectors.EVENT_READ)
            assert selector.select(seconds + 20), f"the box does not answer: {self._log.read_text()}"
        line = self._reader.readline()
        assert line, f"the box is gone: {self._log.read_text()}"
        return Done(*json.loads(line))

    def run(self, *argv: str, seconds: float = 60, stdin: str = "") -> str:
        """What root's command printed; it must succeed."""
        done = self.try_(*argv, seconds=seconds, stdin=stdin)
        assert done.status == 0, f"{argv} ended with {done.status}: {done.text}"
        return done.out

    def sh(self, script: str, seconds: float = 60) -> str:
        """What a script of root's printed."""
        return self.run("bash", "-euo", "pipefail", "-s", seconds=seconds, stdin=script)

    def try_as_user(self, *argv: str, seconds: float = 60, stdin: str = "") -> Done:
        """The same as the plain user, with their user manager at hand."""
        return self.try_("as-user", *argv, seconds=seconds, stdin=stdin)

    def as_user(self, *argv: str, seconds: float = 60, stdin: str = "") -> str:
        return self.run("as-user", *argv, seconds=seconds, stdin=stdin)

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """A file of root's."""
        self.run("sh", "-c", f'mkdir -p "$(dirname "$1")" && cat >"$1" && chmod {mode:o} "$1"', "sh", path, stdin=text)

    def wait(self, *argv: str, until: Callable[[Done], bool], seconds: float = 30) -> Done:
        """Ask again and again until the answer is the one hoped for."""
        end = time.monotonic() + seconds
        while not until(done := self.try_(*argv)):
            assert time.monotonic() < end, f"{argv} still says after {seconds} s: {done.text}"
            time.sleep(0.1)
        return done


def why_no_box() -> str:
    """What is missing here for a box; an empty text when nothing is."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "a box with a real systemd needs Linux and root"
    tools = ("/lib/systemd/systemd", "systemctl", "dbus-daemon", "unshare", "nsenter", "setpriv", "ip")
    missing = [tool for tool in tools if not shutil.which(tool)]
    if not Path("/usr/lib/systemd/user/dbus.socket").exists():
        missing.append("dbus-user-session")
    if missing:
        return f"not installed for a box: {', '.join(missing)} (.ci/run names the packages)"
    may = subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], capture_output=True, text=True, check=False)
    return f"a box needs namespaces, which this machine does not allow: {may.stderr.strip()}" if may.returncode else ""


@contextmanager
def open_box(folder: Path, *, user: str = "", options: tuple[str, ...] = ()) -> Iterator[Box]:
    """A box for as long as the block lasts; with *user*, a plain user of that name with a user manager as well.

    *folder* is for the box's log and journal; *options* are more of systemd-box.sh's. Skips where there can be none.
    """
    if reason := why_no_box():
        pytest.skip(reason)
    log = folder / "box.log"
    packages = sysconfig.get_path("purelib")
    argv = [
        str(HERE / "systemd-box.sh"),
        *(("--user", user) if user else ()),
        *("--bind-ro", f"{CHECKOUT}:/opt/checkout", "--bind-ro", f"{packages}:/opt/packages"),
        *("--journal", str(folder / "journal.txt"), "--timeout", str(LIMIT)),
        *options,
        *("--", "/usr/bin/env", "python3", "-I", "-u", "/opt/checkout/tests/slow/box_shell.py"),
    ]
    with (
        log.open("w") as err,
        subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err, text=True, errors="replace", cwd="/"
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        box = Box(process.stdin, process.stdout, log)
        try:
            box.run("sh", "-s", sys.executable, packages, stdin=PREPARE)
            yield box
        finally:
            process.stdin.close()  # the shell in the box ends, and with it the box
            process.wait(30)
