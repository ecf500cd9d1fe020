"""Room on the disks that heartbeat writes to: bytes and files; and how large the ledger is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from heartbeat.doctor._answer import Answer, count, fail, ok, warn
from heartbeat.doctor._case import Case

_MIB = 1024 * 1024
LITTLE, TOO_LITTLE = 200 * _MIB, 16 * _MIB
FEW, TOO_FEW = 1000, 50
_LARGE = 2048 * _MIB


def look(case: Case) -> Iterator[Answer]:
    """Each disk once."""
    seen = set[int]()
    for folder in (case.home.state, case.home.cache, case.home.config):
        there = _there(folder)
        device = os.stat(there).st_dev
        if device not in seen:
            seen.add(device)
            yield _disk(there)
    yield from _ledger(case)


def _there(folder: Path) -> Path:
    """The folder, or the nearest above it that there is."""
    return next(path for path in (folder, *folder.parents) if path.is_dir())


def _disk(folder: Path) -> Answer:
    facts = os.statvfs(folder)
    room, files = facts.f_bavail * facts.f_frsize, facts.f_favail
    counts_files = facts.f_files > 0  # some file systems make them as they are needed
    shown = f"{room // _MIB} MiB free around {folder}" + (f", {count(files, 'file')}" if counts_files else "")
    where = f"free some; `du -xsh {folder}/*` shows what is large"
    if room < TOO_LITTLE or (counts_files and files < TOO_FEW):
        return fail(f"{shown}: too little to record what is found", where)
    if room < LITTLE or (counts_files and files < FEW):
        return warn(f"{shown}: soon too little", where)
    return ok(shown)


def _ledger(case: Case) -> Iterator[Answer]:
    sizes = []
    for end in ("", "-wal"):
        try:
            sizes.append(os.stat(f"{case.home.ledger_file}{end}").st_size)
        except OSError:
            continue
    if not sizes:
        return
    seen = f"the ledger takes {sum(sizes) / _MIB:.1f} MiB"
    yield warn(seen, "lower history or outputs in [retention]", "ledger") if sum(sizes) > _LARGE else ok(seen, "ledger")
