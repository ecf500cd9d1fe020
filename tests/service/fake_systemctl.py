"""A `systemctl` for tests: knows one manager, whose state is a JSON file, and writes down what it was told.

FAKE_SYSTEMCTL names the folder: `state.json` holds the facts of each unit, `told.log` the calls that change anything,
`fails` (VERB TAB TEXT) what is refused and with which words.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

EMPTY = {
    "LoadState": "not-found",
    "ActiveState": "inactive",
    "SubState": "dead",
    "Result": "success",
    "MainPID": "0",
    "NRestarts": "0",
    "ExecMainCode": "0",
    "ExecMainStatus": "0",
    "StatusText": "",
    "UnitFileState": "",
    "NeedDaemonReload": "no",
    "FragmentPath": "",
    "DropInPaths": "",
}
UP = {"ActiveState": "active", "SubState": "running", "MainPID": "4711", "Result": "success"}
DOWN = {"ActiveState": "inactive", "SubState": "dead", "MainPID": "0"}


def main(words: list[str]) -> int:
    words = [word for word in words if word != "--user"]
    folder = Path(os.environ["FAKE_SYSTEMCTL"])
    verb, file = words[0], folder / "state.json"
    facts = json.loads(file.read_text()) if file.exists() else dict(EMPTY)
    if verb == "show":
        print("\n".join(f"{name}={value}" for name, value in facts.items()))
        return 0
    with (folder / "told.log").open("a") as log:
        log.write(" ".join(words) + "\n")
    refusals = (folder / "fails").read_text() if (folder / "fails").exists() else ""
    for line in refusals.splitlines():
        refused, _, text = line.partition("\t")
        if refused == verb:
            print(text, file=sys.stderr)
            return 1
    unit = Path(os.environ["FAKE_UNIT"])
    match verb:
        case "daemon-reload":
            there = unit.exists()
            facts["LoadState"] = "loaded" if there else "not-found"
            facts |= {"FragmentPath": str(unit) if there else "", "NeedDaemonReload": "no"}
        case "enable" | "disable":
            facts["UnitFileState"] = f"{verb}d"
        case "start" | "restart":
            facts |= UP
        case "stop":
            facts |= DOWN
    file.write_text(json.dumps(facts))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
