"""A clock of its own for one process: somebody sets it, or its machine is suspended, while the process runs."""

from __future__ import annotations

import shutil
import struct
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

SHIM = Path(__file__).with_name("clockshim.c")
MINUTE, HOUR, MONTH = 60, 3600, 30 * 86400


def build_shim(folder: Path) -> Path:
    """The library that a process with a clock of its own loads first."""
    library = folder / "clockshim.so"
    compiler = shutil.which("cc") or shutil.which("gcc") or "cc"
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", library, SHIM, "-ldl"], check=True)
    return library


class Clock:
    """What the processes that are started in its environment take for the clocks of the machine."""

    def __init__(self, file: Path, library: Path) -> None:
        self.environment = {"LD_PRELOAD": str(library), "CLOCKSHIM": str(file)}
        self._file = file
        self._ahead = self._suspended = timedelta()
        file.write_bytes(bytes(16))

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def set(self, seconds: float) -> None:
        """Set the wall clock forward, or back."""
        self._ahead += timedelta(seconds=seconds)
        self._write()

    def set_to(self, instant: str) -> None:
        """The same, to an instant."""
        self._ahead = datetime.fromisoformat(instant) - datetime.now(UTC)
        self._write()

    def suspend(self, seconds: float) -> None:
        """The machine has slept for so long."""
        self._suspended += timedelta(seconds=seconds)
        self.set(seconds)

    def _write(self) -> None:
        nanoseconds = (each // timedelta(microseconds=1) * 1000 for each in (self._ahead, self._suspended))
        with self._file.open("r+b", buffering=0) as file:
            file.write(struct.pack("qq", *nanoseconds))
