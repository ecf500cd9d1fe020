#!/usr/bin/env python3
"""Stands in for macOS's `icalBuddy` 1.10: `eventsFrom: to:` with what shapes its text, from $ICALBUDDY_EVENTS.

That file holds `events` with title, uid, calendar, start, end and all_day, or `refused: true`; `at` is what stands
between date and time in the owner's language, and `config` what the owner's configuration file sets.
"""

import json
import os
import sys
from datetime import datetime, timedelta
from typing import Any

OPTIONS = ("-df", "-tf", "-iep", "-po", "-b", "-ps", "-ic", "-cf")
SWITCHES = ("-nc", "-nrd", "-npn", "-uid")


def main() -> int:
    with open(os.environ["ICALBUDDY_EVENTS"], encoding="utf-8") as file:
        plan = json.load(file)
    *arguments, first, last = sys.argv[1:]
    given, switches = {}, set()
    while arguments:
        word = arguments.pop(0)
        if word in OPTIONS:
            given[word] = arguments.pop(0)
        elif word in SWITCHES:
            switches.add(word)
        else:
            print(f"unknown argument {word}", file=sys.stderr)
            return 2
    if given.get("-cf") != "":
        given.update(plan.get("config", {}))
    events = [one for one in plan.get("events", []) if "-ic" not in given or wanted(one, given["-ic"])]
    if plan.get("refused") or ("-ic" in given and not events):
        print("error: No calendars.", file=sys.stderr)
        return 1
    if "status" in plan:
        return int(plan["status"])
    low = datetime.strptime(first.removeprefix("eventsFrom:"), "%Y-%m-%d %H:%M:%S %z")
    high = datetime.strptime(last.removeprefix("to:"), "%Y-%m-%d %H:%M:%S %z")
    shown = [one for one in events if at(one["end"]) >= low and at(one["start"]) <= high]
    for one in shown:
        sys.stdout.write(item(one, given, switches, plan.get("at", " at ")))
    return 0


def wanted(one: dict[str, Any], names: str) -> bool:
    return one.get("calendar", "Home") in [name.strip() for name in names.split(",")]


def item(one: dict[str, Any], given: dict[str, Any], switches: set[str], at_word: str) -> str:
    """One event, as printCalEvent and getEventPropStr of icalBuddy make it."""
    parts = {
        "datetime": when(one, given, at_word) if "-nrd" in switches else "today",
        "uid": ("" if "-npn" in switches else "uid: ") + one["uid"],
        "title": one["title"] if "-nc" in switches or not one["title"] else f"{one['title']} (Home)",
    }
    if "-uid" not in switches:
        del parts["uid"]
    order = [name for name in given.get("-po", "title,datetime,uid").split(",") if name in given["-iep"].split(",")]
    values = [parts[name] for name in order if parts.get(name)]
    separator, bullet = str(given.get("-ps", "|\n    |")), str(given.get("-b", "• "))
    return bullet + separator.strip(separator[0]).join(values) + "\n"


def when(one: dict[str, Any], given: dict[str, Any], at_word: str) -> str:
    start, end = at(one["start"]), at(one["end"])
    day, time = str(given["-df"]), str(given["-tf"])
    if one.get("all_day"):
        last = end - timedelta(days=1)
        return start.strftime(day) if last <= start else f"{start.strftime(day)} - {last.strftime(day)}"
    text = start.strftime(day) + at_word + start.strftime(time)
    if end == start:
        return text
    same = start.date() == end.date()
    return f"{text} - {end.strftime(time) if same else end.strftime(day) + at_word + end.strftime(time)}"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


if __name__ == "__main__":
    sys.exit(main())
