"""The command. `health` is answered before anything heavy is imported: monitors call it often."""

from __future__ import annotations

import sys


def main() -> None:
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    # The value of --home may come before the verb.
    if "health" in words[:2]:
        from heartbeat.cli.health import try_health

        status = try_health(sys.argv[1:])
        if status is not None:
            sys.exit(status)
    from heartbeat.cli.app import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
