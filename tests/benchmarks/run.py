"""Figures with their baseline measured in the same run: `make bench`; `make bench WHAT="second burst"` takes some.

Wall times on a shared machine are noisy, so whatever can be is measured side by side or in turn, and the ratio is
what counts.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.benchmarks import alive, basics, delivery, feeds, lateness, mail, rest
from tests.benchmarks.tools import NotStarted


def main() -> int:
    """Run every benchmark, or those named on the command line."""
    known: Mapping[str, Callable[[Path], None]] = {
        "health": basics.health,
        "asking": alive.asking,
        "pulse": alive.pulse,
        "tick": basics.quiet_tick,
        "appends": basics.appends,
        "idle": rest.idle,
        "second": lateness.second,
        "burst": lateness.burst,
        "scale": rest.scale,
        "feeds": feeds.feeds,
        "mail": mail.mail,
        "decide": delivery.deciding,
        "brief": delivery.brief,
        "outbox": delivery.outbox,
        "replay": delivery.replaying,
    }
    names = sys.argv[1:] or list(known)
    if strange := [name for name in names if name not in known]:
        print(f"cannot measure {', '.join(strange)}; known are {', '.join(known)}", file=sys.stderr)
        return 2
    started = time.monotonic()
    status = 0
    print(f"load of this machine before: {os.getloadavg()[0]:.2f}")
    for name in names:
        with tempfile.TemporaryDirectory(prefix="heartbeat-bench-") as folder:
            try:
                known[name](Path(folder))
            except NotStarted as error:
                print(f"{name}: cannot measure it: {error}", flush=True)
                status = 1
    print(f"{time.monotonic() - started:.0f} s in all")
    return status


if __name__ == "__main__":
    print((__doc__ or "").strip())
    sys.exit(main())
