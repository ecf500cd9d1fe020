"""The command. Two verbs are answered before anything they do not need is imported.

`health`, because monitors call it often; `run`, because what the daemon imports it carries for months.
"""

from __future__ import annotations

import sys

from heartbeat.cli.words import take_globals


def main() -> None:
    home, as_json, rest = take_globals(sys.argv[1:])
    if rest and rest[0] == "health" and not {"-h", "--help"} & set(rest):
        from heartbeat.cli.health import answer, bound

        bound()
        sys.exit(answer(home, rest[1:], as_json=as_json))
    if rest == ["run"]:
        from heartbeat.cli.run import run
        from heartbeat.cli.shell import enter, guarded

        enter(home, as_json=as_json)
        sys.exit(guarded(run, "run", as_json=as_json))
    from heartbeat.cli.app import run as run_any

    sys.exit(run_any(sys.argv[1:]))


if __name__ == "__main__":
    main()
