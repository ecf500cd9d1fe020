"""The heartbeat command that kills itself: `die_at_step.py STEP N WORDS…` ends at the N-th passing of STEP.

STEP is one of the beat, or `interrupt`: a start has just entered what the process before was doing as interrupted.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
from typing import Any

from heartbeat import beat
from heartbeat.__main__ import main
from heartbeat.stores.sqlite import SqliteLedger


def die_at(step: str, times: int) -> None:
    passings = itertools.count(1)

    def hook(name: str) -> None:
        if name == step and next(passings) == times:
            os.kill(os.getpid(), signal.SIGKILL)

    beat.step_hooks.append(hook)
    interrupt = SqliteLedger.interrupt

    def interrupt_and_tell(*words: Any) -> Any:
        interrupted = interrupt(*words)
        hook("interrupt")
        return interrupted

    SqliteLedger.interrupt = interrupt_and_tell  # type: ignore[assignment,method-assign]


if __name__ == "__main__":
    die_at(sys.argv[1], int(sys.argv[2]))
    del sys.argv[1:3]
    main()
